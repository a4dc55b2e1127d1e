//! Writes matches as lines of text or JSON.

use std::io::{self, Write};

use hamdex::{Fingerprint, Match};
use serde::Serialize;

use crate::documents::report::plain;
use crate::failure::Failure;
use crate::ids::Ids;

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a str>,
    query: String,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
}

/// Writes a match of a query, or of the document behind it.
pub(super) fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    (query, document): (F, Option<&str>),
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    if json {
        let line = Line {
            document,
            query: query.hex().to_string(),
            fingerprint: found.fingerprint.hex().to_string(),
            distance: found.distance,
            ids,
        };
        serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    } else {
        match document {
            Some(document) => write!(output, "{}", plain(document))?,
            None => write!(output, "{}", query.hex())?,
        }
        write!(output, "\t{}\t{}", found.fingerprint.hex(), found.distance)?;
        if let Some(ids) = ids {
            ids.print(output)?;
        }
    }
    writeln!(output)?;
    Ok(())
}
