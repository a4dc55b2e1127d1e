//! Tables of results, written to a file as its name says: JSON Lines, CSV or Parquet.

#[cfg(feature = "parquet")]
mod parquet;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hamdex_atomic_file::{AtomicFile, Error as OutputError};
use serde::ser::{SerializeMap, Serializer};

use crate::failure::Failure;

/// What a cell holds. All cells of a column are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Number(u64),
    Flag(bool),
}

/// The columns of a table.
pub(crate) type Columns<'a> = [(&'a str, Kind)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure + use<> {
    let path = path.to_owned();
    move |source| OutputError::Io { doing: "write to it", path, source }.into()
}

/// A table on its way into a file.
pub(crate) enum Rows {
    Jsonl(AtomicFile, Vec<String>),
    Csv(Box<csv::Writer<AtomicFile>>, PathBuf),
    #[cfg(feature = "parquet")]
    Parquet(Box<parquet::Rows>),
}

/// How a table is written, by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Jsonl,
    Csv,
    Parquet,
}

impl Form {
    pub(crate) fn of(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Jsonl);
        }
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("jsonl" | "ndjson") => Ok(Self::Jsonl),
            Some("csv") => Ok(Self::Csv),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Failure::Usage(format!(
                "{}: the name must end in .jsonl, .csv or .parquet",
                path.display()
            ))),
        }
    }
}

impl Rows {
    pub(crate) fn create(file: AtomicFile, form: Form, columns: &Columns<'_>) -> Result<Self, Failure> {
        match form {
            Form::Jsonl => {
                let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
                Ok(Self::Jsonl(file, names))
            }
            Form::Csv => {
                let path = file.path().to_owned();
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(columns.iter().map(|(name, _)| name)).map_err(csv_failed(&path))?;
                Ok(Self::Csv(Box::new(writer), path))
            }
            #[cfg(feature = "parquet")]
            Form::Parquet => Ok(Self::Parquet(Box::new(parquet::Rows::create(file, columns)?))),
            #[cfg(not(feature = "parquet"))]
            Form::Parquet => Err(Failure::Usage(format!(
                "{}: this build of hamdex was made without Parquet (cargo feature parquet)",
                file.path().display()
            ))),
        }
    }

    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        match self {
            Self::Jsonl(output, names) => Ok(write_json(output, names, cells).map_err(output.failed())?),
            Self::Csv(writer, path) => {
                let texts = cells.iter().map(|cell| match cell {
                    Cell::Text(text) => (*text).to_owned(),
                    Cell::Number(number) => number.to_string(),
                    Cell::Flag(flag) => flag.to_string(),
                });
                writer.write_record(texts).map_err(csv_failed(path))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(rows) => rows.push(cells),
        }
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Jsonl(output, _) => Ok(output.finish()?),
            Self::Csv(writer, path) => {
                let file = writer.into_inner().map_err(|error| failed(&path)(error.into_error()))?;
                Ok(file.finish()?)
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(rows) => rows.finish(),
        }
    }
}

fn csv_failed(path: &Path) -> impl FnOnce(csv::Error) -> Failure + use<> {
    let failed = failed(path);
    move |error| failed(error.into())
}

/// A JSON object on a line, its keys in the order of the columns.
pub(crate) fn write_json<N: AsRef<str>>(
    output: &mut impl Write,
    names: &[N],
    cells: &[Cell<'_>],
) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *output);
    let mut map = serializer.serialize_map(Some(cells.len()))?;
    for (name, cell) in names.iter().zip(cells) {
        match cell {
            Cell::Text(text) => map.serialize_entry(name.as_ref(), text)?,
            Cell::Number(number) => map.serialize_entry(name.as_ref(), number)?,
            Cell::Flag(flag) => map.serialize_entry(name.as_ref(), flag)?,
        }
    }
    map.end()?;
    writeln!(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_order_of_the_columns() {
        let mut output = Vec::new();
        let cells = [Cell::Number(3), Cell::Text("a\"b"), Cell::Flag(true)];
        write_json(&mut output, &["z", "a", "m"], &cells).unwrap();
        assert_eq!(output, b"{\"z\":3,\"a\":\"a\\\"b\",\"m\":true}\n");
    }

    #[test]
    fn only_known_endings_are_written() {
        assert_eq!(Form::of(Path::new("a.b.csv")).unwrap(), Form::Csv);
        assert!(Form::of(Path::new("a.txt")).unwrap_err().to_string().contains(".parquet"));
    }
}
