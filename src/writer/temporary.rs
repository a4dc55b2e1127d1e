//! Temporary files of a build: without a name, so no end of the process leaves anything behind.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use crate::error::BuildError;
use crate::progress::Counter;

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 20;

/// Makes a temporary file.
pub(super) fn file(directory: &Path) -> Result<File, BuildError> {
    tempfile::tempfile_in(directory).map_err(|source| BuildError::Io {
        doing: "create a temporary file",
        path: directory.to_owned(),
        source,
    })
}

/// Creates a temporary file for the bytes of a section that is written later.
pub(super) fn spool(directory: &Path) -> Result<io::BufWriter<File>, BuildError> {
    Ok(io::BufWriter::with_capacity(GATHER_BYTES, file(directory)?))
}

/// Turns a spool round, for reading.
pub(super) fn rewind(spool: io::BufWriter<File>) -> io::Result<io::BufReader<File>> {
    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(io::BufReader::with_capacity(GATHER_BYTES, file))
}

/// A spool that can be read until the build is stopped.
pub(super) struct Watched<'d> {
    pub(super) spool: io::BufReader<File>,
    pub(super) done: &'d Counter,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.done.check().map_err(|_| io::Error::other("the build is stopped"))?;
        self.spool.read(buffer)
    }
}

/// Returns the error of using a temporary file.
#[cold]
pub(super) fn failed(temp_dir: &Path, source: io::Error) -> BuildError {
    BuildError::Io { doing: "use a temporary file in", path: temp_dir.to_owned(), source }
}
