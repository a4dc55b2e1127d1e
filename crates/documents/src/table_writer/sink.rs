//! The file of a table, compressed if its name says so.

use std::io::{self, Write};
use std::path::Path;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use hamdex_atomic_file::AtomicFile;
use liblzma::write::XzEncoder;
use lz4_flex::frame::{FrameEncoder, FrameInfo};

use crate::error::Error;
use crate::input::source::Compression;

/// The levels of Zstandard and xz, their defaults.
const ZSTD_LEVEL: i32 = 3;
const XZ_LEVEL: u32 = 6;

/// A file that is written, compressed or not.
pub(crate) enum Sink {
    Plain(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
    Zstd(Box<zstd::Encoder<'static, AtomicFile>>),
    Xz(Box<XzEncoder<AtomicFile>>),
    Bzip2(Box<BzEncoder<AtomicFile>>),
    Lz4(Box<FrameEncoder<AtomicFile>>),
}

impl Sink {
    /// Starts a file that is compressed if its name ends in `.zst` or `.gz`.
    pub(crate) fn new(file: AtomicFile) -> Result<Self, Error> {
        let compression = match file.path().extension().and_then(|ending| ending.to_str()) {
            Some("gz") => Some(Compression::Gzip),
            Some("zst") => Some(Compression::Zstd),
            _ => None,
        };
        Self::compressed(file, compression)
    }

    /// Starts a file with this compression.
    pub(crate) fn compressed(file: AtomicFile, compression: Option<Compression>) -> Result<Self, Error> {
        Ok(match compression {
            None => Self::Plain(file),
            Some(Compression::Gzip) => {
                Self::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::default())))
            }
            Some(Compression::Xz) => Self::Xz(Box::new(XzEncoder::new(file, XZ_LEVEL))),
            Some(Compression::Bzip2) => {
                Self::Bzip2(Box::new(BzEncoder::new(file, bzip2::Compression::best())))
            }
            Some(Compression::Lz4) => {
                let info = FrameInfo::new().content_checksum(true);
                Self::Lz4(Box::new(FrameEncoder::with_frame_info(info, file)))
            }
            Some(Compression::Brotli) => unreachable!("a copy of Brotli is refused"),
            Some(Compression::Zstd) => {
                let failed = file.failed();
                let encoder = zstd::Encoder::new(file, ZSTD_LEVEL).and_then(|mut encoder| {
                    encoder.include_checksum(true)?;
                    Ok(encoder)
                });
                Self::Zstd(Box::new(encoder.map_err(failed)?))
            }
        })
    }

    /// Returns the name without the ending of a compressed file.
    pub(crate) fn inner_name(path: &Path) -> Option<&Path> {
        let is_packed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        if is_packed { path.file_stem().map(Path::new) } else { None }
    }

    /// Returns a function that adds the path to an error.
    pub(crate) fn failed(&self) -> impl FnOnce(io::Error) -> hamdex_atomic_file::Error + use<> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.get_ref(),
            Self::Zstd(encoder) => encoder.get_ref(),
            Self::Xz(encoder) => encoder.get_ref(),
            Self::Bzip2(encoder) => encoder.get_ref(),
            Self::Lz4(encoder) => encoder.get_ref(),
        };
        file.failed()
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = self.failed();
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish().map_err(failed)?,
            Self::Zstd(encoder) => encoder.finish().map_err(failed)?,
            Self::Xz(encoder) => encoder.finish().map_err(failed)?,
            Self::Bzip2(encoder) => encoder.finish().map_err(failed)?,
            Self::Lz4(encoder) => encoder.finish().map_err(|error| failed(error.into()))?,
        };
        Ok(file.finish()?)
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
            Self::Xz(encoder) => encoder,
            Self::Bzip2(encoder) => encoder,
            Self::Lz4(encoder) => encoder,
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
