//! Texts in a nameless temporary file, read again after the search.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Writes texts to a temporary file; 8 bytes of memory per text.
pub(crate) struct Spool {
    directory: PathBuf,
    output: BufWriter<File>,
    ends: Vec<u64>,
}

/// The written texts, read by their numbers.
#[derive(Debug)]
pub(crate) struct Spooled {
    directory: PathBuf,
    file: File,
    ends: Vec<u64>,
}

impl Spool {
    pub(crate) fn new(directory: &Path) -> Result<Self, Error> {
        let file = tempfile::tempfile_in(directory)
            .map_err(Error::temporary("create a temporary file in it", directory))?;
        Ok(Self { directory: directory.to_owned(), output: BufWriter::new(file), ends: Vec::new() })
    }

    pub(crate) fn push(&mut self, text: &str) -> Result<(), Error> {
        let written = self.output.write_all(text.as_bytes());
        written.map_err(Error::temporary("write a temporary file in it", &self.directory))?;
        self.ends.push(self.ends.last().copied().unwrap_or(0) + text.len() as u64);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Spooled, Error> {
        let Self { directory, output, ends } = self;
        let failed = Error::temporary("write a temporary file in it", &directory);
        let file = output.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(Spooled { directory, file, ends })
    }
}

impl Spooled {
    pub(crate) fn get(&self, number: u32) -> Result<String, Error> {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let mut bytes = vec![0; (self.ends[number] - start) as usize];
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(Error::temporary("read a temporary file in it", &self.directory))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
