//! What is needed again after the search, in a nameless file rather than in memory.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Byte strings by number; 8 bytes of memory each.
pub(super) struct Spool {
    directory: PathBuf,
    output: BufWriter<File>,
    ends: Vec<u64>,
}

/// The same, no longer written to.
pub(super) struct Spooled {
    directory: PathBuf,
    file: File,
    ends: Vec<u64>,
}

impl Spool {
    pub(super) fn new(directory: &Path) -> Result<Self, Failure> {
        let file = tempfile::tempfile_in(directory).map_err(|source| Failure::Io {
            doing: "make a file in it",
            path: directory.to_owned(),
            source,
        })?;
        Ok(Self { directory: directory.to_owned(), output: BufWriter::new(file), ends: Vec::new() })
    }

    pub(super) fn push(&mut self, text: &str) -> Result<(), Failure> {
        self.output.write_all(text.as_bytes()).map_err(|source| Failure::Io {
            doing: "write to a file in it",
            path: self.directory.clone(),
            source,
        })?;
        self.ends.push(self.ends.last().copied().unwrap_or(0) + text.len() as u64);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Spooled, Failure> {
        let Self { directory, output, ends } = self;
        match output.into_inner() {
            Ok(file) => Ok(Spooled { directory, file, ends }),
            Err(error) => Err(Failure::Io {
                doing: "write to a file in it",
                path: directory,
                source: error.into_error(),
            }),
        }
    }
}

impl Spooled {
    pub(super) fn get(&mut self, number: u32) -> Result<String, Failure> {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let mut bytes = vec![0; (self.ends[number] - start) as usize];
        let mut read = || {
            self.file.seek(SeekFrom::Start(start))?;
            self.file.read_exact(&mut bytes)
        };
        read().map_err(|source| Failure::Io {
            doing: "read a file in it",
            path: self.directory.clone(),
            source,
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
