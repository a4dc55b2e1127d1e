//! Inserts batches into a store, and reports on them.

use std::io::{self, BufWriter, IsTerminal, Write};

use hamdex::similar::Condition;
use hamdex::{Fingerprint, Names};
use hamdex_documents::Document;
use hamdex_simhash::Shingles;
use hamdex_store::{Inserted, Record, Store, When};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::input::{Arrivals, Found};
use crate::progress;
use crate::standard_output::{self, StandardOutput, write_json};

/// The object that `--unless-near` prints.
#[derive(Default, Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// With `--each`.
    #[serde(skip_serializing_if = "Option::is_none")]
    inserted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
    /// The number of all ids of the nearest fingerprint, if it has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids_count: Option<u64>,
}

/// Inserts batches, and prints their outcomes.
pub(super) struct Inserter<'a, F: Fingerprint> {
    store: &'a Store<F>,
    has_ids: bool,
    mode: InsertMode,
    output: BufWriter<StandardOutput>,
    bar: ProgressBar,
    /// Records whose batches have been written.
    pub(super) read: u64,
    /// Pairs that were inserted.
    pub(super) inserted: u64,
    /// Records that were not inserted, as something is near.
    pub(super) near: u64,
    /// Pairs that were removed for others with their id or name.
    pub(super) replaced: u64,
}

/// The object that `--unless-similar` prints.
#[derive(Serialize)]
struct SimilarLine<'a> {
    name: &'a str,
    /// With `--each`.
    #[serde(skip_serializing_if = "Option::is_none")]
    inserted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similar: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

/// The object that `--each` prints for a document of a pipe that cannot be read.
#[derive(Serialize)]
struct SkippedLine<'a> {
    inserted: bool,
    error: &'a str,
}

/// A document to insert.
pub(super) struct NamedDocument<F> {
    pub(super) fingerprint: F,
    pub(super) name: Vec<u8>,
    /// Its shingles, if the store keeps them.
    pub(super) shingles: Option<Vec<u64>>,
}

impl<F: Fingerprint> NamedDocument<F> {
    fn record(&self) -> Record<'_, F> {
        match &self.shingles {
            Some(shingles) => Record::document(self.fingerprint, &self.name, shingles),
            None => Record::named(self.fingerprint, &self.name),
        }
    }
}

/// The mode of inserting.
#[derive(Debug, Clone, Copy)]
pub(super) struct InsertMode {
    /// The distance within which the store must have nothing for a record to be inserted.
    pub(super) unless_near: Option<u32>,
    /// Whether a record replaces what has its id or name.
    pub(super) replace: bool,
    /// Whether every record has a line.
    pub(super) each: bool,
    /// Whether each batch is acknowledged.
    pub(super) acknowledge: bool,
    /// The most records per batch.
    pub(super) batch: usize,
    /// Whether the caller shows progress itself.
    pub(super) is_shown: bool,
}

impl<'a, F: Fingerprint> Inserter<'a, F> {
    pub(super) fn new(store: &'a Store<F>, has_ids: bool, mode: InsertMode) -> Self {
        // A bar would garble lines on the same terminal.
        let prints = mode.acknowledge || mode.unless_near.is_some();
        let is_hidden = mode.is_shown || (prints && io::stdout().is_terminal());
        let bar = if is_hidden { ProgressBar::hidden() } else { progress::of_endless_items("Inserting") };
        let output = standard_output::buffered();
        Self { store, has_ids, mode, output, bar, read: 0, inserted: 0, near: 0, replaced: 0 }
    }

    /// Whether every record has a line.
    pub(super) fn prints_each(&self) -> bool {
        self.mode.each
    }

    /// Prints the line of a document that is too short to be inserted, if every record has one.
    pub(super) fn pass_over(&mut self, name: &str, features: usize) -> Result<(), Failure> {
        if !self.mode.each {
            return Ok(());
        }
        let line = Line {
            name: Some(name),
            inserted: Some(false),
            too_short_features: Some(features),
            ..Line::default()
        };
        self.print(&line)?;
        Ok(self.output.flush()?)
    }

    /// Prints the line of a document of a pipe that cannot be read.
    pub(super) fn skip(&mut self, error: &str) -> Result<(), Failure> {
        self.print(&SkippedLine { inserted: false, error })?;
        Ok(self.output.flush()?)
    }

    /// Returns the most records per batch.
    pub(super) fn batch(&self) -> usize {
        self.mode.batch
    }

    /// Inserts all records as they come.
    pub(super) fn insert_all(&mut self, mut arrivals: Arrivals<(F, Found)>) -> Result<(), Failure> {
        let mut records = Vec::new();
        let mut outcome = Ok(());
        while outcome.is_ok() && arrivals.next(&mut records, self.mode.batch) {
            let (mut pairs, mut named) = (Vec::new(), Vec::new());
            for (fingerprint, found) in records.drain(..) {
                match found {
                    Found::Name(name) => named.push(NamedDocument { fingerprint, name, shingles: None }),
                    Found::Id(id) => pairs.push((fingerprint, id)),
                    Found::Row(row) if self.has_ids => pairs.push((fingerprint, row)),
                    Found::Row(_) | Found::Nothing => pairs.push((fingerprint, 0)),
                }
            }
            outcome = if named.is_empty() { self.insert(&pairs) } else { self.insert_named(&named) };
        }
        self.bar.finish_and_clear();
        outcome.and_then(|()| arrivals.end())
    }

    fn insert(&mut self, batch: &[(F, u64)]) -> Result<(), Failure> {
        let outcomes = self.put(batch.iter().map(Record::from))?;
        let has_ids = self.has_ids;
        let described = batch.iter().map(|&(fingerprint, id)| (fingerprint, has_ids.then_some(id), None));
        self.report(described, &outcomes)
    }

    /// Inserts a batch of fingerprints with names.
    pub(super) fn insert_named(&mut self, batch: &[NamedDocument<F>]) -> Result<(), Failure> {
        let outcomes = self.put(batch.iter().map(NamedDocument::record))?;
        let described = batch.iter().map(|document| (document.fingerprint, None, Some(&document.name[..])));
        self.report(described, &outcomes)
    }

    /// Stores records, and counts what was inserted and replaced.
    fn put<'r>(
        &mut self,
        records: impl IntoIterator<Item = Record<'r, F>>,
    ) -> Result<Vec<Inserted<F>>, Failure> {
        self.put_when(records, self.mode.unless_near.map_or_else(When::always, When::unless_near))
    }

    /// Stores records under a condition, and counts what was inserted and replaced.
    fn put_when<'r>(
        &mut self,
        records: impl IntoIterator<Item = Record<'r, F>>,
        when: When,
    ) -> Result<Vec<Inserted<F>>, Failure> {
        let put = self.store.put(records, if self.mode.replace { when.replacing() } else { when })?;
        self.inserted += put.inserted;
        self.replaced += put.removed;
        Ok(put.outcomes)
    }

    /// Inserts the documents of a batch to which nothing similar is stored, and prints a line for each that is similar to
    /// another, or for all. Blank documents have no text to keep.
    pub(super) fn insert_new(
        &mut self,
        batch: &[Document],
        texts: &[Option<(F, Shingles)>],
        condition: Condition,
    ) -> Result<(), Failure> {
        let some = batch.iter().zip(texts).filter_map(|(document, text)| {
            let (fingerprint, shingles) = text.as_ref()?;
            Some(Record::document(*fingerprint, document.id_bytes(), shingles.hashes()))
        });
        let outcomes = self.put_when(some, When::unless_similar(condition))?;
        self.bar.inc(batch.len() as u64);
        // Without blank ones.
        self.read += outcomes.len() as u64;
        let mut outcomes = outcomes.iter();
        for (document, text) in batch.iter().zip(texts) {
            let outcome = text.as_ref().and_then(|_| outcomes.next());
            let similar = outcome.and_then(Inserted::similar);
            self.near += u64::from(similar.is_some());
            if similar.is_none() && !self.mode.each {
                continue;
            }
            let name = similar.map(|similar| Names::text_of(&similar.name));
            let line = SimilarLine {
                name: &document.id,
                inserted: self.mode.each.then_some(outcome.is_some_and(Inserted::is_new)),
                similar: name.as_deref(),
                similarity: similar.map(|similar| similar.similarity),
            };
            self.print(&line)?;
        }
        if self.mode.acknowledge {
            writeln!(self.output, "acknowledged {}", self.read)?;
        }
        self.output.flush()?;
        Ok(())
    }

    /// Prints the outcome of a written batch.
    fn report<'b>(
        &mut self,
        batch: impl ExactSizeIterator<Item = (F, Option<u64>, Option<&'b [u8]>)>,
        outcomes: &[Inserted<F>],
    ) -> Result<(), Failure> {
        self.read += batch.len() as u64;
        self.bar.inc(batch.len() as u64);
        self.print_outcomes(batch, outcomes)?;
        if self.mode.acknowledge {
            writeln!(self.output, "acknowledged {}", self.read)?;
        }
        // Another program may wait for it.
        self.output.flush()?;
        Ok(())
    }

    /// Prints a line for each record that was not inserted, or for all.
    fn print_outcomes<'b>(
        &mut self,
        batch: impl Iterator<Item = (F, Option<u64>, Option<&'b [u8]>)>,
        outcomes: &[Inserted<F>],
    ) -> Result<(), Failure> {
        for ((fingerprint, id, name), outcome) in batch.zip(outcomes) {
            if outcome.is_new() && !self.mode.each {
                continue;
            }
            let name = name.map(Names::text_of);
            let mut line = Line {
                fingerprint: Some(fingerprint.hex().to_string()),
                id,
                name: name.as_deref(),
                ..Line::default()
            };
            let Inserted::Near(near) = outcome else {
                line.inserted = Some(true);
                self.print(&line)?;
                continue;
            };
            self.near += 1;
            let ids = self.has_ids.then(|| match name {
                Some(_) => Ids::names(near.names.iter().map(|name| name.to_vec()).collect(), near.all_ids),
                None => Ids::numbers(near.ids.clone(), near.all_ids),
            });
            line.inserted = self.mode.each.then_some(false);
            line.near = Some(near.fingerprint.hex().to_string());
            line.distance = Some(near.distance);
            line.ids_count = ids.as_ref().and_then(Ids::count);
            line.ids = ids;
            self.print(&line)?;
        }
        Ok(())
    }

    fn print(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        Ok(write_json(&mut self.output, line)?)
    }
}
