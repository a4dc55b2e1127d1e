//! What is known of the inputs after they were read once.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::SystemTime;

use crate::copy::layout::{Agreed, Shape};
use crate::document::Counts;
use crate::error::Error;
use crate::input::source;
use crate::table_writer::rows::TableFormat;

const BUFFER_BYTES: usize = 1 << 18;

/// What is known of the inputs, and what was kept of them.
pub(crate) struct Plan {
    pub(crate) agreed: Agreed,
    /// Inputs that can be read only once, in the order in which they were opened.
    streams: Vec<File>,
    /// How many of them were opened in this reading.
    opened: usize,
    /// Names, lengths and dates of the files that were opened in this reading.
    files: DefaultHasher,
    /// The same, and the numbers of documents, of the first reading.
    first: Option<(u64, Counts)>,
}

impl Plan {
    pub(crate) fn new(format: Option<TableFormat>) -> Self {
        Self {
            agreed: Agreed::new(format),
            streams: Vec::new(),
            opened: 0,
            files: DefaultHasher::new(),
            first: None,
        }
    }

    /// Takes note of an input and its columns.
    pub(crate) fn enter(&mut self, input: &str, shape: Shape) -> Result<(), Error> {
        // What fits once fits again.
        if self.first.is_some() { Ok(()) } else { self.agreed.enter(input, shape) }
    }

    /// Begins a reading.
    pub(crate) fn begin(&mut self) {
        self.opened = 0;
        self.files = DefaultHasher::new();
    }

    /// Ends a reading; the second one must have found the same as the first.
    pub(crate) fn end(&mut self, counts: &Counts) -> Result<(), Error> {
        let found = (self.files.finish(), *counts);
        match &self.first {
            None => self.first = Some(found),
            Some(first) if *first == found => {}
            Some(_) => return Err(Error::Changed),
        }
        Ok(())
    }

    /// Takes note of a file that is about to be read, if it can be read again.
    pub(crate) fn is_file(&mut self, path: &Path) -> bool {
        let metadata = if path.as_os_str() == "-" { None } else { path.metadata().ok() };
        let Some(metadata) = metadata.filter(Metadata::is_file) else { return false };
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        (path, metadata.len(), modified).hash(&mut self.files);
        true
    }

    /// Opens standard input, a pipe or the like: copied to a temporary file the first time.
    pub(crate) fn open_stream(
        &mut self,
        path: &Path,
        directory: &Path,
        on_read: &dyn Fn(u64),
    ) -> Result<File, io::Error> {
        if self.opened == self.streams.len() {
            let mut stream = source::open((path.as_os_str() != "-").then_some(path))?;
            let mut file = tempfile::tempfile_in(directory)?;
            let mut buffer = vec![0; BUFFER_BYTES];
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        file.write_all(&buffer[..count])?;
                        on_read(count as u64);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            self.streams.push(file);
        }
        let file = &mut self.streams[self.opened];
        self.opened += 1;
        file.rewind()?;
        file.try_clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_between_two_readings_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for (contents, is_same) in [("one", true), ("two more", false)] {
            std::fs::write(&path, "one").unwrap();
            let modified = path.metadata().unwrap().modified().unwrap();
            let mut plan = Plan::new(None);
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
}
