//! Rows of Parquet and Arrow files, copied to a file with the same columns.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;

use crate::error::Error;
use crate::table_writer::batches::{BatchWriter, Container};
use crate::table_writer::sink::Sink;

/// A Parquet or Arrow file with the columns of another one.
pub(crate) struct Columns {
    writer: BatchWriter,
    schema: SchemaRef,
}

impl Columns {
    pub(crate) fn new(file: Sink, container: Container, schema: &SchemaRef) -> Result<Self, Error> {
        Ok(Self { writer: BatchWriter::new(file, container, schema)?, schema: Arc::clone(schema) })
    }

    /// Writes the wanted rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch, wanted: Vec<bool>) -> Result<(), Error> {
        let filtered = filter_record_batch(batch, &BooleanArray::from(wanted));
        // The columns are the same, but the metadata of the schema may differ from file to file.
        let batch = filtered
            .and_then(|batch| RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec()));
        self.writer.write(batch)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        self.writer.finish()
    }
}
