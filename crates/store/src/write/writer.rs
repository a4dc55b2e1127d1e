//! The writer: the log, its next sequence number, and the durability of acknowledged writes.

use std::str::FromStr;
use std::time::{Duration, Instant};
use std::{fmt, io};

use hamdex::{Fingerprint, ParseOptionError};

use crate::error::Error;
use crate::log::{LogWriter, PendingSync, Sealed};
use crate::write::journal::{Journal, JournalReader};
use crate::write::{Batch, Operation};

/// The durability of acknowledged writes. In each case a batch is atomic across a crash, and no batch survives that
/// comes after a lost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// An acknowledged write survives power loss. Concurrent writers share a sync.
    #[default]
    Sync,
    /// The log is synced at this interval. Power loss loses at most the writes that were acknowledged in the last
    /// interval; a killed process loses nothing.
    Interval(Duration),
    /// The log is synced only by a flush or when the store is closed. A killed process loses nothing.
    None,
}

impl FromStr for Durability {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        let interval = text.strip_prefix("interval=").and_then(parse_time);
        match (text, interval) {
            ("sync", _) => Ok(Self::Sync),
            ("none", _) => Ok(Self::None),
            (_, Some(time)) => Ok(Self::Interval(time)),
            _ => Err(ParseOptionError::new(format!(
                "invalid durability {text:?}: use sync, none, or interval=T with a time such as 100ms or 2s"
            ))),
        }
    }
}

/// Parses a positive number of milliseconds, seconds or minutes.
fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit_milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        _ => return None,
    };
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(unit_milliseconds)?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync => f.write_str("sync"),
            Self::Interval(time) => write!(f, "interval={}ms", time.as_millis()),
            Self::None => f.write_str("none"),
        }
    }
}

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
        self.log.check_sequence(self.sequence + batches.len() as u64)?;
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

    /// Syncs the written batches, if required, and checks that the next process finds them.
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
        self.journal.open(self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_it_reads() {
        for durability in
            [Durability::Sync, Durability::None, Durability::Interval(Duration::from_millis(1500))]
        {
            assert_eq!(durability.to_string().parse(), Ok(durability));
        }
        assert_eq!("interval=2s".parse(), Ok(Durability::Interval(Duration::from_secs(2))));
        assert_eq!("interval=3min".parse(), Ok(Durability::Interval(Duration::from_secs(180))));
    }

    #[test]
    fn other_texts_are_refused() {
        let huge = format!("interval={}min", u64::MAX);
        for text in
            ["", "Sync", "interval", "interval=", "interval=5", "interval=0s", "interval=-1s", "5s", &huge]
        {
            let error = text.parse::<Durability>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}
