//! The one who writes: the log, what comes next in it, and what the background has to be told.

use std::io;
use std::time::Instant;

use hamdex::Engine;

use crate::batch::Batch;
use crate::disk::Disk;
use crate::durability::Durability;
use crate::error::Error;
use crate::log::{LogWriter, PendingSync, Sealed};
use crate::operation::Operation;
use crate::pair::Pair;

/// What only the thread that commits has.
pub(crate) struct Writer<F, D: Disk> {
    pub(crate) log: LogWriter<F, D>,
    /// The number of the last batch.
    pub(crate) sequence: u64,
    /// Since when there is something in the log that has not been synced.
    unsynced_since: Option<Instant>,
    /// Pairs removed while files are being written in the background, whose contents were read before.
    journal: Vec<Pair<F>>,
    /// How many in the background read the journal.
    readers: usize,
}

impl<F: Engine, D: Disk> Writer<F, D> {
    pub(crate) fn new(log: LogWriter<F, D>, sequence: u64) -> Self {
        Self { log, sequence, unsynced_since: None, journal: Vec::new(), readers: 0 }
    }

    /// Writes batches to the log, and makes them as durable as they are to be. On an error none of them is in it.
    pub(crate) fn log(&mut self, batches: &[Batch<F>], durability: Durability) -> Result<(), Error> {
        for (number, batch) in (1..).zip(batches) {
            self.log.push_named(self.sequence + number, &batch.operations, &batch.names);
        }
        self.log.write()?;
        if durability == Durability::Sync {
            self.log.sync()?;
        } else {
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
        self.sequence += batches.len() as u64;
        if self.readers > 0 {
            let operations = batches.iter().flat_map(|batch| &batch.operations);
            self.journal.extend(operations.filter_map(|operation| match *operation {
                Operation::Remove(fingerprint, id) => Some((fingerprint, id)),
                Operation::Insert(..) => None,
            }));
        }
        Ok(())
    }

    /// Makes everything in the log durable.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()?;
        self.unsynced_since = None;
        Ok(())
    }

    /// Begins to make durable what is in the log, while it is written on; `None` where all of it is durable.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PendingSync<D>>, Error> {
        if self.log.is_synced() && !self.log.is_poisoned() {
            return Ok(None);
        }
        let pending = self.log.begin_sync()?;
        self.unsynced_since = None;
        Ok(Some(pending))
    }

    /// Takes note of what has become of a sync that was begun.
    pub(crate) fn end_sync(&mut self, outcome: io::Result<Sealed>) -> Result<(), Error> {
        self.log.end_sync(outcome)
    }

    /// Since when there is something in the log that has not been synced.
    pub(crate) fn unsynced_since(&self) -> Option<Instant> {
        self.unsynced_since
    }

    /// Begins another log, once what is in this one is durable. Returns its number.
    pub(crate) fn begin_log(&mut self) -> Result<u64, Error> {
        self.log.rotate()?;
        self.unsynced_since = None;
        Ok(self.log.number())
    }

    /// From now on, removals are written down for one who reads sources in the background. Returns where in the
    /// journal that begins.
    pub(crate) fn open_journal(&mut self) -> usize {
        self.readers += 1;
        self.journal.len()
    }

    /// What has been removed since a place in the journal.
    pub(crate) fn journal_since(&self, start: usize) -> &[Pair<F>] {
        &self.journal[start..]
    }

    /// One reader less; with the last one the journal goes.
    pub(crate) fn close_journal(&mut self) {
        self.readers -= 1;
        if self.readers == 0 {
            self.journal = Vec::new();
        }
    }
}
