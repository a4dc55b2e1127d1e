//! JSON: an object on each line, an array of objects, or consecutive objects. Only the required fields are kept.
//!
//! - [`values`]: the objects of a file
//! - [`fields`]: the required fields of an object

mod fields;
mod values;

use std::iter;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::copy::layout::Shape;
use crate::copy::row_sink::Row;
use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::parsers::json::values::{Next, Values};
use crate::parsers::lines;
use crate::problem::{Field, Place, Problem};
use crate::read::collector::Collector;
use crate::read::options::Documents;

/// Reads an object on each line.
pub(crate) fn read_lines(input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    collector.enter(input.name(), || Shape::Objects)?;
    let names = names(collector.documents);
    lines::each(input, collector, &mut |line, at, collector| {
        take(line, &names, at.input, at.number, || at.place(), collector)
    })
}

/// Reads the objects of an array, or consecutive objects, on any number of lines.
pub(crate) fn read(mut input: Input, collector: &mut Collector<'_>) -> Result<(), Error> {
    if starts_with_object_line(input.peek()?) {
        return read_lines(input, collector);
    }
    let name = input.name().to_owned();
    collector.enter(&name, || Shape::Objects)?;
    let names = names(collector.documents);
    let mut values = Values::new(collector.max_bytes());
    for number in 1u64.. {
        let place = || Place::object(&name, number);
        match values.next(&mut input).map_err(input.unreadable())? {
            Next::End => break,
            Next::Broken(what) => {
                return Err(Error::Document { place: place(), problem: Problem::BrokenJson { what } });
            }
            Next::TooLong => collector.too_long(place(), "object")?,
            Next::Value(bytes) => {
                let text = collector.text(place, bytes)?;
                take(&text, &names, &name, number, place, collector)?;
            }
        }
    }
    Ok(())
}

/// Returns whether the first line is a whole object; then every line must be one.
fn starts_with_object_line(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    let Some(end) = text.iter().position(|&byte| byte == b'\n') else { return false };
    text.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(&text[..end]).is_ok()
}

/// Returns the names of the fields of the id, of the texts, and of the extra field, if there is one.
fn names(documents: &Documents) -> Vec<&str> {
    let texts = documents.text_fields.iter().map(String::as_str);
    iter::once(documents.id_name()).chain(texts).chain(documents.extra_field.as_deref()).collect()
}

fn take(
    text: &str,
    names: &[&str],
    input: &str,
    number: u64,
    place: impl Fn() -> Place,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    match parse(text, names, collector.documents) {
        Ok(parsed) => {
            let id = parsed.id.unwrap_or_else(|| collector.row_id(input, number));
            let document = Document { id, text: parsed.text, extra: parsed.extra };
            collector.take(document, Row::Object(text), place)
        }
        Err(problem) => collector.skip_row(place(), problem, Row::Object(text)),
    }
}

/// The required fields of a document.
struct Parsed {
    id: Option<String>,
    text: String,
    extra: Option<String>,
}

fn parse(object: &str, names: &[&str], documents: &Documents) -> Result<Parsed, Problem> {
    let malformed = |error: serde_json::Error| Problem::Malformed { what: describe(&error) };
    let mut found = fields::of(object, names).map_err(malformed)?;
    let id = id(found.next().transpose().map_err(malformed)?.flatten(), documents).map_err(malformed)?;
    if id.is_none() && documents.id_field.is_some() {
        return Err(Problem::MissingField { field: Field::Id, name: documents.id_name().to_owned() });
    }
    let text = joined(found.by_ref().take(documents.text_fields.len())).map_err(malformed)?;
    let Some(text) = text else {
        return Err(Problem::MissingField { field: Field::Text, name: documents.text_fields.join(", ") });
    };
    let extra = found.next().transpose().map_err(malformed)?.flatten().filter(|value| value.get() != "null");
    let extra = extra.map(|value| text_of(value).map(|text| text.unwrap_or_else(|| value.get().to_owned())));
    Ok(Parsed { id, text, extra: extra.transpose().map_err(malformed)? })
}

/// Returns the id: a string, or a number as it is written.
fn id(value: Option<&RawValue>, documents: &Documents) -> Result<Option<String>, serde_json::Error> {
    let Some(value) = value else { return Ok(None) };
    if value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Ok(Some(value.get().to_owned()));
    }
    let text = text_of(value)?;
    // An empty id counts only if the caller named the field.
    Ok(text.filter(|text| !text.is_empty() || documents.id_field.is_some()))
}

/// Joins the texts with line ends. `None` if there is no text, or one has another type.
fn joined<'t>(
    texts: impl Iterator<Item = Result<Option<&'t RawValue>, serde_json::Error>>,
) -> Result<Option<String>, serde_json::Error> {
    let mut joined: Option<String> = None;
    for value in texts {
        let Some(value) = value?.filter(|value| value.get() != "null") else { continue };
        let Some(text) = text_of(value)? else { return Ok(None) };
        match &mut joined {
            Some(joined) if !joined.is_empty() && !text.is_empty() => {
                joined.push('\n');
                joined.push_str(&text);
            }
            Some(joined) => joined.push_str(&text),
            None => joined = Some(text),
        }
    }
    Ok(joined)
}

/// Returns the contents of a string; `None` for other values.
fn text_of(value: &RawValue) -> Result<Option<String>, serde_json::Error> {
    if value.get().starts_with('"') { serde_json::from_str(value.get()).map(Some) } else { Ok(None) }
}

/// Returns the parser's message without its line number, which would be relative to the object.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    format!("{what} (column {})", error.column())
}
