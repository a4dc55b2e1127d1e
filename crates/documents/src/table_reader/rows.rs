//! Reading named columns row by row.

#[cfg(feature = "parquet")]
use std::cell::RefCell;

#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};

use hamdex::Names;

use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::problem::{Place, Problem};
use crate::table_reader::Value;
#[cfg(feature = "parquet")]
use crate::table_reader::columnar::{self, Batches, Wanted};
use crate::table_reader::csv::{Next, Records};

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
        self.for_each_row_with(format, columns, &[], visit)
    }

    /// Does what [`for_each_row`](Self::for_each_row) does. Behind the cells of the named columns come those of the
    /// `optional` ones, null where the table has no such column.
    ///
    /// # Errors
    /// As [`for_each_row`](Self::for_each_row).
    pub fn for_each_row_with<E: From<Error>>(
        self,
        format: Format,
        columns: &[&str],
        optional: &[&str],
        mut visit: impl FnMut(Place, &[Value<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let columns = (columns, optional);
        let mut stopped = None;
        let mut visit = |place: Place, cells: &[Value<'_>]| {
            visit(place, cells).map_err(|error| {
                stopped = Some(error);
                Error::Stopped
            })
        };
        let outcome = match format {
            Format::Csv => records(self, b',', columns, &mut visit),
            Format::Tsv => records(self, b'\t', columns, &mut visit),
            Format::Parquet | Format::Arrow => batches(self, format, columns, &mut visit),
            _ => Err(Error::NotATable { input: self.name().to_owned(), format }),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(stopped.unwrap_or_else(|| error.into())),
        }
    }
}

impl Input {
    /// Returns the names of the columns of a table (CSV, TSV, Parquet or Arrow); of an empty CSV none.
    ///
    /// # Errors
    /// When the format has no columns, the file has another format or is damaged, or the first record is longer than 64
    /// MiB or has a quote that is not closed.
    pub fn columns(self, format: Format) -> Result<Vec<String>, Error> {
        match format {
            Format::Csv | Format::Tsv => {
                let delimiter = if format == Format::Csv { b',' } else { b'\t' };
                let mut records = Records::new(self, delimiter, None, true, MAX_RECORD_BYTES)?;
                Ok(if has_next(&mut records)? { names(&records) } else { Vec::new() })
            }
            #[cfg(feature = "parquet")]
            Format::Parquet | Format::Arrow => {
                let names = RefCell::default();
                let select = |schema: &SchemaRef| {
                    names.replace(columnar::names(schema));
                    Ok(Vec::new())
                };
                Batches::open(self, format, false, &select)?;
                Ok(names.into_inner())
            }
            #[cfg(not(feature = "parquet"))]
            Format::Parquet | Format::Arrow => Err(Error::WithoutParquet { input: self.name().to_owned() }),
            _ => Err(Error::NotATable { input: self.name().to_owned(), format }),
        }
    }
}

/// The columns that a table must have, and the optional ones.
type Columns<'a> = (&'a [&'a str], &'a [&'a str]);

type Visit<'a> = dyn FnMut(Place, &[Value<'_>]) -> Result<(), Error> + 'a;

fn records(input: Input, delimiter: u8, columns: Columns<'_>, visit: &mut Visit<'_>) -> Result<(), Error> {
    let mut records = Records::new(input, delimiter, None, true, MAX_RECORD_BYTES)?;
    if !has_next(&mut records)? {
        return Ok(());
    }
    let names = names(&records);
    let numbers = select(&records.place(), &names, columns)?;
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
        visit(records.place(), &cells)?;
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
fn batches(input: Input, format: Format, columns: Columns<'_>, visit: &mut Visit<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    let are_there = RefCell::default();
    let select = |schema: &SchemaRef| {
        let numbers = select(&Place::whole(&name), &columnar::names(schema), columns)?;
        are_there.replace(numbers.iter().map(Option::is_some).collect::<Vec<_>>());
        let wanted = numbers.into_iter().flatten().map(|column| {
            let field = schema.field(column);
            let kind = field.data_type();
            let is_binary = columnar::is_bytes(kind) || matches!(kind, DataType::FixedSizeBinary(_));
            if columnar::is_text_or_integer(kind) || is_binary {
                return Ok(Wanted { column, inner: Vec::new() });
            }
            let (column, found) = (field.name().clone(), kind.to_string());
            Err(Error::ColumnType { input: name.clone(), column, expected: "text or integers", found })
        });
        wanted.collect()
    };
    let batches = Batches::open(input, format, false, &select)?;
    batches.for_each_row(&mut Rows { name: &name, are_there: &are_there.into_inner(), visit })
}

/// Adds places to rows, and nulls for the columns that are not there.
#[cfg(feature = "parquet")]
struct Rows<'a, 'v> {
    name: &'a str,
    are_there: &'a [bool],
    visit: &'a mut Visit<'v>,
}

#[cfg(feature = "parquet")]
impl columnar::Visit for Rows<'_, '_> {
    fn row(&mut self, number: u64, cells: &[Value<'_>]) -> Result<(), Error> {
        let place = Place::row(self.name, number);
        if cells.len() == self.are_there.len() {
            return (self.visit)(place, cells);
        }
        let mut there = cells.iter().copied();
        let cell = |&is_there: &bool| if is_there { there.next() } else { None }.unwrap_or(Value::Null);
        (self.visit)(place, &self.are_there.iter().map(cell).collect::<Vec<_>>())
    }
}

#[cfg(not(feature = "parquet"))]
fn batches(input: Input, _: Format, _: Columns<'_>, _: &mut Visit<'_>) -> Result<(), Error> {
    Err(Error::WithoutParquet { input: input.name().to_owned() })
}

/// Returns the numbers of the named columns, and those of the optional ones, as far as there are such columns.
fn select(
    place: &Place,
    names: &[String],
    (columns, optional): Columns<'_>,
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
    columns.iter().map(number).chain(optional.iter().map(|column| Ok(find(column)))).collect()
}
