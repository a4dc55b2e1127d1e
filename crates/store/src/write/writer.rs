//! The writer: the log, its next sequence number, and the journal of removals.

use std::io;
use std::time::{Duration, Instant};

use hamdex::Fingerprint;

use crate::error::Error;
use crate::log::{LogWriter, PendingSync, Sealed};
use crate::write::batch::{Batch, Operation};
use crate::write::durability::Durability;
use crate::write::journal::{Journal, JournalReader};

/// The data of the thread that commits.
pub(crate) struct Writer<F> {
    pub(crate) log: LogWriter<F>,
    /// The sequence number of the last batch.
    pub(crate) sequence: u64,
    /// The time of the oldest write whose sync has not begun.
    unsynced_since: Option<Instant>,
    /// The time of the oldest write whose sync has begun and not ended.
    syncing_since: Option<Instant>,
    /// The time that the last sync of a write took, until it is reported.
    pub(crate) last_sync: Option<Duration>,
    /// Removals that concern segments that are being written.
    pub(crate) journal: Journal<F>,
}

impl<F: Fingerprint> Writer<F> {
    pub(crate) fn new(log: LogWriter<F>, sequence: u64) -> Self {
        let journal = Journal::default();
        Self { log, sequence, unsynced_since: None, syncing_since: None, last_sync: None, journal }
    }

    /// Writes batches to the log and syncs it, if required. On an error none of them is in the log, or the log accepts no
    /// more. Only removals use the space that is reserved for them.
    pub(crate) fn log<'b>(
        &mut self,
        batches: impl ExactSizeIterator<Item = &'b Batch<F>> + Clone,
        durability: Durability,
    ) -> Result<(), Error> {
        // A batch whose sync failed may be in the log, so no other can have its number.
        self.log.check()?;
        for (number, batch) in (1..).zip(batches.clone()) {
            self.log.push_named(self.sequence + number, &batch.operations, &batch.names);
        }
        let mut operations = batches.clone().flat_map(|batch| &batch.operations);
        if operations.any(|operation| matches!(operation, Operation::Insert(..))) {
            self.log.reserve_space()?;
        }
        self.log.write()?;
        if let Err(error) = self.make_sure(durability) {
            // Batches before these may wait for a sync, and none comes behind the poison. The outcome of this one says
            // nothing about these.
            if durability != Durability::Sync && !matches!(error, Error::Lost { .. }) {
                drop(self.log.sync());
            }
            // The batches are in the log, and will not be in the view: no others may come after them.
            self.log.forbid_writes(&error);
            return Err(error);
        }
        self.sequence += batches.len() as u64;
        let operations = batches.flat_map(|batch| &batch.operations);
        self.journal.extend(operations.filter_map(|operation| match *operation {
            Operation::Remove(fingerprint, id) => Some((fingerprint, id)),
            Operation::Insert(..) => None,
        }));
        Ok(())
    }

    /// Makes what was written durable, if required, and checks that the next process finds it.
    fn make_sure(&mut self, durability: Durability) -> Result<(), Error> {
        if durability != Durability::Sync {
            self.unsynced_since.get_or_insert_with(Instant::now);
            return self.log.check_held();
        }
        let started = Instant::now();
        self.log.sync()?;
        self.last_sync = Some(started.elapsed());
        Ok(())
    }

    /// Makes everything in the log durable.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()?;
        (self.unsynced_since, self.syncing_since) = (None, None);
        Ok(())
    }

    /// Begins a sync that is concurrent with further writes; `None` if the whole log is durable.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<PendingSync>, Error> {
        if self.log.is_synced() && !self.log.is_poisoned() {
            return Ok(None);
        }
        let pending = self.log.begin_sync()?;
        self.syncing_since = self.syncing_since.or(self.unsynced_since.take());
        Ok(Some(pending))
    }

    /// Records the outcome of a sync that was begun earlier.
    pub(crate) fn end_sync(&mut self, outcome: io::Result<Sealed>) -> Result<(), Error> {
        self.log.end_sync(outcome)?;
        self.syncing_since = None;
        Ok(())
    }

    /// Returns the time of the oldest unsynced write.
    pub(crate) fn unsynced_since(&self) -> Option<Instant> {
        self.syncing_since.or(self.unsynced_since)
    }

    /// Syncs this log and begins the next one. Returns its number.
    pub(crate) fn begin_log(&mut self) -> Result<u64, Error> {
        self.log.rotate()?;
        (self.unsynced_since, self.syncing_since) = (None, None);
        Ok(self.log.number())
    }

    /// Keeps removals from now on, for a segment that is to be written.
    pub(crate) fn open_journal(&mut self) -> JournalReader {
        let begun = self.journal.open();
        JournalReader { begun, seen: begun, sequence: self.sequence }
    }
}
