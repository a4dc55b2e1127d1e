//! Matches as lines of text or JSON.

use std::fmt::Display;
use std::io::{self, Write};

use hamdex::{Fingerprint, Match};
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::documents::report;
use crate::failure::Failure;

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    query: String,
    fingerprint: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Sequence<'a>>,
}

/// Ids on their way out: numbers, never all in memory, or names.
pub(super) enum Ids<'a> {
    Numbers(hamdex::Ids<'a>),
    Names(Vec<String>),
}

/// The same for JSON.
struct Sequence<'a>(Ids<'a>);

impl Serialize for Sequence<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Ids::Names(names) => names.serialize(serializer),
            Ids::Numbers(numbers) => {
                let mut sequence = serializer.serialize_seq(Some(numbers.len()))?;
                numbers.clone().try_for_each(|id| sequence.serialize_element(&id))?;
                sequence.end()
            }
        }
    }
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
            ids: ids.map(Sequence),
        };
        serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
    } else {
        write!(output, "{}\t{}\t{}", query.hex(), found.fingerprint.hex(), found.distance)?;
        match ids {
            Some(Ids::Numbers(ids)) => print_ids(output, ids)?,
            Some(Ids::Names(ids)) => print_ids(output, ids.iter().map(|id| report::plain(id)))?,
            None => {}
        }
    }
    writeln!(output)?;
    Ok(())
}

fn print_ids(output: &mut impl Write, ids: impl Iterator<Item = impl Display>) -> io::Result<()> {
    for (number, id) in ids.enumerate() {
        write!(output, "{}{id}", if number == 0 { "\t" } else { "," })?;
    }
    Ok(())
}
