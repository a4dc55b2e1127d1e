//! A copy in which each input has a file of its own.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use crate::copy::layout::Shape;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::input::compression::Compression;

/// The files of the copy, in the order in which the inputs are read.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// The paths in the copy, with the inputs.
    names: BTreeMap<PathBuf, String>,
    /// The directories of these paths.
    directories: HashSet<PathBuf>,
    entries: Vec<Entry>,
}

/// An input, as the first pass finds it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// The path in the copy.
    pub(crate) name: PathBuf,
    /// The number of its first document.
    pub(crate) start: u64,
    /// Whether it is one document.
    pub(crate) is_document: bool,
    /// Whether all its rows can be copied.
    pub(crate) is_intact: bool,
    /// Whether its rows are known to be rows, so that there is something to copy.
    pub(crate) has_rows: bool,
}

impl Folder {
    /// Adds a name of the copy. Fails if an earlier input has it.
    pub(crate) fn name(&mut self, input: &str, name: &Path) -> Result<(), Error> {
        let taken = |first: &str| Error::SameName {
            input: input.to_owned(),
            first: first.to_owned(),
            name: name.to_owned(),
        };
        if let Some(first) = name.ancestors().find_map(|part| self.names.get(part)) {
            return Err(taken(first));
        }
        if self.directories.contains(name) {
            let within = self.names.iter().find(|(other, _)| other.starts_with(name));
            return Err(taken(within.map_or("", |(_, first)| first)));
        }
        self.directories.extend(name.ancestors().skip(1).map(Path::to_owned));
        self.names.insert(name.to_owned(), input.to_owned());
        Ok(())
    }

    /// Starts an input after so many documents.
    pub(crate) fn begin(&mut self, path: &Path, name: &Path, documents: u64) {
        self.entries.push(Entry {
            path: path.to_owned(),
            name: name.to_owned(),
            start: documents,
            is_document: false,
            is_intact: true,
            has_rows: true,
        });
    }

    /// Starts the rows of the input. Fails if its format cannot be written.
    pub(crate) fn enter(&mut self, input: &str, shape: &Shape) -> Result<(), Error> {
        let what = match shape {
            Shape::Items => "a list within an object",
            Shape::Parts => "a mailbox or WARC file",
            _ => {
                if let Some(entry) = self.entries.last_mut() {
                    entry.is_document = matches!(shape, Shape::Whole);
                }
                return Ok(());
            }
        };
        Err(Error::NoFileForm { input: input.to_owned(), what })
    }

    /// Notes that the latest input has a row that cannot be copied.
    pub(crate) fn lose(&mut self) {
        if let Some(entry) = self.entries.last_mut() {
            entry.is_intact = false;
        }
    }

    /// Notes that the latest input is not read to its end.
    pub(crate) fn break_off(&mut self, documents: u64) {
        if let Some(entry) = self.entries.last_mut() {
            entry.is_intact = false;
            entry.has_rows = documents > entry.start;
        }
    }

    /// Returns the inputs.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Fails if an input of this format cannot be written.
pub(crate) fn check(input: &Input, format: Format) -> Result<(), Error> {
    let what = match (format, input.packing().0) {
        (Format::Mbox | Format::Warc, _) => format.with_article(),
        (_, Some(Compression::Brotli)) if format.has_rows() => "a file in Brotli",
        _ => return Ok(()),
    };
    Err(Error::NoFileForm { input: input.name().to_owned(), what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_files_have_one_place() {
        let mut folder = Folder::default();
        let mut name =
            |input: &str, name: &str| folder.name(input, Path::new(name)).map_err(|e| e.to_string());
        name("a/x/1", "x/1").unwrap();
        name("a/x/2", "x/2").unwrap();
        assert!(name("b/x/1", "x/1").unwrap_err().contains("named x/1 in the copy, as a/x/1 is"));
        assert!(name("x", "x").unwrap_err().contains("as a/x/1 is"));
        assert!(name("b/x/1/2", "x/1/2").unwrap_err().contains("as a/x/1 is"));
        name("x1", "x1").unwrap();
    }
}
