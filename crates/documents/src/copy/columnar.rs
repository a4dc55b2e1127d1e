//! Rows of Parquet and Arrow files, copied to a Parquet file with the same columns.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use hamdex_atomic_file::AtomicFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::error::Error;
use crate::table_writer::parquet::io_error;

/// Bytes of encoded rows in memory; then a group of rows is written.
const MAX_GROUP_BYTES: usize = 64 << 20;

/// A Parquet file with the columns of another one.
pub(crate) struct Columns {
    writer: ArrowWriter<AtomicFile>,
    schema: SchemaRef,
}

impl Columns {
    pub(crate) fn new(file: AtomicFile, schema: &SchemaRef) -> Result<Self, Error> {
        // Other programs store more about their columns there.
        let mut values: Vec<KeyValue> =
            schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        values.sort_by(|one, other| one.key.cmp(&other.key));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata((!values.is_empty()).then_some(values))
            .build();
        let failed = file.failed();
        let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties))
            .map_err(|error| failed(io_error(error)))?;
        Ok(Self { writer, schema: Arc::clone(schema) })
    }

    /// Writes the wanted rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch, wanted: Vec<bool>) -> Result<(), Error> {
        let filtered = filter_record_batch(batch, &BooleanArray::from(wanted));
        // The columns are the same, but the metadata of the schema may differ from file to file.
        let batch = filtered
            .and_then(|batch| RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec()))
            .map_err(ParquetError::from);
        let written = batch.and_then(|batch| self.writer.write(&batch)).and_then(|()| {
            if self.writer.in_progress_size() > MAX_GROUP_BYTES { self.writer.flush() } else { Ok(()) }
        });
        Ok(written.map_err(|error| self.writer.inner().failed()(io_error(error)))?)
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = self.writer.inner().failed();
        Ok(self.writer.into_inner().map_err(|error| failed(io_error(error)))?.finish()?)
    }
}
