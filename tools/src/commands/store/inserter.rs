//! Inserts batches into a store, and reports on them.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use hamdex::Fingerprint;
use hamdex_store::{Inserted, Operation, Store};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::input::{Arrivals, Found};
use crate::progress;

/// The object that `--unless-near` prints.
#[derive(Serialize)]
struct Near<'a> {
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    near: String,
    distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Ids<'a>>,
}

/// Inserts batches, and prints their outcomes.
pub(super) struct Inserter<'a, F: Fingerprint> {
    store: &'a Store<F>,
    has_ids: bool,
    mode: InsertMode,
    output: BufWriter<StdoutLock<'static>>,
    bar: ProgressBar,
    /// Records whose batches have been written.
    pub(super) read: u64,
    /// Records that were not inserted, as something is near.
    pub(super) near: u64,
}

/// The mode of inserting.
#[derive(Debug, Clone, Copy)]
pub(super) struct InsertMode {
    /// The distance within which the store must have nothing for a record to be inserted.
    pub(super) unless_near: Option<u32>,
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
        let output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Self { store, has_ids, mode, output, bar, read: 0, near: 0 }
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
            for (number, (fingerprint, found)) in (self.read..).zip(records.drain(..)) {
                match found {
                    Found::Name(name) => named.push((fingerprint, name)),
                    Found::Id(id) => pairs.push((fingerprint, id)),
                    Found::Nothing => pairs.push((fingerprint, if self.has_ids { number } else { 0 })),
                }
            }
            outcome = if named.is_empty() { self.insert(&pairs) } else { self.insert_named(&named) };
        }
        self.bar.finish_and_clear();
        outcome.and_then(|()| arrivals.end())
    }

    fn insert(&mut self, batch: &[(F, u64)]) -> Result<(), Failure> {
        let outcomes = match self.mode.unless_near {
            Some(distance) => self.store.insert_all_unless_near(batch, distance)?,
            None => {
                let insert = |&(fingerprint, id): &(F, u64)| Operation::Insert(fingerprint, id);
                self.store.write(batch.iter().map(insert).collect())?;
                Vec::new()
            }
        };
        let has_ids = self.has_ids;
        let described = batch.iter().map(|&(fingerprint, id)| (fingerprint, has_ids.then_some(id), None));
        self.report(described, &outcomes)
    }

    /// Inserts a batch of fingerprints with names.
    pub(super) fn insert_named(&mut self, batch: &[(F, Vec<u8>)]) -> Result<(), Failure> {
        let outcomes = match self.mode.unless_near {
            Some(distance) => self.store.insert_named_unless_near(batch, distance)?,
            None => {
                self.store.insert_named(batch)?;
                Vec::new()
            }
        };
        let described = batch.iter().map(|(fingerprint, name)| (*fingerprint, None, Some(&name[..])));
        self.report(described, &outcomes)
    }

    /// Prints the outcome of a written batch.
    fn report<'b>(
        &mut self,
        batch: impl ExactSizeIterator<Item = (F, Option<u64>, Option<&'b [u8]>)>,
        outcomes: &[Inserted<F>],
    ) -> Result<(), Failure> {
        self.read += batch.len() as u64;
        self.bar.inc(batch.len() as u64);
        self.print_near(batch, outcomes)?;
        if self.mode.acknowledge {
            writeln!(self.output, "acknowledged {}", self.read)?;
        }
        // Another program may wait for it.
        self.output.flush()?;
        Ok(())
    }

    /// Prints a line for each record that was not inserted.
    fn print_near<'b>(
        &mut self,
        batch: impl Iterator<Item = (F, Option<u64>, Option<&'b [u8]>)>,
        outcomes: &[Inserted<F>],
    ) -> Result<(), Failure> {
        for ((fingerprint, id, name), outcome) in batch.zip(outcomes) {
            let Inserted::Near(near) = outcome else { continue };
            self.near += 1;
            let ids = self.has_ids.then(|| match name {
                Some(_) => Ids::Names(
                    near.names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
                ),
                None => Ids::numbers(near.ids.clone()),
            });
            let name = name.map(String::from_utf8_lossy);
            let line = Near {
                fingerprint: fingerprint.hex().to_string(),
                id,
                name: name.as_deref(),
                near: near.fingerprint.hex().to_string(),
                distance: near.distance,
                ids,
            };
            serde_json::to_writer(&mut self.output, &line).map_err(io::Error::from)?;
            writeln!(self.output)?;
        }
        Ok(())
    }
}
