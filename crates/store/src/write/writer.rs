//! The one who writes: the log, what comes next in it, and what the background has to be told.

use std::io;
use std::time::Instant;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::log::{LogWriter, PendingSync, Sealed};
use crate::write::batch::{Batch, Operation};
use crate::write::durability::Durability;
use crate::write::journal::{Journal, JournalReader};

/// What only the thread that commits has.
pub(crate) struct Writer<F> {
    pub(crate) log: LogWriter<F>,
    /// The number of the last batch.
    pub(crate) sequence: u64,
    /// Since when there is something in the log of which no sync has begun.
    unsynced_since: Option<Instant>,
    /// Since when there is something in the log whose sync has begun, and has not ended.
    syncing_since: Option<Instant>,
    /// Pairs removed while files are being written in the background, whose contents were read before.
    pub(crate) journal: Journal<F>,
}

impl<F: Fingerprint> Writer<F> {
    pub(crate) fn new(log: LogWriter<F>, sequence: u64) -> Self {
        Self { log, sequence, unsynced_since: None, syncing_since: None, journal: Journal::default() }
    }

    /// Writes batches to the log, and makes them as durable as they are to be. On an error none of them is in it. Room for
    /// removals is kept: only these use it.
    pub(crate) fn log<'b>(
        &mut self,
        batches: impl ExactSizeIterator<Item = &'b Batch<F>> + Clone,
        durability: Durability,
    ) -> Result<(), Error> {
        for (number, batch) in (1..).zip(batches.clone()) {
            self.log.push_named(self.sequence + number, &batch.operations, &batch.names);
        }
        let mut operations = batches.clone().flat_map(|batch| &batch.operations);
        if operations.any(|operation| matches!(operation, Operation::Insert(..))) {
            self.log.keep_room()?;
        }
        self.log.write()?;
        if durability == Durability::Sync {
            self.log.sync()?;
        } else {
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
        self.sequence += batches.len() as u64;
        let operations = batches.flat_map(|batch| &batch.operations);
        self.journal.extend(operations.filter_map(|operation| match *operation {
            Operation::Remove(fingerprint, id) => Some((fingerprint, id)),
            Operation::Insert(..) => None,
        }));
        Ok(())
    }

    /// Makes everything in the log durable.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()?;
        (self.unsynced_since, self.syncing_since) = (None, None);
        Ok(())
    }

    /// Begins to make durable what is in the log, while it is written on; `None` where all of it is durable.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PendingSync>, Error> {
        if self.log.is_synced() && !self.log.is_poisoned() {
            return Ok(None);
        }
        let pending = self.log.begin_sync()?;
        self.syncing_since = self.syncing_since.or(self.unsynced_since.take());
        Ok(Some(pending))
    }

    /// Records the outcome of a sync that was begun.
    pub(crate) fn end_sync(&mut self, outcome: io::Result<Sealed>) -> Result<(), Error> {
        self.log.end_sync(outcome)?;
        self.syncing_since = None;
        Ok(())
    }

    /// Since when there is something in the log that has not been synced.
    pub(crate) fn unsynced_since(&self) -> Option<Instant> {
        self.syncing_since.or(self.unsynced_since)
    }

    /// Begins another log, once what is in this one is durable. Returns its number.
    pub(crate) fn begin_log(&mut self) -> Result<u64, Error> {
        self.log.rotate()?;
        (self.unsynced_since, self.syncing_since) = (None, None);
        Ok(self.log.number())
    }

    /// Keeps removals from now on, for a file that is written in the background.
    pub(crate) fn open_journal(&mut self) -> JournalReader {
        let begun = self.journal.open();
        JournalReader { begun, seen: begun, sequence: self.sequence }
    }
}
