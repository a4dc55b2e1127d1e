//! A row as it is in its input.

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

use crate::copy::layout::Shape;
use crate::document::Document;
use crate::error::Error;
use crate::table_reader::csv::Records;

/// A row as it is in its input.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    /// An object of JSON.
    Object(&'a str),
    /// A record of CSV or TSV.
    Record(&'a Records),
    /// A row of the current batch of Parquet or Arrow.
    #[cfg(feature = "parquet")]
    OfBatch,
    /// A line or file of text, which has nothing besides its id and text.
    Text,
}

/// Receives all rows of all inputs.
pub(crate) trait RowSink {
    /// An input with these columns follows.
    fn enter(&mut self, shape: Shape);

    /// Takes a row; without a document it could not be read as one, and is nobody's duplicate.
    fn take(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<(), Error>;

    /// Counts a row that is not in memory.
    fn leave_out(&mut self);

    /// Ends a batch, all rows of which were taken.
    #[cfg(feature = "parquet")]
    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error>;
}
