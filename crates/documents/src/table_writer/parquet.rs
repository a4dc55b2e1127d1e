//! Tables as Parquet and Arrow files, row by row and batch by batch.

use std::io;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use hamdex_atomic_file::AtomicFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::error::Error;
use crate::table_writer::{Cell, Kind, Sink, TableFormat};

/// The size of a full batch, in rows or bytes of text.
pub(crate) const BATCH_ROWS: usize = 8192;
pub(crate) const BATCH_BYTES: usize = 16 << 20;

pub(crate) struct Rows {
    writer: BatchWriter,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

enum Column {
    Text(StringBuilder),
    Number(UInt64Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
}

impl Rows {
    pub(crate) fn new(
        file: AtomicFile,
        format: TableFormat,
        columns: &[(&str, Kind)],
    ) -> Result<Self, Error> {
        let fields = columns.iter().map(|&(name, kind)| {
            let kind = match kind {
                Kind::Text => DataType::Utf8,
                Kind::Number => DataType::UInt64,
                Kind::Real => DataType::Float64,
                Kind::Flag => DataType::Boolean,
            };
            Field::new(name, kind, false)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let container = Container::of(format, Compression::SNAPPY);
        let writer = BatchWriter::new(Sink::Plain(file), container, &schema)?;
        let columns = columns
            .iter()
            .map(|(_, kind)| match kind {
                Kind::Text => Column::Text(StringBuilder::new()),
                Kind::Number => Column::Number(UInt64Builder::new()),
                Kind::Real => Column::Real(Float64Builder::new()),
                Kind::Flag => Column::Flag(BooleanBuilder::new()),
            })
            .collect();
        Ok(Self { writer, schema, columns, rows: 0, bytes: 0 })
    }

    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Text(builder), Cell::Text(text)) => {
                    self.bytes += text.len();
                    builder.append_value(text);
                }
                (Column::Number(builder), Cell::Number(number)) => builder.append_value(*number),
                (Column::Real(builder), Cell::Real(number)) => builder.append_value(*number),
                (Column::Flag(builder), Cell::Flag(flag)) => builder.append_value(*flag),
                _ => panic!("a cell is not of the kind of its column"),
            }
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Error> {
        let arrays = self.columns.iter_mut().map(|column| match column {
            Column::Text(builder) => Arc::new(builder.finish()) as ArrayRef,
            Column::Number(builder) => Arc::new(builder.finish()) as ArrayRef,
            Column::Real(builder) => Arc::new(builder.finish()) as ArrayRef,
            Column::Flag(builder) => Arc::new(builder.finish()) as ArrayRef,
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect());
        (self.rows, self.bytes) = (0, 0);
        self.writer.write(batch)
    }

    /// Writes the last batch, completes the file and gives it its name.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.write()?;
        self.writer.finish()
    }
}

/// Bytes of encoded rows in memory; then a group of rows is written.
const MAX_GROUP_BYTES: usize = 64 << 20;

/// The format of a file of batches, and its compression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Container {
    Parquet(Compression),
    ArrowFile(Option<CompressionType>),
    ArrowStream(Option<CompressionType>),
}

impl Container {
    /// Returns that of an Arrow file, or else of a Parquet file with this compression.
    pub(crate) fn of(format: TableFormat, compression: Compression) -> Self {
        match format {
            TableFormat::Arrow => Self::ArrowFile(Some(CompressionType::LZ4_FRAME)),
            _ => Self::Parquet(compression),
        }
    }
}

/// A Parquet or Arrow file that is written batch by batch.
pub(crate) enum BatchWriter {
    Parquet(Box<ArrowWriter<Sink>>),
    ArrowFile(Box<FileWriter<Sink>>),
    ArrowStream(Box<StreamWriter<Sink>>),
}

impl BatchWriter {
    /// Starts a file.
    pub(crate) fn new(file: Sink, container: Container, schema: &SchemaRef) -> Result<Self, Error> {
        let failed = file.failed();
        let options = |compression| IpcWriteOptions::default().try_with_compression(compression);
        let compression = match container {
            Container::ArrowFile(compression) => {
                let writer = options(compression)
                    .and_then(|options| FileWriter::try_new_with_options(file, schema, options));
                return Ok(Self::ArrowFile(Box::new(writer.map_err(|error| failed(of_arrow(error)))?)));
            }
            Container::ArrowStream(compression) => {
                let writer = options(compression)
                    .and_then(|options| StreamWriter::try_new_with_options(file, schema, options));
                return Ok(Self::ArrowStream(Box::new(writer.map_err(|error| failed(of_arrow(error)))?)));
            }
            Container::Parquet(compression) => compression,
        };
        // Other programs store more about their columns there.
        let mut values: Vec<KeyValue> =
            schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        values.sort_by(|one, other| one.key.cmp(&other.key));
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_key_value_metadata((!values.is_empty()).then_some(values))
            .build();
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(schema), Some(properties));
        Ok(Self::Parquet(Box::new(writer.map_err(|error| failed(of_parquet(error)))?)))
    }

    /// Writes a batch; `batch` may be an error of making it.
    pub(crate) fn write(&mut self, batch: Result<RecordBatch, ArrowError>) -> Result<(), Error> {
        let written = batch.map_err(of_arrow).and_then(|batch| match self {
            Self::ArrowFile(writer) => writer.write(&batch).map_err(of_arrow),
            Self::ArrowStream(writer) => writer.write(&batch).map_err(of_arrow),
            Self::Parquet(writer) => {
                writer.write(&batch).map_err(of_parquet)?;
                if writer.in_progress_size() > MAX_GROUP_BYTES {
                    writer.flush().map_err(of_parquet)
                } else {
                    Ok(())
                }
            }
        });
        Ok(written.map_err(self.file().failed())?)
    }

    fn file(&self) -> &Sink {
        match self {
            Self::Parquet(writer) => writer.inner(),
            Self::ArrowFile(writer) => writer.get_ref(),
            Self::ArrowStream(writer) => writer.get_ref(),
        }
    }

    /// Completes the file and gives it its name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = self.file().failed();
        let file = match self {
            Self::Parquet(writer) => writer.into_inner().map_err(of_parquet),
            // It completes the file first.
            Self::ArrowFile(writer) => writer.into_inner().map_err(of_arrow),
            Self::ArrowStream(writer) => writer.into_inner().map_err(of_arrow),
        };
        file.map_err(failed)?.finish()
    }
}

/// Returns the I/O error inside a Parquet error, since its kind matters; otherwise wraps the error.
fn of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
