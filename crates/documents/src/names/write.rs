//! Writing names.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use hamdex::FileId;
use hamdex_atomic_file::{AtomicFile, SealedFile};

use crate::error::Error;
use crate::names::layout::{CRC_BYTES, HEADER_BYTES, MAGIC, MAX_NAME_BYTES, VERSION, checksum};

/// Collects the names of documents while their index is built: the file of names contains the index's file id,
/// so it is written last.
#[derive(Debug)]
pub struct NamesWriter {
    spool: BufWriter<File>,
    directory: PathBuf,
    count: u64,
    bytes: u64,
}

impl NamesWriter {
    /// Keeps names in a nameless temporary file in `directory`.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn new(directory: &Path) -> Result<Self, Error> {
        let spool = tempfile::tempfile_in(directory)
            .map_err(Error::temporary("create a temporary file in it", directory))?;
        Ok(Self { spool: BufWriter::new(spool), directory: directory.to_owned(), count: 0, bytes: 0 })
    }

    /// Adds a name; returns its number, which is the id to store in the index.
    ///
    /// # Errors
    /// When the name is longer than the file can hold, or the temporary file cannot be written.
    pub fn push(&mut self, name: &str) -> Result<u64, Error> {
        if name.len() as u64 > MAX_NAME_BYTES {
            return Err(Error::Option {
                option: "name of a document",
                what: format!("at most {MAX_NAME_BYTES} bytes"),
            });
        }
        let write = |spool: &mut BufWriter<File>| {
            spool.write_all(&(name.len() as u64).to_le_bytes())?;
            spool.write_all(name.as_bytes())
        };
        write(&mut self.spool).map_err(Error::temporary("write a temporary file in it", &self.directory))?;
        self.count += 1;
        self.bytes += name.len() as u64;
        Ok(self.count - 1)
    }

    /// Writes the names of the index with this file id to its file ([`names_path`](crate::names_path)).
    ///
    /// # Errors
    /// When the temporary file cannot be read or the output cannot be written.
    pub fn finish(self, output: AtomicFile, file_id: FileId) -> Result<(), Error> {
        Ok(self.seal(output, file_id)?.publish()?)
    }

    /// Does all that [`NamesWriter::finish`] does but give the file its name: so that index and names can
    /// appear together ([`hamdex::Builder::seal`]).
    ///
    /// # Errors
    /// When the temporary file cannot be read or the output cannot be written.
    pub fn seal(self, mut output: AtomicFile, file_id: FileId) -> Result<SealedFile, Error> {
        let in_spool = Error::temporary("read a temporary file in it", &self.directory);
        let mut spool = self.spool.into_inner().map_err(|error| in_spool(error.into_error()))?;
        let written = write(&mut spool, &mut output, file_id, self.count, self.bytes);
        written.map_err(output.failed())?;
        Ok(output.seal()?)
    }
}

fn write(
    spool: &mut File,
    output: &mut impl Write,
    file_id: FileId,
    count: u64,
    bytes: u64,
) -> io::Result<()> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend([0; 4]);
    header.extend(file_id.to_bytes());
    header.extend(count.to_le_bytes());
    header.extend(bytes.to_le_bytes());
    output.write_all(&header)?;
    output.write_all(&crc32fast::hash(&header).to_le_bytes())?;
    let mut end = 0u64;
    each(spool, count, |_, name| {
        end += name.len() as u64 + CRC_BYTES;
        output.write_all(&end.to_le_bytes())
    })?;
    each(spool, count, |number, name| {
        output.write_all(name)?;
        output.write_all(&checksum(file_id, number, name).to_le_bytes())
    })
}

/// Reads the spool from its start.
fn each(spool: &mut File, count: u64, mut visit: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    spool.rewind()?;
    let mut reader = BufReader::new(spool);
    let mut name = Vec::new();
    for number in 0..count {
        let mut length = [0; 8];
        reader.read_exact(&mut length)?;
        name.resize(u64::from_le_bytes(length) as usize, 0);
        reader.read_exact(&mut name)?;
        visit(number, &name)?;
    }
    Ok(())
}
