//! Writing a table to a file.

use std::path::Path;

use hamdex_atomic_file::AtomicFile;

use crate::error::Error;
use crate::table_writer::cell::{Cell, Kind, write_json};

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
}

impl TableFormat {
    /// Returns the format given by the extension of a file's name.
    ///
    /// # Errors
    /// When the extension is not `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet`.
    pub fn of(path: &Path) -> Result<Self, Error> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Error::UnknownEnding { path: path.to_owned() }),
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
    Jsonl(AtomicFile, Vec<String>),
    Csv(Box<csv::Writer<AtomicFile>>),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::table_writer::parquet::Rows>),
}

impl Rows {
    /// Starts a table with these columns.
    ///
    /// # Errors
    /// When the file cannot be written, or this build does not support Parquet.
    pub fn new(file: AtomicFile, format: TableFormat, columns: &[(&str, Kind)]) -> Result<Self, Error> {
        Ok(Self(match format {
            TableFormat::Jsonl => {
                Writer::Jsonl(file, columns.iter().map(|(name, _)| (*name).to_owned()).collect())
            }
            TableFormat::Csv | TableFormat::Tsv => {
                let delimiter = if format == TableFormat::Csv { b',' } else { b'\t' };
                let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(file);
                let header = writer.write_record(columns.iter().map(|(name, _)| name));
                header.map_err(|error| writer.get_ref().failed()(error.into()))?;
                Writer::Csv(Box::new(writer))
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                Writer::Parquet(Box::new(crate::table_writer::parquet::Rows::new(file, columns)?))
            }
            #[cfg(not(feature = "parquet"))]
            TableFormat::Parquet => {
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
            Writer::Parquet(rows) => rows.push(cells),
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// When the rest cannot be written. There is no new file then, except with
    /// [`hamdex_atomic_file::Error::NotDurable`].
    pub fn finish(self) -> Result<(), Error> {
        let file = match self.0 {
            Writer::Jsonl(file, _) => file,
            Writer::Csv(writer) => {
                let failed = writer.get_ref().failed();
                writer.into_inner().map_err(|error| failed(error.into_error()))?
            }
            #[cfg(feature = "parquet")]
            Writer::Parquet(rows) => rows.finish()?,
        };
        Ok(file.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_extensions_are_written() {
        assert_eq!(TableFormat::of(Path::new("a.b.csv")).unwrap(), TableFormat::Csv);
        assert!(TableFormat::of(Path::new("a.txt")).unwrap_err().to_string().contains(".parquet"));
    }
}
