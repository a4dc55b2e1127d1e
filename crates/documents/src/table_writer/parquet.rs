//! Tables as Parquet and Arrow files.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use hamdex_atomic_file::AtomicFile;
use parquet::basic::Compression;

use crate::error::Error;
use crate::table_writer::batches::{BatchWriter, Container};
use crate::table_writer::cell::{Cell, Kind};
use crate::table_writer::format::TableFormat;
use crate::table_writer::sink::Sink;

/// The size of a full batch, in rows or bytes of text.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 16 << 20;

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
