//! The rows of an input as they are stored there, and their receiver.

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

use crate::copy::layout::Shape;
use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::table_reader::csv::Records;

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
