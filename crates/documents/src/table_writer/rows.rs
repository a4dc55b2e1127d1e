//! Writing a table to a file.

use hamdex_atomic_file::AtomicFile;

use crate::error::Error;
use crate::table_writer::cell::{Cell, Kind, write_json};
use crate::table_writer::format::TableFormat;
use crate::table_writer::sink::Sink;

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
