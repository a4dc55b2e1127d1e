//! The columns and rows of the inputs, and the columns of the output that has room for all of them.

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::{DataType, SchemaRef};
#[cfg(feature = "parquet")]
use parquet::basic::Compression;

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::table_reader::csv::Records;
use crate::table_reader::quoting::Quoting;
use crate::table_writer::TableFormat;
#[cfg(feature = "parquet")]
use crate::table_writer::parquet::Container;

/// The columns of an input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Objects with any fields, in an array or one after the other.
    Objects { are_in_array: bool },
    /// Objects in lists within others.
    Items,
    /// Records with this delimiter and quoting, and with column names if the input has them.
    Records { names: Option<Vec<String>>, delimiter: u8, quoting: Quoting },
    /// Columns with types, and their container.
    #[cfg(feature = "parquet")]
    Columns { schema: SchemaRef, container: Container },
    /// A text on each line.
    Lines,
    /// The file is one text.
    Whole,
    /// Messages of mail or responses of the web.
    Parts,
}

/// The columns of the output.
#[derive(Debug, Clone)]
pub(crate) enum Layout {
    /// An object per line, each with the fields of its row.
    Objects,
    /// The fields of records.
    Records { names: Option<Vec<String>>, delimiter: u8, quoting: Quoting },
    /// The fields of records as columns of text in a Parquet or Arrow file.
    Cells { names: Vec<String>, format: TableFormat },
    /// The same columns with the same types.
    #[cfg(feature = "parquet")]
    Columns { schema: SchemaRef, compression: Compression, format: TableFormat },
    /// The columns of all inputs as records.
    Table { names: Vec<String>, delimiter: u8 },
    /// The columns of all inputs with types.
    #[cfg(feature = "parquet")]
    Union { schema: SchemaRef, compression: Compression, format: TableFormat },
    /// Ids and texts in a table of this format.
    IdsAndTexts(TableFormat),
}

/// Returns whether a type has a dictionary, which an Arrow file holds once and not for each batch.
#[cfg(feature = "parquet")]
pub(crate) fn has_dictionary(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(..) => true,
        DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::Map(inner, _) => has_dictionary(inner.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        _ => false,
    }
}

/// Returns the output format closest to an input; `None` if that is a binary format.
pub(crate) fn own_format(shape: &Shape) -> Option<TableFormat> {
    match shape {
        Shape::Records { delimiter: b'\t', .. } => Some(TableFormat::Tsv),
        Shape::Records { .. } => Some(TableFormat::Csv),
        #[cfg(feature = "parquet")]
        Shape::Columns { .. } => None,
        _ => Some(TableFormat::Jsonl),
    }
}

/// Returns the columns of an output of this format for an input with these columns.
pub(crate) fn layout(format: TableFormat, shape: &Shape) -> Layout {
    match (format, shape) {
        (TableFormat::Jsonl, _) => Layout::Objects,
        (TableFormat::Csv | TableFormat::Tsv, Shape::Records { names, delimiter, quoting }) => {
            let is_tab = format == TableFormat::Tsv;
            // A semicolon stays one, and is recognised again.
            let own = if is_tab { b'\t' } else { *delimiter };
            let own = if !is_tab && own == b'\t' { b',' } else { own };
            let quoting = if own == *delimiter { *quoting } else { Quoting::Csv };
            Layout::Records { names: names.clone(), delimiter: own, quoting }
        }
        (TableFormat::Parquet | TableFormat::Arrow, Shape::Records { names: Some(names), .. }) => {
            Layout::Cells { names: names.clone(), format }
        }
        #[cfg(feature = "parquet")]
        (TableFormat::Parquet | TableFormat::Arrow, Shape::Columns { schema, container }) => {
            let compression = match container {
                Container::Parquet(compression) => *compression,
                _ => Compression::SNAPPY,
            };
            Layout::Columns { schema: SchemaRef::clone(schema), compression, format }
        }
        (format, _) => Layout::IdsAndTexts(format),
    }
}

/// Returns whether the rows of two inputs fit into one table.
pub(crate) fn are_alike(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Records { names: one, .. }, Shape::Records { names: other, .. }) => one == other,
        #[cfg(feature = "parquet")]
        (Shape::Columns { schema: one, .. }, Shape::Columns { schema: other, .. }) => {
            let columns = |schema: &SchemaRef| -> Vec<(String, DataType, bool)> {
                let column = |field: &std::sync::Arc<arrow_schema::Field>| {
                    (field.name().clone(), field.data_type().clone(), field.is_nullable())
                };
                schema.fields().iter().map(column).collect()
            };
            columns(one) == columns(other)
        }
        (one, other) => one == other,
    }
}

/// A row as it is stored in its input.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    /// An object of JSON.
    Object(&'a str),
    /// A record of CSV or TSV.
    Record(&'a Records),
    /// A row of the current batch of Parquet or Arrow.
    #[cfg(feature = "parquet")]
    OfBatch,
    /// A line with a text.
    Line(&'a str),
    /// A file of text, or a part of one, which has only an id and a text.
    Text,
}

/// Receives all rows of all inputs.
pub(crate) trait RowSink {
    /// Starts an input.
    fn begin(&mut self, _: &Input) -> Result<(), Error> {
        Ok(())
    }

    /// Starts the rows of an input with these columns.
    fn enter(&mut self, shape: Shape) -> Result<(), Error>;

    /// Takes the record that names the columns.
    fn header(&mut self, _: &Records) -> Result<(), Error> {
        Ok(())
    }

    /// Takes a row. Without a document, the row could not be read as one and never counts as a duplicate.
    fn take(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<(), Error>;

    /// Counts a row that is not in memory.
    fn leave_out(&mut self);

    /// Counts files that are not read.
    fn pass_over(&mut self, _files: u64) {}

    /// Ends a batch after all its rows were taken.
    #[cfg(feature = "parquet")]
    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error>;
}
