//! Matches as lines of text or JSON.

use std::io::{self, Write};

use hamdex::{Fingerprint, Match};
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    query: String,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
}

/// Writes a match.
pub(super) fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    query: F,
    found: &Match<F>,
    ids: Option<Ids<'_>>,
) -> Result<(), Failure> {
    if json {
        let line = Line {
            query: query.hex().to_string(),
            fingerprint: found.fingerprint.hex().to_string(),
            distance: found.distance,
            ids,
        };
        serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    } else {
        write!(output, "{}\t{}\t{}", query.hex(), found.fingerprint.hex(), found.distance)?;
        if let Some(ids) = ids {
            ids.print(output)?;
        }
    }
    writeln!(output)?;
    Ok(())
}
