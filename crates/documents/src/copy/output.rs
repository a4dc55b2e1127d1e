//! The file to which rows are copied, in the layout that the inputs have in common.

use std::io::{self, Write};

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
use hamdex_atomic_file::AtomicFile;

use crate::copy::agreed::Layout;
#[cfg(feature = "parquet")]
use crate::copy::columnar::{Columns, Typed};
use crate::copy::union::cells::{self, Places, Raw};
#[cfg(feature = "parquet")]
use crate::copy::union::value::{Value, write_object as write_values};
use crate::document::Document;
use crate::error::Error;
use crate::rows::Row;
use crate::table_reader::csv;
use crate::table_reader::quoting::Quoting;
#[cfg(feature = "parquet")]
use crate::table_writer::parquet::Container;
use crate::table_writer::{Cell, Kind, Rows, Sink, write_json};

/// The file to which rows are copied.
pub(crate) enum Output {
    Objects(Sink),
    Records(Records),
    /// Fields of records as cells, and the number of columns.
    Cells(Rows, usize),
    IdsAndTexts(Rows),
    #[cfg(feature = "parquet")]
    Columns(Box<Columns>),
    Table(Table),
    #[cfg(feature = "parquet")]
    Typed(Box<Typed>),
}

impl Output {
    /// Starts the file. `fields` are the names of id and text in an output that has nothing else.
    pub(crate) fn new(file: AtomicFile, layout: &Layout, fields: [&str; 2]) -> Result<Self, Error> {
        Ok(match layout {
            Layout::Objects => Self::Objects(Sink::new(file)?),
            Layout::Records { names, delimiter, quoting } => {
                let mut records = Records::new(Sink::new(file)?, *delimiter, *quoting);
                if let Some(names) = names {
                    records.write_fields(names)?;
                }
                Self::Records(records)
            }
            Layout::Cells { names, format } => {
                let columns: Vec<(&str, Kind)> =
                    names.iter().map(|name| (name.as_str(), Kind::Text)).collect();
                Self::Cells(Rows::new(file, *format, &columns)?, names.len())
            }
            Layout::IdsAndTexts(format) => {
                Self::IdsAndTexts(Rows::new(file, *format, &fields.map(|name| (name, Kind::Text)))?)
            }
            #[cfg(feature = "parquet")]
            Layout::Columns { schema, compression, format } => {
                let container = Container::of(*format, *compression);
                Self::Columns(Box::new(Columns::new(Sink::Plain(file), container, schema)?))
            }
            Layout::Table { names, delimiter } => {
                let records = Records::new(Sink::new(file)?, *delimiter, Quoting::Csv);
                Self::Table(Table::new(records, names, fields)?)
            }
            #[cfg(feature = "parquet")]
            Layout::Union { schema, compression, format } => {
                let container = Container::of(*format, *compression);
                Self::Typed(Box::new(Typed::new(Sink::Plain(file), container, schema, fields)?))
            }
        })
    }

    /// Starts an input.
    #[cfg(feature = "parquet")]
    pub(crate) fn begin(&mut self, input: &str) -> Result<(), Error> {
        match self {
            Self::Typed(typed) => typed.begin(input),
            _ => Ok(()),
        }
    }

    /// Starts the rows of an input with these columns.
    pub(crate) fn enter(&mut self, names: &[String]) {
        match self {
            Self::Table(table) => table.places.enter(names),
            #[cfg(feature = "parquet")]
            Self::Typed(typed) => typed.places.enter(names),
            _ => {}
        }
    }

    /// Returns whether rows of Parquet and Arrow are written by batches.
    #[cfg(feature = "parquet")]
    pub(crate) fn takes_batches(&self, is_partial: bool) -> bool {
        match self {
            Self::Objects(_) => !is_partial,
            Self::Columns(_) | Self::Table(_) | Self::Typed(_) => true,
            _ => false,
        }
    }

    /// Writes the wanted rows of a batch.
    #[cfg(feature = "parquet")]
    pub(crate) fn write_batch(
        &mut self,
        batch: &RecordBatch,
        wanted: Vec<bool>,
        names: &[String],
    ) -> Result<(), Error> {
        let mut write = match self {
            Self::Columns(columns) => return columns.write(batch, wanted),
            Self::Typed(typed) => return typed.write_batch(batch, wanted),
            Self::Objects(file) => Box::new(|row: Vec<Value>| {
                let mut line = String::new();
                write_values(names.iter().cloned().zip(row), &mut line);
                Ok(writeln!(file, "{line}").map_err(|error| file.failed()(error))?)
            }) as Box<dyn FnMut(Vec<Value>) -> Result<(), Error> + '_>,
            Self::Table(table) => Box::new(|row| table.write_values(row)),
            _ => return Ok(()),
        };
        for row in (0..batch.num_rows()).filter(|&row| wanted[row]) {
            write(batch.columns().iter().map(|column| Value::read(column, row)).collect())?;
        }
        Ok(())
    }

    /// Writes a row. Returns `false` if it cannot be written: it is not a document, and the output has only ids and
    /// texts.
    pub(crate) fn write(
        &mut self,
        row: Row<'_>,
        document: Option<&Document>,
        names: &[String],
        fields: &[String; 2],
    ) -> Result<bool, Error> {
        match (self, row, document) {
            (Self::Objects(file), Row::Object(text), _) => {
                write_object(file, text).map_err(|error| file.failed()(error))?;
            }
            (Self::Objects(file), Row::Record(records), _) => {
                write_record(file, records, names).map_err(|error| file.failed()(error))?;
            }
            (Self::Objects(file), _, Some(document)) => {
                let cells = [Cell::Text(&document.id), Cell::Text(&document.text)];
                write_json(file, fields, &cells).map_err(|error| file.failed()(error))?;
            }
            (Self::Records(output), Row::Record(records), _) => output.write(records)?,
            (Self::Cells(rows, width), Row::Record(records), _) => push_record(rows, records, *width)?,
            (Self::IdsAndTexts(rows), _, Some(document)) => {
                rows.push(&[Cell::Text(&document.id), Cell::Text(&document.text)])?;
            }
            (Self::Table(table), row, document) => return table.write(row, document),
            #[cfg(feature = "parquet")]
            (Self::Typed(typed), row, document) => return typed.write(row, document),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Objects(file) => file.finish(),
            Self::Records(records) => records.finish(),
            Self::Cells(rows, _) | Self::IdsAndTexts(rows) => rows.finish(),
            Self::Table(table) => table.finish(),
            #[cfg(feature = "parquet")]
            Self::Columns(columns) => columns.finish(),
            #[cfg(feature = "parquet")]
            Self::Typed(typed) => typed.finish(),
        }
    }
}

/// Writes an object as it is, on one line.
fn write_object(output: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(output, "{}", cells::on_one_line(text))
}

/// Writes a record as an object. Fields beyond the last name are named by their numbers, counted from 1.
fn write_record(output: &mut impl Write, records: &csv::Records, names: &[String]) -> io::Result<()> {
    let texts: Vec<_> = records.fields().map(String::from_utf8_lossy).collect();
    let numbers = (names.len()..texts.len()).map(|number| (number + 1).to_string());
    let names: Vec<String> = names.iter().take(texts.len()).cloned().chain(numbers).collect();
    let cells: Vec<Cell<'_>> = texts.iter().map(|text| Cell::Text(text)).collect();
    write_json(output, &names, &cells)
}

/// Writes the fields of a record, with empty fields where it is short. One with more fields is not copied.
fn push_record(rows: &mut Rows, records: &csv::Records, width: usize) -> Result<(), Error> {
    let texts: Vec<_> = records.fields().map(String::from_utf8_lossy).collect();
    let cells: Vec<Cell<'_>> =
        (0..width).map(|at| Cell::Text(texts.get(at).map_or("", |text| text))).collect();
    rows.push(&cells)
}

/// A file of records, written as they are in the input where that has the same delimiter and quotes.
pub(crate) struct Records {
    file: Sink,
    delimiter: u8,
    quoting: Quoting,
}

impl Records {
    pub(crate) fn new(file: Sink, delimiter: u8, quoting: Quoting) -> Self {
        Self { file, delimiter, quoting }
    }

    pub(crate) fn write(&mut self, records: &csv::Records) -> Result<(), Error> {
        let Self { file, delimiter, quoting } = self;
        let Some(raw) = records.raw(*delimiter, *quoting) else { return self.write_fields(records.fields()) };
        Ok(file.write_all(raw).and_then(|()| file.write_all(b"\n")).map_err(|error| file.failed()(error))?)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.file.finish()
    }

    fn write_fields(&mut self, fields: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<(), Error> {
        let Self { file, delimiter, quoting } = self;
        let record = match quoting {
            Quoting::Csv => {
                let mut writer = ::csv::WriterBuilder::new().delimiter(*delimiter).from_writer(Vec::new());
                let written = writer.write_record(fields).map_err(io::Error::from);
                written.and_then(|()| writer.into_inner().map_err(::csv::IntoInnerError::into_error))
            }
            Quoting::None => {
                let fields: Vec<_> = fields.into_iter().collect();
                let fields: Vec<&[u8]> = fields.iter().map(AsRef::as_ref).collect();
                Ok([&fields.join(&*delimiter)[..], b"\n"].concat())
            }
        };
        Ok(record.and_then(|record| file.write_all(&record)).map_err(|error| file.failed()(error))?)
    }
}

/// A file of records with all columns of the inputs. A field is empty where an input lacks the column.
pub(crate) struct Table {
    records: Records,
    pub(crate) places: Places,
    width: usize,
}

impl Table {
    pub(crate) fn new(mut records: Records, names: &[String], fields: [&str; 2]) -> Result<Self, Error> {
        records.write_fields(names)?;
        let places = Places::new(names.iter().map(String::as_str), fields);
        Ok(Self { records, places, width: names.len() })
    }

    /// Writes a row. Returns whether it has a place in the table.
    pub(crate) fn write(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<bool, Error> {
        let mut fields = vec![Vec::new(); self.width];
        let has_place = self.places.each(row, document, |at, cell| {
            fields[at] = match cell {
                Raw::Text(bytes) => bytes.into_owned(),
                Raw::Json(value) => {
                    cells::json_text(value).map_or_else(Vec::new, |text| text.into_owned().into_bytes())
                }
            };
        });
        if has_place {
            self.records.write_fields(&fields)?;
        }
        Ok(has_place)
    }

    /// Writes a row of values in the order of the columns of the input.
    #[cfg(feature = "parquet")]
    fn write_values(&mut self, row: Vec<Value>) -> Result<(), Error> {
        let mut fields = vec![String::new(); self.width];
        for (&at, value) in self.places.of_record().iter().zip(row) {
            if let Some(at) = at {
                fields[at] = value.into_text().unwrap_or_default();
            }
        }
        self.records.write_fields(&fields)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.records.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str) -> String {
        let mut output = Vec::new();
        write_object(&mut output, text).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn lines_stay_as_they_are_and_others_become_one() {
        assert_eq!(written("{ \"a\" : 1e3 }"), "{ \"a\" : 1e3 }\n");
        assert_eq!(
            written("{\n  \"a b\": \"x \\\" y\\\\\",\r\n \"c\": 1.50\n}"),
            "{\"a b\":\"x \\\" y\\\\\",\"c\":1.50}\n"
        );
    }

    proptest! {
        #[test]
        fn an_object_on_one_line_is_the_same(fields in prop::collection::btree_map(".{0,8}", ".{0,20}", 0..6)) {
            let value = serde_json::to_value(fields).unwrap();
            let line = written(&format!("{value:#}"));
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
        }
    }
}
