//! The output of an index.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hamdex_atomic_file::Error as OutputError;

use crate::error::BuildError;

/// Any destination, with its bytes counted and errors that name it.
pub(super) struct Output<'w> {
    to: &'w mut (dyn Write + Send),
    /// Of a file.
    path: Option<PathBuf>,
    written_bytes: u64,
}

impl<'w> Output<'w> {
    /// `path` is that of a file.
    pub(super) fn new(to: &'w mut (dyn Write + Send), path: Option<&Path>) -> Self {
        Self { to, path: path.map(Path::to_owned), written_bytes: 0 }
    }

    /// Bytes written so far.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns what turns an error of [`Write`] into one about this output.
    pub(super) fn failed(&self) -> impl FnOnce(io::Error) -> BuildError + use<> {
        let path = self.path.clone();
        move |source| match path {
            Some(path) => OutputError::Io { doing: "write to it", path, source }.into(),
            None => BuildError::Write { source },
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
