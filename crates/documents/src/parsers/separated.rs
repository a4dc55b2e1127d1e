//! Documents from comma- or tab-separated values: one per record.

use std::borrow::Cow;

use crate::document::Document;
use crate::error::Error;
use crate::input::Input;
use crate::problem::{Action, Field, Place, Problem, shown_names};
use crate::read::collector::Collector;
use crate::read::options::Documents;
use crate::rows::{Row, Shape};
use crate::table_reader::csv::{Next, Records};

/// A record with more lines may have swallowed others, behind a quote that is not meant as one. Most texts have fewer
/// paragraphs.
const MANY_LINES: u64 = 50;

/// The numbers of the columns of a document.
struct Columns {
    id: Option<usize>,
    texts: Vec<usize>,
    extra: Option<usize>,
    /// Number of columns: of names, or of fields of the first record if there are no names.
    count: Option<usize>,
}

/// Reads records. The first record names the columns, unless the columns are given by number.
pub(crate) fn read(input: Input, delimiter: u8, collector: &mut Collector<'_>) -> Result<(), Error> {
    let documents = collector.documents;
    let mut records =
        Records::new(input, delimiter, documents.quoting, documents.format.is_some(), collector.max_bytes())?;
    let quoting = records.quoting();
    if let Some(decision) = records.take_decision() {
        collector.notify(Place::whole(records.input()), decision);
    }
    let mut columns = None;
    if !documents.has_header {
        columns = Some(numbered(documents)?);
        collector.enter(records.input(), || Shape::Records { names: None, delimiter, quoting })?;
    }
    loop {
        let next = records.next()?;
        if matches!(next, Next::Record) && records.has_stray_quote() {
            collector.report(records.place(), Problem::StrayQuote, Action::Read)?;
        }
        match (next, &mut columns) {
            (Next::End, _) => return Ok(()),
            (Next::Unclosed, _) => {
                return Err(Error::Document { place: records.place(), problem: Problem::UnclosedQuote });
            }
            (Next::TooLong(_), None) => {
                let problem = Problem::TooLong { what: "record of names", max_bytes: collector.max_bytes() };
                return Err(Error::Document { place: records.place(), problem });
            }
            (Next::TooLong(what), Some(_)) => collector.too_long(records.place(), what)?,
            (Next::Record, None) => {
                let names = names(&records);
                columns = Some(named(documents, &names, &records)?);
                collector.enter(records.input(), || Shape::Records {
                    names: Some(names),
                    delimiter,
                    quoting,
                })?;
                collector.header(&records)?;
            }
            (Next::Record, Some(columns)) => {
                let lines = records.lines();
                if lines > MANY_LINES {
                    collector.notify(records.place(), Problem::ManyLines { lines });
                }
                let count = *columns.count.get_or_insert_with(|| records.fields().count());
                take(&records, columns, count, collector)?;
            }
        }
    }
}

fn take(
    records: &Records,
    columns: &Columns,
    count: usize,
    collector: &mut Collector<'_>,
) -> Result<(), Error> {
    if let Some(found) = records.excess(count) {
        let problem = Problem::LongRecord { found, names: count };
        return collector.skip_row(records.place(), problem, Row::Record(records));
    }
    let texts: Vec<&[u8]> = columns.texts.iter().filter_map(|&column| records.field(column)).collect();
    let id = columns.id.map(|column| records.field(column));
    if id == Some(None) || texts.len() < columns.texts.len() {
        let problem = Problem::ShortRecord { found: records.fields().count() };
        return collector.skip_row(records.place(), problem, Row::Record(records));
    }
    let id = id.flatten();
    // All fields are checked together, so invalid UTF-8 is reported once.
    let pieces: Vec<&[u8]> = id.iter().chain(&texts).copied().collect();
    if collector.converts_records() {
        collector.check(&records.fields().collect::<Vec<_>>());
    } else {
        collector.check(&pieces);
    }
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // An empty id counts only if the caller named the field.
    let is_named = collector.documents.id_field.is_some();
    let id = match id.filter(|id| is_named || !id.is_empty()) {
        Some(id) => owned(id),
        None => {
            collector.row_id(records.input(), records.number() - u64::from(collector.documents.has_header))
        }
    };
    let mut document = Document::new(id, joined(&texts));
    document.extra = columns.extra.and_then(|column| records.field(column)).map(owned);
    collector.take(document, Row::Record(records), || records.place())
}

/// Joins the non-empty texts with line ends.
fn joined(texts: &[&[u8]]) -> String {
    let texts: Vec<Cow<'_, str>> =
        texts.iter().filter(|text| !text.is_empty()).map(|text| String::from_utf8_lossy(text)).collect();
    texts.join("\n")
}

fn names(records: &Records) -> Vec<String> {
    records.fields().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Finds columns by name in the first record.
fn named(documents: &Documents, names: &[String], records: &Records) -> Result<Columns, Error> {
    let find = |name: &str| names.iter().position(|each| each == name);
    let missing = |field, name: &str| Error::MissingColumn {
        place: records.place(),
        field: Some(field),
        column: name.to_owned(),
        columns: shown_names(names),
    };
    let id = find(documents.id_name());
    if id.is_none() && documents.id_field.is_some() {
        return Err(missing(Field::Id, documents.id_name()));
    }
    let text = |name: &String| find(name).ok_or_else(|| missing(Field::Text, name));
    Ok(Columns {
        id,
        texts: documents.text_fields.iter().map(text).collect::<Result<_, _>>()?,
        extra: documents.extra_field.as_deref().and_then(find),
        count: Some(names.len()),
    })
}

/// Parses the numbers of columns, counted from 1.
fn numbered(documents: &Documents) -> Result<Columns, Error> {
    let number = |name: &str| match name.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => Err(Error::option(
            "columns without a header",
            format!("{name:?} is not the number of a column, counted from 1"),
        )),
    };
    Ok(Columns {
        id: documents.id_field.as_deref().map(number).transpose()?,
        texts: documents.text_fields.iter().map(|name| number(name)).collect::<Result<_, _>>()?,
        extra: documents.extra_field.as_deref().map(number).transpose()?,
        count: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_texts_leave_no_empty_lines() {
        assert_eq!(joined(&[b"one", b"", b"two"]), "one\ntwo");
        assert_eq!(joined(&[b"", b""]), "");
    }

    #[test]
    fn columns_without_names_are_numbers() {
        let documents = Documents::from_paths(["-"]).header(false);
        assert!(numbered(&documents).is_err(), "text is no number");
        let columns = numbered(&documents.clone().text_fields(["3", "1"])).unwrap();
        assert_eq!((columns.id, columns.texts), (None, vec![2, 0]));
        assert!(numbered(&documents.text_field("0")).is_err());
    }
}
