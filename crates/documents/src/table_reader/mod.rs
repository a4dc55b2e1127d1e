//! Files of rows with named columns: CSV, TSV, Parquet and Arrow, read row by row.
//!
//! - [`csv`]: comma- or tab-separated records
//! - [`quoting`]: whether their fields can be in quotes
//! - [`columnar`]: Parquet and Arrow files, read in batches of rows
//! - [`footer`]: the schema in the footer of a Parquet file, looked through before it is decoded

#[cfg(feature = "parquet")]
pub(crate) mod columnar;
pub(crate) mod csv;
#[cfg(feature = "parquet")]
mod footer;
pub(crate) mod quoting;

use std::borrow::Cow;
#[cfg(feature = "parquet")]
use std::cell::RefCell;

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};
use hamdex::Names;

#[cfg(feature = "parquet")]
use crate::copy::union::value::is_ordered;
use crate::document::Document;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
#[cfg(feature = "parquet")]
use crate::problem::Position;
use crate::problem::{Place, Problem};
use crate::read::collector::Collector;
use crate::rows::{Row, Shape};
#[cfg(feature = "parquet")]
use crate::table_reader::columnar::{Batches, Wanted};
use crate::table_reader::csv::{Next, Records};

/// A cell of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A text; all cells of CSV are texts.
    Text(&'a str),
    /// A number of an unsigned type.
    Unsigned(u64),
    /// A number of a signed type.
    Signed(i64),
    /// Bytes of a binary column.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the cell as text, numbers in decimal; `None` for null and bytes.
    #[must_use]
    pub fn to_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null | Self::Bytes(_) => None,
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Unsigned(number) => Some(Cow::Owned(number.to_string())),
            Self::Signed(number) => Some(Cow::Owned(number.to_string())),
        }
    }
}

/// The longest record of CSV, in bytes.
const MAX_RECORD_BYTES: u64 = 64 << 20;

impl Input {
    /// Calls `visit` for every row of a table (CSV, TSV, Parquet or Arrow) with its place and its cells in the
    /// named columns, in the order of the names.
    ///
    /// Cells of CSV are texts ([`Names::text_of`]), or null if the record ends before the column.
    ///
    /// ```
    /// use hamdex_documents::tables::Value;
    /// use hamdex_documents::{Error, Format, Input};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("fingerprints.csv");
    /// std::fs::write(&path, "id,fingerprint\n7,00000000000000ff\n")?;
    ///
    /// Input::open(&path)?.for_each_row(Format::Csv, &["fingerprint", "id"], |place, cells| {
    ///     assert_eq!(cells, [Value::Text("00000000000000ff"), Value::Text("7")]);
    ///     assert_eq!(place.to_string(), format!("{}:2", path.display()));
    ///     Ok::<(), Error>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the format has no columns, the file has another format or is damaged, a column is missing or its type
    /// is not text, integer or binary, a record is longer than 64 MiB or has more fields than there are
    /// columns; or the error that `visit` returns.
    pub fn for_each_row<E: From<Error>>(
        self,
        format: Format,
        columns: &[&str],
        visit: impl FnMut(Place, &[Value<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_row_with(format, ColumnNames { named: columns, ..ColumnNames::default() }, visit)
    }

    /// Does what [`for_each_row`](Self::for_each_row) does, with optional columns.
    ///
    /// # Errors
    /// As [`for_each_row`](Self::for_each_row).
    pub fn for_each_row_with<E: From<Error>>(
        self,
        format: Format,
        columns: ColumnNames<'_>,
        mut visit: impl FnMut(Place, &[Value<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        read(self, format, columns, None, |place, cells| visit(place, cells).map(|()| None))
    }
}

/// The names of the columns to read of a table. Their cells come in this order, null where the table has no such column.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnNames<'a> {
    /// Columns that the table must have.
    pub named: &'a [&'a str],
    /// Columns that it can lack.
    pub optional: &'a [&'a str],
    /// Another one, which can also have fractions, truth values, dates or times: they become decimal numbers that have
    /// their order.
    pub ordered: Option<&'a str>,
}

/// Calls `visit` for every row, and passes the row on to the collector, with the document that `visit` returns.
pub(crate) fn read<E: From<Error>>(
    input: Input,
    format: Format,
    columns: ColumnNames<'_>,
    collector: Option<&mut Collector<'_>>,
    mut visit: impl FnMut(Place, &[Value<'_>]) -> Result<Option<Document>, E>,
) -> Result<(), E> {
    let mut stopped = None;
    let mut visit = |place: Place, cells: &[Value<'_>]| {
        visit(place, cells).map_err(|error| {
            stopped = Some(error);
            Error::Stopped
        })
    };
    let outcome = match format {
        Format::Csv => records(input, b',', columns, collector, &mut visit),
        Format::Tsv => records(input, b'\t', columns, collector, &mut visit),
        Format::Parquet | Format::Arrow => batches(input, format, columns, collector, &mut visit),
        _ => Err(Error::NotATable { input: input.name().to_owned(), format }),
    };
    outcome.map_err(|error| stopped.unwrap_or_else(|| error.into()))
}

type Visit<'a> = dyn FnMut(Place, &[Value<'_>]) -> Result<Option<Document>, Error> + 'a;

fn records(
    input: Input,
    delimiter: u8,
    columns: ColumnNames<'_>,
    mut collector: Option<&mut Collector<'_>>,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let mut records = Records::new(input, delimiter, None, true, MAX_RECORD_BYTES)?;
    if !has_next(&mut records)? {
        return Ok(());
    }
    let names = names(&records);
    let mut numbers = select(&records.place(), &names, columns)?;
    numbers.extend(columns.ordered.map(|column| names.iter().position(|name| name == column)));
    let mut converts = false;
    if let Some(collector) = &mut collector {
        let (names, quoting) = (Some(names.clone()), records.quoting());
        collector.enter(records.input(), || Shape::Records { names, delimiter, quoting })?;
        collector.header(&records)?;
        converts = collector.converts_records();
    }
    while has_next(&mut records)? {
        if let Some(found) = records.excess(names.len()) {
            let problem = Problem::LongRecord { found, names: names.len() };
            return Err(Error::Document { place: records.place(), problem });
        }
        let field =
            |number: &Option<usize>| number.and_then(|number| records.field(number)).map(Names::text_of);
        let texts: Vec<_> = numbers.iter().map(field).collect();
        let cells: Vec<Value<'_>> =
            texts.iter().map(|text| text.as_deref().map_or(Value::Null, Value::Text)).collect();
        let document = visit(records.place(), &cells)?;
        if let Some(collector) = &mut collector {
            if converts {
                collector.note_replaced(&records)?;
            }
            collector.pass(Row::Record(&records), document.as_ref())?;
        }
    }
    Ok(())
}

/// Reads the next record; `false` at the end.
fn has_next(records: &mut Records) -> Result<bool, Error> {
    let problem = match records.next()? {
        Next::End => return Ok(false),
        Next::Record => return Ok(true),
        Next::TooLong(what) => Problem::TooLong { what, max_bytes: MAX_RECORD_BYTES },
        Next::Unclosed => Problem::UnclosedQuote,
    };
    Err(Error::Document { place: records.place(), problem })
}

/// Returns the fields of the record as names of columns.
fn names(records: &Records) -> Vec<String> {
    records.fields().map(|name| Names::text_of(name).into_owned()).collect()
}

#[cfg(feature = "parquet")]
fn batches(
    input: Input,
    format: Format,
    columns: ColumnNames<'_>,
    mut collector: Option<&mut Collector<'_>>,
    visit: &mut Visit<'_>,
) -> Result<(), Error> {
    let name = input.name().to_owned();
    // Known only after the file is opened.
    let (are_there, seen) = (RefCell::default(), RefCell::new(None));
    let wrong = |column: &str, expected, kind: &DataType| Error::ColumnType {
        input: name.clone(),
        column: column.to_owned(),
        expected,
        found: kind.to_string(),
    };
    let select = |schema: &SchemaRef| {
        let numbers = select(&Place::whole(&name), &columnar::names(schema), columns)?;
        let mut there: Vec<bool> = numbers.iter().map(Option::is_some).collect();
        let is_plain = |kind: &DataType| {
            let is_binary = columnar::is_bytes(kind) || matches!(kind, DataType::FixedSizeBinary(_));
            columnar::is_text_or_integer(kind) || is_binary
        };
        let mut wanted = Vec::new();
        for column in numbers.into_iter().flatten() {
            let field = schema.field(column);
            if !is_plain(field.data_type()) {
                return Err(wrong(field.name(), "text or integers", field.data_type()));
            }
            wanted.push(Wanted { column, inner: Vec::new() });
        }
        if let Some(column) = columns.ordered {
            let found = columnar::find(schema, column, None);
            there.push(found.is_some());
            if let Some((found, kind)) = found {
                if *kind != DataType::Null && !is_plain(kind) && !is_ordered(kind) {
                    return Err(wrong(column, "text, bytes, a number, a date or a time", kind));
                }
                wanted.push(found);
            }
        }
        are_there.replace(there);
        seen.replace(Some(SchemaRef::clone(schema)));
        Ok(wanted)
    };
    let is_copying = collector.as_ref().is_some_and(|collector| collector.is_copying());
    let batches = Batches::open(input, format, is_copying, &select)?;
    if let (Some(collector), Some(schema)) = (&mut collector, seen.into_inner()) {
        let container = batches.container();
        collector.enter(&name, || Shape::Columns { schema, container })?;
    }
    batches.for_each_row(&mut Rows { name: &name, are_there: &are_there.into_inner(), collector, visit })
}

/// Adds places to rows, and nulls for the columns that are not there.
#[cfg(feature = "parquet")]
struct Rows<'a, 'c, 'v> {
    name: &'a str,
    are_there: &'a [bool],
    collector: Option<&'a mut Collector<'c>>,
    visit: &'a mut Visit<'v>,
}

#[cfg(feature = "parquet")]
impl columnar::Visit for Rows<'_, '_, '_> {
    fn row(&mut self, number: u64, cells: &[Value<'_>]) -> Result<(), Error> {
        let place = Place::at(self.name, Position::Row(number));
        let document = if cells.len() == self.are_there.len() {
            (self.visit)(place, cells)?
        } else {
            let mut there = cells.iter().copied();
            let cell = |&is_there: &bool| if is_there { there.next() } else { None }.unwrap_or(Value::Null);
            (self.visit)(place, &self.are_there.iter().map(cell).collect::<Vec<_>>())?
        };
        match &mut self.collector {
            Some(collector) => collector.pass(Row::OfBatch, document.as_ref()),
            None => Ok(()),
        }
    }

    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.collector {
            Some(collector) => collector.end_batch(batch),
            None => Ok(()),
        }
    }
}

#[cfg(not(feature = "parquet"))]
fn batches(
    input: Input,
    _: Format,
    _: ColumnNames<'_>,
    _: Option<&mut Collector<'_>>,
    _: &mut Visit<'_>,
) -> Result<(), Error> {
    Err(Error::WithoutParquet { input: input.name().to_owned() })
}

/// Returns the numbers of the named columns, and those of the optional ones, as far as there are such columns.
fn select(
    place: &Place,
    names: &[String],
    ColumnNames { named, optional, .. }: ColumnNames<'_>,
) -> Result<Vec<Option<usize>>, Error> {
    let find = |column: &&str| names.iter().position(|name| name == column);
    let number = |column: &&str| {
        find(column).map(Some).ok_or_else(|| Error::MissingColumn {
            place: place.clone(),
            field: None,
            column: (*column).to_owned(),
            columns: names.to_vec(),
        })
    };
    named.iter().map(number).chain(optional.iter().map(|column| Ok(find(column)))).collect()
}
