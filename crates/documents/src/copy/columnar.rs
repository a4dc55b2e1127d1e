//! Parquet and Arrow files of copied rows: with the columns of the inputs, or with all columns of inputs that differ.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;

use crate::copy::union::cast::{Unfit, build, cast};
use crate::copy::union::cells::{Places, Raw, distinct};
use crate::copy::union::kinds;
use crate::copy::union::value::Value;
use crate::document::Document;
use crate::error::{CopyErrorKind, Error};
use crate::problem::shown;
use crate::rows::Row;
use crate::table_reader::columnar::{is_text, names};
use crate::table_writer::Sink;
use crate::table_writer::parquet::{BATCH_BYTES, BATCH_ROWS, BatchWriter, Container};

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

/// A file with all columns of the inputs, each with a type that takes the values of all.
pub(crate) struct Typed {
    writer: BatchWriter,
    schema: SchemaRef,
    pub(crate) places: Places,
    /// The current input.
    input: String,
    /// Rows that are not written yet, by columns.
    pending: Vec<Vec<Value>>,
    rows: usize,
    bytes: usize,
}

impl Typed {
    pub(crate) fn new(
        file: Sink,
        container: Container,
        schema: &SchemaRef,
        fields: [&str; 2],
    ) -> Result<Self, Error> {
        let places = Places::new(schema.fields().iter().map(|field| field.name().as_str()), fields);
        Ok(Self {
            writer: BatchWriter::new(file, container, schema)?,
            pending: vec![Vec::new(); schema.fields().len()],
            schema: SchemaRef::clone(schema),
            places,
            input: String::new(),
            rows: 0,
            bytes: 0,
        })
    }

    /// Starts an input.
    pub(crate) fn begin(&mut self, input: &str) -> Result<(), Error> {
        self.write_pending()?;
        input.clone_into(&mut self.input);
        Ok(())
    }

    /// Writes a row of an input that is text. Returns whether it has a place in the table.
    pub(crate) fn write(&mut self, row: Row<'_>, document: Option<&Document>) -> Result<bool, Error> {
        let Self { pending, places, schema, rows, bytes, .. } = self;
        pending.iter_mut().for_each(|column| column.push(Value::Null));
        let has_place = places.each(row, document, |at, cell| {
            let value = match cell {
                Raw::Text(text) => {
                    *bytes += text.len();
                    Value::Text(String::from_utf8_lossy(&text).into_owned())
                }
                Raw::Json(value) => {
                    *bytes += value.get().len();
                    match is_text(schema.field(at).data_type()) {
                        true => Value::text_of_json(value),
                        false => Value::of_json(value),
                    }
                }
            };
            pending[at][*rows] = value;
        });
        if !has_place {
            pending.iter_mut().for_each(|column| drop(column.pop()));
            return Ok(false);
        }
        *rows += 1;
        if *rows >= BATCH_ROWS || *bytes >= BATCH_BYTES {
            self.write_pending()?;
        }
        Ok(true)
    }

    /// Writes the wanted rows of a batch.
    pub(crate) fn write_batch(&mut self, batch: &RecordBatch, wanted: Vec<bool>) -> Result<(), Error> {
        self.write_pending()?;
        let batch = match filter_record_batch(batch, &BooleanArray::from(wanted)) {
            Ok(batch) => batch,
            error => return self.writer.write(error),
        };
        let own: HashMap<String, usize> =
            distinct(names(&batch.schema())).into_iter().enumerate().map(|(at, name)| (name, at)).collect();
        let column = |name: &str, kind: &DataType| match own.get(name) {
            Some(&at) => cast(batch.column(at), kind),
            None => Ok(new_null_array(kind, batch.num_rows())),
        };
        let schema = SchemaRef::clone(&self.schema);
        let columns = schema.fields().iter().map(|field| (field, column(field.name(), field.data_type())));
        self.write_columns(columns)
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        let columns: Vec<Vec<Value>> = self.pending.iter_mut().map(std::mem::take).collect();
        let schema = SchemaRef::clone(&self.schema);
        let columns = columns.into_iter().zip(schema.fields());
        self.write_columns(columns.map(|(values, field)| (field, build(values, field.data_type()))))
    }

    fn write_columns<'f>(
        &mut self,
        columns: impl Iterator<Item = (&'f arrow_schema::FieldRef, Result<ArrayRef, Unfit>)>,
    ) -> Result<(), Error> {
        let mut all = Vec::new();
        for (field, column) in columns {
            all.push(match column {
                Ok(column) => column,
                Err(Unfit::Other(error)) => return self.writer.write(Err(error)),
                Err(Unfit::Value(value)) => {
                    let (value, kind) = (shown(&value), kinds::name(field.data_type()));
                    let what = format!(
                        "the value {value} of the column {:?} does not fit into {kind}, its type in one table of all \
                         inputs",
                        field.name()
                    );
                    return Err(Error::copy(CopyErrorKind::Value, &self.input, what));
                }
            });
        }
        self.writer.write(RecordBatch::try_new(SchemaRef::clone(&self.schema), all))
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.write_pending()?;
        self.writer.finish()
    }
}
