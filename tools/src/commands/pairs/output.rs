//! Writes a line for each pair.

use std::io::{self, Write};

use hamdex::{Fingerprint, Match, Pair, SetSearcher};
use hamdex_documents::tables::{Cell, Kind};
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::set::Set;
use crate::table_output::{TableOutput, id_kind};

/// The form of a printed pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    Json,
}

/// Looks up the ids of both fingerprints of a pair.
pub(super) struct IdSource<'a, F: Fingerprint> {
    pub(super) searcher: Box<dyn SetSearcher<F> + Send + 'a>,
    pub(super) set: Set<'a, F>,
    /// The most ids of each.
    pub(super) most: usize,
}

impl<'a, F: Fingerprint> IdSource<'a, F> {
    pub(super) fn of(&mut self, pair: &Pair<F>) -> Result<(Ids<'_>, Ids<'_>), Failure> {
        let both = [pair.a, pair.b].map(|fingerprint| Match::new(fingerprint, fingerprint));
        let (names, most) = (self.set.names(), self.most);
        let lists = self.searcher.ids_of(&both, most)?;
        let mut ids = lists.into_iter().map(|ids| Ids::new(ids, names, most));
        let mut next = || ids.next().expect("a list for each");
        Ok((next()?, next()?))
    }
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    a: String,
    b: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    a_ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    a_ids_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_ids: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b_ids_count: Option<u64>,
}

pub(super) struct Printer<'a, W> {
    output: &'a mut W,
    form: Form,
}

impl<'a, W: Write> Printer<'a, W> {
    pub(super) fn new(output: &'a mut W, form: Form) -> Self {
        Self { output, form }
    }

    pub(super) fn print<F: Fingerprint>(
        &mut self,
        pair: &Pair<F>,
        source: Option<&mut IdSource<'_, F>>,
    ) -> Result<(), Failure> {
        let (a_ids, b_ids) = source.map(|source| source.of(pair)).transpose()?.unzip();
        let output = &mut *self.output;
        match self.form {
            Form::Json => {
                let (a, b) = (pair.a.hex().to_string(), pair.b.hex().to_string());
                let (a_ids_count, b_ids_count) =
                    (a_ids.as_ref().and_then(Ids::count), b_ids.as_ref().and_then(Ids::count));
                let line = Line { a, b, distance: pair.distance, a_ids, a_ids_count, b_ids, b_ids_count };
                serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
            }
            Form::Lines => {
                write!(output, "{}\t{}\t{}", pair.a.hex(), pair.b.hex(), pair.distance)?;
                for ids in [a_ids, b_ids].into_iter().flatten() {
                    ids.print(output)?;
                }
            }
        }
        writeln!(output)?;
        Ok(())
    }
}

/// Returns the columns of a table of pairs; with ids, which are names or numbers.
pub(super) fn columns(ids: Option<bool>) -> Vec<(&'static str, Kind)> {
    let mut columns = vec![("a", Kind::Text), ("b", Kind::Text), ("distance", Kind::Number)];
    if let Some(has_names) = ids {
        let (id, count) = (id_kind(has_names), Kind::Number);
        columns.extend([("a_id", id), ("a_ids_count", count), ("b_id", id), ("b_ids_count", count)]);
    }
    columns
}

/// Writes a pair to a table.
pub(super) fn push<F: Fingerprint>(
    table: &mut TableOutput,
    pair: &Pair<F>,
    source: Option<&mut IdSource<'_, F>>,
) -> Result<(), Failure> {
    let (a, b) = (pair.a.hex().to_string(), pair.b.hex().to_string());
    let cells = [Cell::Text(&a), Cell::Text(&b), Cell::Number(pair.distance.into())];
    let Some(source) = source else { return table.push(&cells) };
    let (a_ids, b_ids) = source.of(pair)?;
    a_ids.for_each_cell(&mut |a_id| {
        table.push_with_ids(&[&cells[..], &[a_id, Cell::Number(a_ids.all())]].concat(), &b_ids)
    })
}

/// The columns of `--count`.
pub(super) const COUNT_COLUMNS: [(&str, Kind); 2] = [("distance", Kind::Number), ("pairs", Kind::Number)];

/// The object that `--count --json` prints.
#[derive(Serialize)]
struct Count {
    distance: usize,
    pairs: u64,
}

/// The number of pairs at each distance from 1 on.
pub(super) fn counts(output: &mut impl Write, json: bool, counts: &[u64]) -> Result<(), Failure> {
    for (distance, &pairs) in counts.iter().enumerate().skip(1) {
        if json {
            serde_json::to_writer(&mut *output, &Count { distance, pairs }).map_err(io::Error::from)?;
            writeln!(output)?;
        } else {
            writeln!(output, "{distance}\t{pairs}")?;
        }
    }
    Ok(())
}
