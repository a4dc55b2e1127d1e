//! Tables as Parquet files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use hamdex_atomic_file::AtomicFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::failure::Failure;
use crate::rows::{Cell, Columns, Kind};

/// Rows, and bytes of text, kept before they are written.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;

pub(crate) struct Rows {
    path: PathBuf,
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

enum Column {
    Text(StringBuilder),
    Number(UInt64Builder),
    Flag(BooleanBuilder),
}

impl Rows {
    pub(crate) fn create(file: AtomicFile, columns: &Columns<'_>) -> Result<Self, Failure> {
        let fields = columns.iter().map(|&(name, kind)| {
            let kind = match kind {
                Kind::Text => DataType::Utf8,
                Kind::Number => DataType::UInt64,
                Kind::Flag => DataType::Boolean,
            };
            Field::new(name, kind, false)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let path = file.path().to_owned();
        let writer =
            ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(failed(&path))?;
        let columns = columns
            .iter()
            .map(|(_, kind)| match kind {
                Kind::Text => Column::Text(StringBuilder::new()),
                Kind::Number => Column::Number(UInt64Builder::new()),
                Kind::Flag => Column::Flag(BooleanBuilder::new()),
            })
            .collect();
        Ok(Self { path, writer, schema, columns, rows: 0, bytes: 0 })
    }

    pub(crate) fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), Failure> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Text(builder), Cell::Text(text)) => {
                    self.bytes += text.len();
                    builder.append_value(text);
                }
                (Column::Number(builder), Cell::Number(number)) => builder.append_value(*number),
                (Column::Flag(builder), Cell::Flag(flag)) => builder.append_value(*flag),
                _ => unreachable!("cells are as their columns were named"),
            }
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Failure> {
        let arrays = self.columns.iter_mut().map(|column| match column {
            Column::Text(builder) => Arc::new(builder.finish()) as ArrayRef,
            Column::Number(builder) => Arc::new(builder.finish()) as ArrayRef,
            Column::Flag(builder) => Arc::new(builder.finish()) as ArrayRef,
        });
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect())
            .map_err(|error| failed(&self.path)(error.into()))?;
        (self.rows, self.bytes) = (0, 0);
        self.writer.write(&batch).map_err(failed(&self.path))
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.write()?;
        Ok(self.writer.into_inner().map_err(failed(&self.path))?.finish()?)
    }
}

fn failed(path: &Path) -> impl FnOnce(ParquetError) -> Failure + use<> {
    let failed = super::failed(path);
    move |error| failed(std::io::Error::other(error))
}
