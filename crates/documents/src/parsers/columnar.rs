//! Documents from Parquet and Arrow files: one per row.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};

use crate::copy::union::value::{hexadecimal, is_ordered};
use crate::document::Document;
use crate::error::Error;
use crate::format::Format;
use crate::input::Input;
use crate::parsers::text;
use crate::problem::{Field, Place, Position, Problem, shown_names};
use crate::read::collector::Collector;
use crate::read::options::Documents;
use crate::rows::{Row, Shape};
use crate::table_reader::Value;
use crate::table_reader::columnar::{self, Batches, Visit, Wanted};

/// Reads a Parquet or Arrow file.
pub(crate) fn read(input: Input, format: Format, collector: &mut Collector<'_>) -> Result<(), Error> {
    let name = input.name().to_owned();
    let documents = collector.documents;
    // Known only after the file is opened: the type of the ids, and the columns.
    let (id_kind, seen) = (RefCell::new(None), RefCell::new(None));
    let select = |schema: &SchemaRef| {
        let (id, mut wanted) = select(documents, schema, &name)?;
        seen.replace(Some(Arc::clone(schema)));
        if let Some((id, kind)) = id {
            wanted.insert(0, id);
            id_kind.replace(Some(kind.clone()));
        }
        Ok(wanted)
    };
    let batches = Batches::open(input, format, collector.is_copying(), &select)?;
    if let Some(schema) = seen.into_inner() {
        let container = batches.container();
        if id_kind.borrow().is_none()
            && let Some((_, kind)) = columnar::find(&schema, documents.id_name(), None)
        {
            let (column, found) = (documents.id_name().to_owned(), kind.to_string());
            collector.notify(Place::whole(&name), Problem::OtherIds { column, found });
        }
        collector.enter(&name, || Shape::Columns { schema, container })?;
    }
    batches.for_each_row(&mut Rows { name: &name, id_kind: id_kind.into_inner(), collector })
}

/// Turns rows into documents.
struct Rows<'a, 'i> {
    name: &'a str,
    /// The type of the first cell, if that is an id.
    id_kind: Option<DataType>,
    collector: &'a mut Collector<'i>,
}

impl Visit for Rows<'_, '_> {
    fn row(&mut self, number: u64, cells: &[Value<'_>]) -> Result<(), Error> {
        let Self { name, id_kind, collector } = self;
        let documents = collector.documents;
        let place = || Place::at(name, Position::Row(number));
        let (id, rest) = cells.split_at(usize::from(id_kind.is_some()));
        let (texts, extra) = rest.split_at(documents.text_fields.len());
        let bytes = rest.iter().filter_map(|cell| match cell {
            Value::Bytes(bytes) => Some(*bytes),
            _ => None,
        });
        collector.check(&bytes.collect::<Vec<_>>());
        let id = id.first().zip(id_kind.as_ref()).and_then(|(id, kind)| id_text(id, kind));
        let id = match id.filter(|id| !id.is_empty() || documents.id_field.is_some()) {
            Some(id) => id.into_owned(),
            None if documents.id_field.is_some() => {
                return collector.skip_row(place(), Problem::Null, Row::OfBatch);
            }
            None => collector.row_id(name, number),
        };
        let Some(text) = joined(texts) else {
            return collector.skip_row(place(), Problem::Null, Row::OfBatch);
        };
        let max_bytes = collector.max_bytes();
        if text.len() as u64 > max_bytes {
            return collector.skip_row(place(), Problem::TooLong { what: "text", max_bytes }, Row::OfBatch);
        }
        let mut document = Document::new(id, text);
        document.extra = extra.first().and_then(text_of).map(Cow::into_owned);
        collector.take(document, Row::OfBatch, place)
    }

    fn end_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.collector.end_batch(batch)
    }
}

/// Returns a cell as text; in bytes, invalid UTF-8 is replaced.
fn text_of<'c>(cell: &Value<'c>) -> Option<Cow<'c, str>> {
    match cell {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        cell => cell.to_text(),
    }
}

/// Returns the text of an id: bytes of a fixed number and bytes that are not UTF-8 as hexadecimal digits, 16 of them as a
/// UUID; fractions without a fraction as integers, as tables with missing ids have them.
fn id_text<'c>(cell: &Value<'c>, kind: &DataType) -> Option<Cow<'c, str>> {
    match (cell, kind) {
        (Value::Bytes(bytes), kind) => match str::from_utf8(bytes) {
            Ok(text) if !matches!(kind, DataType::FixedSizeBinary(_)) => Some(Cow::Borrowed(text)),
            _ => Some(Cow::Owned(identifier(bytes))),
        },
        (Value::Text(number), DataType::Float16 | DataType::Float32 | DataType::Float64) => {
            number.parse::<f64>().ok().map(|number| Cow::Owned(number.to_string()))
        }
        (Value::Text(number), DataType::Boolean) => {
            Some(Cow::Borrowed(if *number == "0" { "false" } else { "true" }))
        }
        (cell, _) => cell.to_text(),
    }
}

fn identifier(bytes: &[u8]) -> String {
    let mut digits = hexadecimal(bytes);
    if bytes.len() == 16 {
        [8, 13, 18, 23].into_iter().for_each(|at| digits.insert(at, '-'));
    }
    digits
}

/// Joins the non-empty texts with line ends; `None` if all are null.
fn joined(texts: &[Value<'_>]) -> Option<String> {
    let mut joined: Option<String> = None;
    texts.iter().filter_map(text_of).for_each(|text| text::append(&mut joined, text));
    joined
}

fn is_text(kind: &DataType) -> bool {
    // A column whose rows are all null can have a type of its own.
    *kind == DataType::Null
        || columnar::is_text(kind)
        || columnar::is_bytes(kind)
        || columnar::is_list_of_texts(kind)
}

fn is_id(kind: &DataType) -> bool {
    let is_other = matches!(
        kind,
        DataType::Null
            | DataType::Boolean
            | DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::FixedSizeBinary(_)
    );
    is_other || columnar::is_text_or_integer(kind) || columnar::is_bytes(kind)
}

/// The column of the id with its type, and the other columns.
type Selected<'s> = (Option<(Wanted, &'s DataType)>, Vec<Wanted>);

/// Selects the column of the id, if there is one, with its type, and the columns of the texts and the extra field.
fn select<'s>(documents: &Documents, schema: &'s Schema, input: &str) -> Result<Selected<'s>, Error> {
    let missing = |field, name: &str| Error::MissingColumn {
        place: Place::whole(input),
        field: Some(field),
        column: name.to_owned(),
        columns: shown_names(&columnar::names(schema)),
    };
    let wrong = |name: &str, expected, kind: &DataType| Error::ColumnType {
        input: input.to_owned(),
        column: name.to_owned(),
        expected,
        found: kind.to_string(),
    };
    let (id_name, is_named) = (documents.id_name(), documents.id_field.is_some());
    let id = match columnar::find(schema, id_name, None) {
        Some((id, kind)) if is_id(kind) => Some((id, kind)),
        Some((_, kind)) if is_named => {
            return Err(wrong(id_name, "text, bytes, numbers or truth values", kind));
        }
        None if is_named => return Err(missing(Field::Id, id_name)),
        _ => None,
    };
    let mut wanted = Vec::new();
    for name in &documents.text_fields {
        match columnar::find(schema, name, documents.join.as_deref()) {
            Some((text, kind)) if is_text(kind) => wanted.push(text),
            Some((_, kind)) => return Err(wrong(name, "text, bytes or lists of texts", kind)),
            None => return Err(missing(Field::Text, name)),
        }
    }
    if let Some(name) = &documents.extra_field
        && let Some((extra, kind)) = columnar::find(schema, name, None)
    {
        if !is_id(kind) && !is_ordered(kind) {
            return Err(wrong(name, "text, bytes, a number, a date or a time", kind));
        }
        wanted.push(extra);
    }
    Ok((id, wanted))
}
