//! Parquet and Arrow files, read in batches of rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::Error;
use crate::format::{self, Format};
use crate::input::Input;
use crate::problem::Place;
use crate::table::value::Value;

/// Rows decoded, and kept in memory, at a time.
const BATCH_ROWS: usize = 1024;

/// Chooses columns by their names; returns their numbers.
pub(crate) type Select<'a> = dyn Fn(&[String]) -> Result<Vec<usize>, Error> + 'a;

/// Receives the number of a row, and its cells.
type Visit<'a> = dyn FnMut(u64, &[Value<'_>]) -> Result<(), Error> + 'a;

/// The batches of a file, and the names of the chosen columns.
pub(crate) struct Batches {
    input: String,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
    names: Vec<String>,
}

impl Batches {
    pub(crate) fn open(
        mut input: Input,
        format: Format,
        allowed: Allowed,
        select: &Select<'_>,
    ) -> Result<Self, Error> {
        let name = input.name().to_owned();
        if format == Format::Parquet {
            return Self::open_parquet(name, input, allowed, select);
        }
        let refused = |error: ArrowError| refused(&name, Format::Arrow, error);
        if format::is_arrow_file(input.peek()?) {
            let batches = FileReader::try_new_buffered(input.into_file()?, None).map_err(refused)?;
            let schema = batches.schema();
            let columns = select(&names(&schema))?;
            Self::checked(name, &schema, Box::new(batches), allowed, &columns)
        } else {
            let batches = StreamReader::try_new(input, None).map_err(refused)?;
            let schema = batches.schema();
            let columns = select(&names(&schema))?;
            Self::checked(name, &schema, Box::new(batches), allowed, &columns)
        }
    }

    fn open_parquet(
        name: String,
        input: Input,
        allowed: Allowed,
        select: &Select<'_>,
    ) -> Result<Self, Error> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(input.into_file()?)
            .map_err(|error| refused(&name, Format::Parquet, error))?;
        let schema = builder.schema().clone();
        let columns = select(&names(&schema))?;
        // By number: a name with a dot would be taken for a path into a nested column.
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let batches = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
        let batches = batches.map_err(|error| refused(&name, Format::Parquet, error))?;
        Self::checked(name, &schema, Box::new(batches), allowed, &columns)
    }

    fn checked(
        input: String,
        schema: &Schema,
        batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>,
        allowed: Allowed,
        columns: &[usize],
    ) -> Result<Self, Error> {
        let mut names = Vec::with_capacity(columns.len());
        for &column in columns {
            let field = schema.field(column);
            if !allowed.includes(field.data_type()) {
                let (column, found) = (field.name().clone(), field.data_type().to_string());
                return Err(Error::ColumnType { input, column, found });
            }
            names.push(field.name().clone());
        }
        Ok(Self { input, batches, names })
    }

    /// Calls `visit` with the number of every row, and its cells in the order of the chosen columns.
    pub(crate) fn for_each_row(self, visit: &mut Visit<'_>) -> Result<(), Error> {
        let mut number = 0u64;
        for batch in self.batches {
            let batch = batch.map_err(|error| Error::Damaged {
                place: Place::row(&self.input, number),
                source: Box::new(error),
            })?;
            let columns: Vec<Column<'_>> = self
                .names
                .iter()
                .filter_map(|name| batch.column_by_name(name))
                .map(|column| Column::new(column.as_ref()))
                .collect();
            let mut cells = Vec::with_capacity(columns.len());
            for row in 0..batch.num_rows() {
                cells.clear();
                cells.extend(columns.iter().map(|column| column.value(row)));
                visit(number, &cells)?;
                number += 1;
            }
        }
        Ok(())
    }
}

fn refused(input: &str, format: Format, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::NotFormat { input: input.to_owned(), format, source: Box::new(error) }
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// What columns may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    TextsAndNumbers,
    /// These, and bytes of a fixed number per row.
    BytesToo,
}

impl Allowed {
    fn includes(self, kind: &DataType) -> bool {
        match kind {
            DataType::Dictionary(_, values) => self.includes(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
            DataType::FixedSizeBinary(_) => self == Self::BytesToo,
            kind => kind.is_integer(),
        }
    }
}

/// A column of a batch; for a dictionary also its values, and the number of each row's value.
struct Column<'b> {
    array: &'b dyn Array,
    dictionary: Option<(Box<Column<'b>>, Vec<usize>)>,
}

impl<'b> Column<'b> {
    fn new(array: &'b dyn Array) -> Self {
        let dictionary = array.as_any_dictionary_opt().map(|dictionary| {
            let values = dictionary.values().as_ref();
            // Without values all rows are null, and there are no keys to normalise.
            let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            (Box::new(Column::new(values)), keys)
        });
        Self { array, dictionary }
    }

    fn value(&self, row: usize) -> Value<'b> {
        if self.array.is_null(row) {
            return Value::Null;
        }
        if let Some((values, keys)) = &self.dictionary {
            return values.value(keys[row]);
        }
        macro_rules! signed {
            ($kind:ty) => {
                Value::Signed(self.array.as_primitive::<$kind>().value(row).into())
            };
        }
        macro_rules! unsigned {
            ($kind:ty) => {
                Value::Unsigned(self.array.as_primitive::<$kind>().value(row).into())
            };
        }
        match self.array.data_type() {
            DataType::Utf8 => Value::Text(self.array.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Value::Text(self.array.as_string::<i64>().value(row)),
            DataType::Utf8View => Value::Text(self.array.as_string_view().value(row)),
            DataType::FixedSizeBinary(_) => Value::Bytes(self.array.as_fixed_size_binary().value(row)),
            DataType::Int8 => signed!(Int8Type),
            DataType::Int16 => signed!(Int16Type),
            DataType::Int32 => signed!(Int32Type),
            DataType::Int64 => signed!(Int64Type),
            DataType::UInt8 => unsigned!(UInt8Type),
            DataType::UInt16 => unsigned!(UInt16Type),
            DataType::UInt32 => unsigned!(UInt32Type),
            DataType::UInt64 => unsigned!(UInt64Type),
            _ => Value::Null,
        }
    }
}
