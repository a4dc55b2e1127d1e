//! The state kept between the two passes over the inputs.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Seek;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::copy::agreed::Agreed;
use crate::document::Counts;
use crate::error::{CopyErrorKind, Error};
use crate::format::Format;
use crate::input::source::{self, Compression};
use crate::input::{Input, input_name, spool};
use crate::problem::Problem;
use crate::rows::Shape;

/// The output of a copy.
pub(crate) enum Target {
    /// One file, whose columns fit all inputs.
    File(Box<Agreed>),
    /// A file for each input.
    Folder(Folder),
}

/// The columns of the inputs, copies of inputs that cannot be read twice, and a fingerprint of the rest.
pub(crate) struct Plan {
    pub(crate) target: Target,
    /// Inputs that can be read only once, in the order in which they were opened.
    streams: Vec<File>,
    /// Number of streams opened in this pass.
    opened: usize,
    /// Hash of names, lengths and times of the files opened in this pass.
    files: DefaultHasher,
    /// The same hash and the document counts of the first pass.
    first: Option<(u64, Counts)>,
}

impl Plan {
    pub(crate) fn new(target: Target) -> Self {
        Self { target, streams: Vec::new(), opened: 0, files: DefaultHasher::new(), first: None }
    }

    /// Adds an input and its columns.
    pub(crate) fn enter(&mut self, input: &str, shape: Shape) -> Result<(), Error> {
        match &mut self.target {
            // Inputs that fit in the first pass fit in the second.
            _ if self.first.is_some() => Ok(()),
            Target::File(agreed) => agreed.enter(input, shape),
            Target::Folder(folder) => folder.enter(input, &shape),
        }
    }

    /// Adds the fields of an object, in the first pass.
    pub(crate) fn enter_object(&mut self, text: &str) -> Result<(), Error> {
        match &mut self.target {
            Target::File(agreed) if self.first.is_none() && agreed.takes_fields() => {
                agreed.enter_object(text)
            }
            _ => Ok(()),
        }
    }

    /// Ends the last input.
    pub(crate) fn end_input(&mut self) -> Result<(), Error> {
        match &mut self.target {
            Target::File(agreed) => agreed.end(),
            Target::Folder(_) => Ok(()),
        }
    }

    /// Returns the problems that the first pass found in inputs.
    pub(crate) fn take_problems(&mut self) -> Vec<(String, Problem)> {
        match &mut self.target {
            Target::File(agreed) => agreed.take_problems(),
            Target::Folder(_) => Vec::new(),
        }
    }

    /// Returns the files of the copy if each input has one.
    pub(crate) fn folder(&mut self) -> Option<&mut Folder> {
        match &mut self.target {
            Target::File(_) => None,
            Target::Folder(folder) => Some(folder),
        }
    }

    /// Returns the same in the first pass, which finds the files.
    pub(crate) fn new_folder(&mut self) -> Option<&mut Folder> {
        if self.first.is_some() { None } else { self.folder() }
    }

    /// Returns the number of documents, after the first pass.
    pub(crate) fn documents(&self) -> u64 {
        self.first.as_ref().map_or(0, |(_, counts)| counts.documents)
    }

    /// Returns whether records of CSV and TSV become rows of another format.
    pub(crate) fn converts_records(&self) -> bool {
        match &self.target {
            Target::File(agreed) => agreed.converts_records(),
            Target::Folder(_) => false,
        }
    }

    /// Begins a pass.
    pub(crate) fn begin(&mut self) {
        self.opened = 0;
        self.files = DefaultHasher::new();
    }

    /// Ends a pass. Fails if the second pass found other inputs than the first.
    pub(crate) fn end(&mut self, counts: &Counts) -> Result<(), Error> {
        let found = (self.files.finish(), *counts);
        match &self.first {
            None => self.first = Some(found),
            Some(first) if *first == found => {}
            Some(_) => return Err(Error::Changed),
        }
        Ok(())
    }

    /// Returns whether a path is a regular file, which can be read again, and adds it to the hash of this pass.
    pub(crate) fn is_file(&mut self, path: &Path) -> bool {
        let metadata = if path.as_os_str() == "-" { None } else { path.metadata().ok() };
        let Some(metadata) = metadata.filter(Metadata::is_file) else { return false };
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        (path, metadata.len(), modified).hash(&mut self.files);
        true
    }

    /// Opens standard input, a pipe or the like; the first pass copies it to a temporary file.
    pub(crate) fn open_stream(
        &mut self,
        path: &Path,
        directory: &Path,
        on_read: impl Fn(u64),
    ) -> Result<File, Error> {
        if self.opened == self.streams.len() {
            let unreadable = |source| Error::Read { input: input_name(path), source };
            let mut stream = source::open((path.as_os_str() != "-").then_some(path)).map_err(unreadable)?;
            let mut file = tempfile::tempfile_in(directory)
                .map_err(Error::temporary("create a temporary file in it", directory))?;
            spool(&mut stream, &mut file, directory, unreadable, on_read)?;
            self.streams.push(file);
        }
        let file = &mut self.streams[self.opened];
        self.opened += 1;
        let again = file.rewind().and_then(|()| file.try_clone());
        again.map_err(Error::temporary("read a temporary file in it", directory))
    }
}

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
        let taken = |first: &str| {
            let name = name.display();
            let what = format!("is named {name} in the copy, as {first} is; copy them to two directories");
            Error::copy(CopyErrorKind::NoFile, input, what)
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
        Err(Error::no_file_form(input, what))
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
    Err(Error::no_file_form(input.name(), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_changed_between_the_passes_are_detected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for (contents, is_same) in [("one", true), ("two more", false)] {
            std::fs::write(&path, "one").unwrap();
            let modified = path.metadata().unwrap().modified().unwrap();
            let mut plan = Plan::new(Target::Folder(Folder::default()));
            plan.begin();
            assert!(plan.is_file(&path) && !plan.is_file(Path::new("-")));
            plan.end(&Counts::default()).unwrap();
            std::fs::write(&path, contents).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
            plan.begin();
            assert!(plan.is_file(&path));
            assert_eq!(plan.end(&Counts::default()).is_ok(), is_same);
        }
    }

    #[test]
    fn a_failure_of_the_temporary_file_is_not_one_of_the_input() {
        let directory = tempfile::tempdir().unwrap();
        let (path, missing) = (directory.path().join("a"), directory.path().join("missing"));
        std::fs::write(&path, "one").unwrap();
        let mut plan = Plan::new(Target::Folder(Folder::default()));
        let mut open = |path, directory| plan.open_stream(path, directory, |_| {});
        assert!(matches!(open(&path, &missing), Err(Error::Temporary { .. })));
        assert!(matches!(open(&missing, directory.path()), Err(Error::Read { .. })));
        // A file that cannot be written, as on a full disk.
        let unreadable = |_| -> Error { unreachable!("the input can be read") };
        let mut file = File::open(&path).unwrap();
        let spooled = spool(&mut &b"two"[..], &mut file, directory.path(), unreadable, |_| {});
        assert!(matches!(spooled, Err(Error::Temporary { .. })));
        assert!(open(&path, directory.path()).is_ok() && open(&path, directory.path()).is_ok());
    }

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
