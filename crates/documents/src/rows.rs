//! The rows of inputs as they are stored, and their columns.

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::SchemaRef;

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::table_reader::csv::Records;
use crate::table_reader::quoting::Quoting;
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
