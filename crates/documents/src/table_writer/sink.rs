//! The file of a table, compressed if its name says so.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;
use hamdex_atomic_file::AtomicFile;

use crate::error::Error;

/// The level of Zstandard, its default.
const ZSTD_LEVEL: i32 = 3;

/// A file that is written, compressed if its name ends in `.zst` or `.gz`.
pub(crate) enum Sink {
    Plain(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
    Zstd(Box<zstd::Encoder<'static, AtomicFile>>),
}

impl Sink {
    pub(crate) fn new(file: AtomicFile) -> Result<Self, Error> {
        let ending = file.path().extension().unwrap_or_default().to_owned();
        Ok(match ending.to_str() {
            Some("gz") => Self::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::default()))),
            Some("zst") => {
                let failed = file.failed();
                let encoder = zstd::Encoder::new(file, ZSTD_LEVEL).and_then(|mut encoder| {
                    encoder.include_checksum(true)?;
                    Ok(encoder)
                });
                Self::Zstd(Box::new(encoder.map_err(failed)?))
            }
            _ => Self::Plain(file),
        })
    }

    /// Returns the name without the ending of a compressed file.
    pub(crate) fn inner_name(path: &Path) -> Option<&Path> {
        let is_packed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        if is_packed { path.file_stem().map(Path::new) } else { None }
    }

    /// Returns a function that adds the path to an error.
    pub(crate) fn failed(&self) -> impl FnOnce(io::Error) -> hamdex_atomic_file::Error + use<> {
        match self {
            Self::Plain(file) => file.failed(),
            Self::Gzip(encoder) => encoder.get_ref().failed(),
            Self::Zstd(encoder) => encoder.get_ref().failed(),
        }
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = self.failed();
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish().map_err(failed)?,
            Self::Zstd(encoder) => encoder.finish().map_err(failed)?,
        };
        Ok(file.finish()?)
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}
