//! The formats of tables, by the names of files.

use std::path::Path;

use crate::error::Error;
use crate::table_writer::sink::Sink;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_extensions_are_written() {
        assert_eq!(TableFormat::of(Path::new("a.b.csv")).unwrap(), TableFormat::Csv);
        assert_eq!(TableFormat::of(Path::new("a.jsonl.zst")).unwrap(), TableFormat::Jsonl);
        assert_eq!(TableFormat::of(Path::new("a.feather")).unwrap(), TableFormat::Arrow);
        assert!(TableFormat::of(Path::new("a.parquet.gz")).is_err());
        assert!(TableFormat::of(Path::new("a.txt")).unwrap_err().to_string().contains(".parquet"));
    }
}
