//! Tables of results, written as JSON Lines, CSV, Parquet or Arrow, into a file that is compressed if its name says so.
//!
//! - [`parquet`]: tables as Parquet and Arrow files, row by row and batch by batch

#[cfg(feature = "parquet")]
pub(crate) mod parquet;

use std::io::{self, Write};
use std::path::Path;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use hamdex_atomic_file::AtomicFile;
use liblzma::write::XzEncoder;
use lz4_flex::frame::{FrameEncoder, FrameInfo};
use serde::ser::{SerializeMap, Serializer};

use crate::error::Error;
use crate::input::source::Compression;

/// A cell of a table. All cells of a column have its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// A text.
    Text(&'a str),
    /// An unsigned integer.
    Number(u64),
    /// A floating-point number.
    Real(f64),
    /// True or false.
    Flag(bool),
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Texts.
    Text,
    /// Unsigned integers.
    Number,
    /// Floating-point numbers.
    Real,
    /// True or false.
    Flag,
}

/// Writes a row as a line with a JSON object, its keys in the order of the columns.
///
/// # Errors
/// When it cannot be written.
pub fn write_json<N: AsRef<str>>(output: &mut impl Write, names: &[N], cells: &[Cell<'_>]) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *output);
    let mut map = serializer.serialize_map(Some(cells.len()))?;
    for (name, cell) in names.iter().zip(cells) {
        match cell {
            Cell::Text(text) => map.serialize_entry(name.as_ref(), text)?,
            Cell::Number(number) => map.serialize_entry(name.as_ref(), number)?,
            Cell::Real(number) => map.serialize_entry(name.as_ref(), number)?,
            Cell::Flag(flag) => map.serialize_entry(name.as_ref(), flag)?,
        }
    }
    map.end()?;
    writeln!(output)
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// A JSON object on each line.
    Jsonl,
    /// Comma-separated values, the first record naming the columns.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

impl TableFormat {
    /// Returns the format given by the extension of a file's name. Texts may be compressed, as in `.jsonl.zst`.
    ///
    /// # Errors
    /// When the extension is not `.jsonl`, `.ndjson`, `.csv` or `.tsv`, with or without `.zst` or `.gz` behind it, nor
    /// `.parquet`, `.arrow` or `.feather`.
    pub fn of(path: &Path) -> Result<Self, Error> {
        let inner = Sink::inner_name(path);
        match inner.unwrap_or(path).extension().and_then(|ending| ending.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            // These compress their columns.
            Some("parquet") if inner.is_none() => Ok(Self::Parquet),
            Some("arrow" | "feather") if inner.is_none() => Ok(Self::Arrow),
            _ => Err(Error::UnknownEnding { path: path.to_owned() }),
        }
    }

    /// Returns the extension.
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Jsonl => ".jsonl",
            Self::Csv => ".csv",
            Self::Tsv => ".tsv",
            Self::Parquet => ".parquet",
            Self::Arrow => ".arrow",
        }
    }
}

/// A writer of a table to a file, which appears under its name when it is finished.
///
/// ```
/// use hamdex_atomic_file::AtomicFile;
/// use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("out.csv");
/// let file = AtomicFile::options().create(&path)?;
/// let columns = [("id", Kind::Text), ("length", Kind::Number)];
/// let mut rows = Rows::new(file, TableFormat::of(&path)?, &columns)?;
/// rows.push(&[Cell::Text("a, b"), Cell::Number(3)])?;
/// rows.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "id,length\n\"a, b\",3\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rows(Writer);

enum Writer {
    Jsonl(Sink, Vec<String>),
    Csv(Box<csv::Writer<Sink>>),
    #[cfg(feature = "parquet")]
    Columns(Box<crate::table_writer::parquet::Rows>),
}

impl Rows {
    /// Starts a table with these columns. A text is compressed if the file's name ends in `.zst` or `.gz`.
    ///
    /// # Errors
    /// When the file cannot be written, or this build does not support Parquet.
    pub fn new(file: AtomicFile, format: TableFormat, columns: &[(&str, Kind)]) -> Result<Self, Error> {
        Ok(Self(match format {
            TableFormat::Jsonl => {
                Writer::Jsonl(Sink::new(file)?, columns.iter().map(|(name, _)| (*name).to_owned()).collect())
            }
            TableFormat::Csv | TableFormat::Tsv => {
                let delimiter = if format == TableFormat::Csv { b',' } else { b'\t' };
                let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Sink::new(file)?);
                let header = writer.write_record(columns.iter().map(|(name, _)| name));
                header.map_err(|error| writer.get_ref().failed()(error.into()))?;
                Writer::Csv(Box::new(writer))
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet | TableFormat::Arrow => {
                Writer::Columns(Box::new(crate::table_writer::parquet::Rows::new(file, format, columns)?))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet | TableFormat::Arrow => {
                return Err(Error::WithoutParquet { input: file.path().display().to_string() });
            }
        }))
    }

    /// Writes a row: a cell of the right kind per column.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When the cells are not of the kinds of the columns.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        match &mut self.0 {
            Writer::Jsonl(file, names) => {
                Ok(write_json(file, names, cells).map_err(|error| file.failed()(error))?)
            }
            Writer::Csv(writer) => {
                let texts = cells.iter().map(|cell| match cell {
                    Cell::Text(text) => (*text).to_owned(),
                    Cell::Number(number) => number.to_string(),
                    Cell::Real(number) => format!("{number:?}"),
                    Cell::Flag(flag) => flag.to_string(),
                });
                let written = writer.write_record(texts);
                Ok(written.map_err(|error| writer.get_ref().failed()(error.into()))?)
            }
            #[cfg(feature = "parquet")]
            Writer::Columns(rows) => rows.push(cells),
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// When the rest cannot be written. There is no new file then, except with
    /// [`hamdex_atomic_file::Error::NotDurable`].
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {
            Writer::Jsonl(file, _) => file.finish(),
            Writer::Csv(writer) => {
                let failed = writer.get_ref().failed();
                writer.into_inner().map_err(|error| failed(error.into_error()))?.finish()
            }
            #[cfg(feature = "parquet")]
            Writer::Columns(rows) => rows.finish(),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_order_of_the_columns() {
        let mut output = Vec::new();
        let cells = [Cell::Number(3), Cell::Text("a\"b"), Cell::Flag(true), Cell::Real(1.0)];
        write_json(&mut output, &["z", "a", "m", "r"], &cells).unwrap();
        assert_eq!(output, b"{\"z\":3,\"a\":\"a\\\"b\",\"m\":true,\"r\":1.0}\n");
    }

    #[test]
    fn only_known_extensions_are_written() {
        assert_eq!(TableFormat::of(Path::new("a.b.csv")).unwrap(), TableFormat::Csv);
        assert_eq!(TableFormat::of(Path::new("a.jsonl.zst")).unwrap(), TableFormat::Jsonl);
        assert_eq!(TableFormat::of(Path::new("a.feather")).unwrap(), TableFormat::Arrow);
        assert!(TableFormat::of(Path::new("a.parquet.gz")).is_err());
        assert!(TableFormat::of(Path::new("a.txt")).unwrap_err().to_string().contains(".parquet"));
    }
}
