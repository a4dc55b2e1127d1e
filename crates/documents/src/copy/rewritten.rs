//! A file of the copy in the format of its input, without some of the rows.

use std::io::{self, Write};

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;

#[cfg(feature = "parquet")]
use crate::copy::columnar::Columns;
use crate::copy::layout::Shape;
use crate::copy::row_sink::Row;
use crate::error::Error;
use crate::input::encoding::Encoded;
use crate::table_writer::sink::Sink;

/// A file of rows.
pub(super) enum Rewritten {
    Text(Text),
    #[cfg(feature = "parquet")]
    Columns(Box<Columns>),
}

/// A file of text, in its encoding.
pub(super) struct Text {
    file: Sink,
    encoded: Encoded,
    /// Whether objects are in an array, and whether there is one already.
    array: Option<bool>,
}

impl Rewritten {
    pub(super) fn new(file: Sink, encoded: Encoded, shape: &Shape) -> Result<Self, Error> {
        #[cfg(feature = "parquet")]
        if let Shape::Columns { schema, container } = shape {
            return Ok(Self::Columns(Box::new(Columns::new(file, *container, schema)?)));
        }
        let array = matches!(shape, Shape::Objects { are_in_array: true }).then_some(false);
        let mut text = Text { file, encoded, array };
        if encoded.has_mark {
            text.write(&["\u{feff}".as_bytes()])?;
        }
        Ok(Self::Text(text))
    }

    /// Writes a row, unless it is part of a batch.
    pub(super) fn write(&mut self, row: Row<'_>) -> Result<(), Error> {
        let text = match self {
            Self::Text(text) => text,
            #[cfg(feature = "parquet")]
            Self::Columns(_) => return Ok(()),
        };
        match (row, &mut text.array) {
            (Row::Object(object), Some(has_one)) => {
                let separator: &[u8] = if std::mem::replace(has_one, true) { b",\n" } else { b"[\n" };
                text.write(&[separator, object.as_bytes()])
            }
            (Row::Object(line) | Row::Line(line), _) => text.write(&[line.as_bytes(), b"\n"]),
            (Row::Record(records), _) => text.write(&[records.raw_record(), records.line_end()]),
            _ => Ok(()),
        }
    }

    /// Writes the wanted rows of a batch.
    #[cfg(feature = "parquet")]
    pub(super) fn write_batch(&mut self, batch: &RecordBatch, wanted: Vec<bool>) -> Result<(), Error> {
        match self {
            Self::Text(_) => Ok(()),
            Self::Columns(columns) => columns.write(batch, wanted),
        }
    }

    /// Completes the file and gives it its name.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self {
            Self::Text(mut text) => {
                match text.array {
                    Some(true) => text.write(&[b"\n]\n"])?,
                    Some(false) => text.write(&[b"[]\n"])?,
                    None => {}
                }
                text.file.finish()
            }
            #[cfg(feature = "parquet")]
            Self::Columns(columns) => columns.finish(),
        }
    }
}

impl Text {
    fn write(&mut self, pieces: &[&[u8]]) -> Result<(), Error> {
        let Self { file, encoded, .. } = self;
        let written: io::Result<()> =
            pieces.iter().try_for_each(|piece| file.write_all(&encoded.encode(piece)?));
        Ok(written.map_err(|error| file.failed()(error))?)
    }
}
