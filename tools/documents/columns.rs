//! Parquet and Arrow files: documents by the names of columns.

use std::fs::File;
use std::io::{self, BufRead, Seek, SeekFrom};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::documents::Document;
use crate::documents::intake::{Intake, Problem};
use crate::failure::Failure;
use crate::input::Source;

/// Rows decoded at a time; as many documents are in memory at once.
const BATCH_ROWS: usize = 1024;

/// What an Arrow file starts with; a stream does not.
const FILE_MAGIC: &[u8] = b"ARROW1";

pub(super) fn read_parquet(
    source: &Source,
    plain: Option<&Path>,
    reader: &mut impl BufRead,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let refused =
        |what: &dyn ToString| source.complaint(format_args!("not a Parquet file: {}", what.to_string()));
    let file = whole(plain, reader).map_err(|error| source.unreadable(&error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| refused(&error))?;
    let names = names(source, builder.schema(), intake)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().flatten().copied());
    let batches = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    let batches = batches.map_err(|error| refused(&error))?;
    read_batches(source, batches, names.map(|name| name.map(str::to_owned)), intake)
}

pub(super) fn read_arrow(
    source: &Source,
    plain: Option<&Path>,
    reader: &mut impl BufRead,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let refused = |error: ArrowError| source.complaint(format_args!("not an Arrow file: {error}"));
    let is_file = reader.fill_buf().map_err(|error| source.unreadable(&error))?.starts_with(FILE_MAGIC);
    if is_file {
        let file = whole(plain, reader).map_err(|error| source.unreadable(&error))?;
        let batches = FileReader::try_new_buffered(file, None).map_err(refused)?;
        let names = names(source, &batches.schema(), intake)?.map(|name| name.map(str::to_owned));
        read_batches(source, batches, names, intake)
    } else {
        let batches = StreamReader::try_new(reader, None).map_err(refused)?;
        let names = names(source, &batches.schema(), intake)?.map(|name| name.map(str::to_owned));
        read_batches(source, batches, names, intake)
    }
}

/// These formats start at their end, so they need a file of their own: a compressed one, or standard
/// input, becomes one first.
fn whole(plain: Option<&Path>, reader: &mut impl BufRead) -> io::Result<File> {
    if let Some(path) = plain {
        return File::open(path);
    }
    let mut file = tempfile::tempfile()?;
    io::copy(reader, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// The columns of id, text and the extra field.
fn names<'n>(
    source: &Source,
    schema: &Schema,
    intake: &'n Intake<'_>,
) -> Result<[Option<&'n str>; 3], Failure> {
    let fields = intake.reading.fields;
    for (name, option) in [(&fields.id_field, "--id-field"), (&fields.text_field, "--text-field")] {
        if schema.column_with_name(name).is_none() {
            let all: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(source.complaint(format_args!(
                "no column is named {name:?} ({option}); there are: {}",
                all.join(", ")
            )));
        }
    }
    let extra = intake.reading.extra.filter(|name| schema.column_with_name(name).is_some());
    Ok([Some(&fields.id_field), Some(&fields.text_field), extra])
}

fn read_batches(
    source: &Source,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    names: [Option<String>; 3],
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let mut row = 0u64;
    for batch in batches {
        let place = format!(" (row {row})");
        let batch =
            batch.map_err(|error| source.complaint_at(place, format_args!("cannot read on: {error}")))?;
        let columns =
            names.each_ref().map(|name| name.as_deref().and_then(|name| batch.column_by_name(name)));
        let mut check = None;
        for column in columns.into_iter().flatten() {
            check = check
                .or_else(|| (!is_text_or_number(column.data_type())).then(|| column.data_type().clone()));
        }
        if let Some(found) = check {
            return Err(
                source.complaint(format_args!("a column of texts or whole numbers is needed; found {found}"))
            );
        }
        for at in 0..batch.num_rows() {
            let place = format!(" (row {row})");
            row += 1;
            let [id, text, extra] = columns.map(|column| column.and_then(|column| cell(column.as_ref(), at)));
            let (Some(id), Some(text)) = (id, text) else {
                intake.skip(source, place, Problem::MissingField, "the id or the text is null")?;
                continue;
            };
            if text.len() as u64 > intake.most_bytes() {
                intake.too_long(source, place, "text")?;
                continue;
            }
            intake.take(Document { id, text, extra, line: None })?;
        }
    }
    Ok(())
}

fn is_text_or_number(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_text_or_number(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind => kind.is_integer(),
    }
}

/// A cell as text; `None` where it is null.
fn cell(column: &dyn Array, at: usize) -> Option<String> {
    if column.is_null(at) {
        return None;
    }
    macro_rules! number {
        ($kind:ty) => {
            column.as_primitive::<$kind>().value(at).to_string()
        };
    }
    Some(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).to_owned(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(at).to_owned(),
        DataType::Utf8View => column.as_string_view().value(at).to_owned(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            return cell(dictionary.values().as_ref(), dictionary.normalized_keys()[at]);
        }
        _ => return None,
    })
}
