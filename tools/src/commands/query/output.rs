//! Writes matches as lines of text or JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use hamdex::{Fingerprint, Match, Names};
use hamdex_documents::tables::{Cell, Kind};
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::names;
use crate::table_output::{TableOutput, id_kind};

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    query: String,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

/// A match in a line of `--each --json`.
#[derive(Serialize)]
struct Near<'a> {
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

/// A line of `--each --json`.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
    matches: Vec<Near<'a>>,
}

/// Writes one line with all matches of a query, also if there are none. `ids` has those of each match, or nothing.
pub(super) fn print_each<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    (query, document): (F, Option<&[u8]>),
    matches: &[Match<F>],
    ids: Vec<Ids<'_>>,
) -> Result<(), Failure> {
    let mut ids = ids.into_iter();
    if json {
        let near = |found: &Match<F>| {
            let ids = ids.next();
            Near {
                fingerprint: found.fingerprint.hex().to_string(),
                distance: found.distance,
                ids_count: ids.as_ref().and_then(Ids::count),
                ids,
            }
        };
        let matches = matches.iter().map(near).collect();
        let query = Some(query.hex().to_string());
        let document = document.map(Names::text_of);
        return line_of_json(output, &Answer { document, query, too_short_features: None, matches });
    }
    print_query(output, query, document)?;
    write!(output, "\t{}", matches.len())?;
    for found in matches {
        write!(output, "\t{}\t{}", found.fingerprint.hex(), found.distance)?;
        if let Some(ids) = ids.next() {
            ids.print(output)?;
        }
    }
    Ok(writeln!(output)?)
}

/// Writes the line of a document that is too short for a query.
pub(super) fn print_too_short(
    output: &mut impl Write,
    json: bool,
    document: &[u8],
    features: usize,
) -> Result<(), Failure> {
    if json {
        let (document, too_short_features) = (Some(Names::text_of(document)), Some(features));
        return line_of_json(output, &Answer { document, query: None, too_short_features, matches: vec![] });
    }
    output.write_all(&names::written(document))?;
    Ok(writeln!(output, "\t-")?)
}

fn line_of_json(output: &mut impl Write, line: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer(&mut *output, line).map_err(io::Error::from)?;
    Ok(writeln!(output)?)
}

fn print_query<F: Fingerprint>(output: &mut impl Write, query: F, document: Option<&[u8]>) -> io::Result<()> {
    match document {
        Some(document) => output.write_all(&names::written(document)),
        None => write!(output, "{}", query.hex()),
    }
}

/// Returns the columns of a table of matches; with ids, which are names or numbers.
pub(super) fn columns(ids: Option<bool>) -> Vec<(&'static str, Kind)> {
    let texts = ["document", "query", "fingerprint"].map(|name| (name, Kind::Text));
    let mut columns = [&texts[..], &[("distance", Kind::Number)]].concat();
    if let Some(has_names) = ids {
        columns.extend([("id", id_kind(has_names)), ("ids_count", Kind::Number)]);
    }
    columns
}

/// Writes a match of a query to a table.
pub(super) fn push<F: Fingerprint>(
    table: &mut TableOutput,
    (query, document): (F, Option<&[u8]>),
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    let document = document.map(Names::text_of).unwrap_or_default();
    let (query, fingerprint) = (query.hex().to_string(), found.fingerprint.hex().to_string());
    let texts = [&document[..], &query, &fingerprint].map(Cell::Text);
    let cells = [&texts[..], &[Cell::Number(found.distance.into())]].concat();
    match ids {
        Some(ids) => table.push_with_ids(&cells, &ids),
        None => table.push(&cells),
    }
}

/// Writes a match of a query, or of the document behind it.
pub(super) fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    (query, document): (F, Option<&[u8]>),
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    if json {
        let line = Line {
            document: document.map(Names::text_of),
            query: query.hex().to_string(),
            fingerprint: found.fingerprint.hex().to_string(),
            distance: found.distance,
            ids_count: ids.as_ref().and_then(Ids::count),
            ids,
        };
        return line_of_json(output, &line);
    }
    print_query(output, query, document)?;
    write!(output, "\t{}\t{}", found.fingerprint.hex(), found.distance)?;
    if let Some(ids) = ids {
        ids.print(output)?;
    }
    Ok(writeln!(output)?)
}
