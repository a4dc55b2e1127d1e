//! The health of an open store: failures of background work, and pressure on writers.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hamdex::chain;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A kind of background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Work {
    /// Flushing a full memtable to a segment.
    Flush,
    /// Merging segments.
    Merge,
    /// Syncing the log: only at its interval, if it fails.
    Sync,
    /// Writing the log.
    Log,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The action that ends a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Remedy {
    /// None: the store retries by itself. A full disk needs space first.
    Retry,
    /// [`Store::reopen`](crate::Store::reopen): the contents of the disk are unknown.
    Reopen,
    /// [`repair`](crate::repair()): a file is damaged or missing.
    Repair,
    /// Close the store and open it again: other files have replaced its own.
    Close,
}

impl Remedy {
    /// Returns the remedy for an error.
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Full { source, .. } => Self::of(source),
            Error::Poisoned { .. } => Self::Reopen,
            Error::Lost { .. } => Self::Close,
            error if error.is_damage() => Self::Repair,
            _ => Self::Retry,
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "retried",
            Self::Reopen => "open the store again",
            Self::Repair => "repair the store",
            Self::Close => "close the store and open it again",
        })
    }
}

/// A failure of background work that has not succeeded since.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The work.
    pub work: Work,
    /// The last error and its causes, on one line.
    pub message: String,
    /// The last error itself; `None` in another process.
    #[serde(skip)]
    pub error: Option<Arc<Error>>,
    /// The time of the first failure after the last success.
    pub since: SystemTime,
    /// Consecutive failures.
    pub attempts: u64,
    /// The action that ends the failure.
    pub remedy: Remedy,
}

impl Failure {
    /// Returns the error as the source of another one.
    pub(crate) fn source(self) -> Arc<Error> {
        self.error.unwrap_or_else(|| Arc::new(Error::OfGroup { what: self.message }))
    }
}

/// The back-pressure on writers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pressure {
    /// Writers run at full speed.
    #[default]
    None,
    /// Writers are slowed down, since flushes or merges are behind.
    Slowed,
    /// Writers wait until a flush or a merge ends.
    Stopped,
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Whether segments are merged in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Merges {
    /// Merges run: there are at most 20 segments, once older ones have been merged.
    On,
    /// Merges are paused: the number of segments is unbounded.
    Paused,
    /// Merges are disabled by [`StoreOptions::merges`](crate::StoreOptions::merges), or no process has the store open
    /// for writing: the number of segments is unbounded.
    #[default]
    Off,
}

impl fmt::Display for Merges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The health of a store that a process has open for writing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Health {
    /// A description of the process; empty if it is this one.
    #[serde(skip)]
    pub holder: String,
    /// Whether segments are merged in the background.
    pub merges: Merges,
    /// The back-pressure on writers.
    pub pressure: Pressure,
    /// Writes that wait in the queue.
    pub queue: usize,
    /// The age of the oldest unsynced write in the log; `None` if all are synced.
    pub unsynced: Option<Duration>,
    /// Background work that fails, and its remedies.
    pub failures: Vec<Failure>,
}

impl Health {
    /// Returns the health as a line for the lock file.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the line of a lock file; an invalid one is the health of a store without failures.
    pub(crate) fn parse(holder: String, line: &str) -> Self {
        Self { holder, ..serde_json::from_str(line).unwrap_or_default() }
    }
}

/// A change in the health of a store, or work that it has done: see [`Store::on_event`](crate::Store::on_event).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// Work has failed, for the first time or again.
    Failed(Failure),
    /// Work that had failed has succeeded.
    Recovered(Work),
    /// The pressure on writers has changed.
    Pressure(Pressure),
    /// Work has been done: a sync of the log, a flush or a merge, and the time that it took.
    Done(Work, Duration),
    /// The segment of a number has been added. Its file is in place, and readers may have mapped it.
    Added(u64),
}

/// A callback for the events of a store.
pub(crate) type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// The failures of an open store, by kind of work.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    failures: Vec<Failure>,
}

impl Failures {
    /// Records a failure. Returns its current state.
    pub(crate) fn record(&mut self, work: Work, error: Error) -> Failure {
        let (remedy, message) = (Remedy::of(&error), chain(&error));
        let error = Some(Arc::new(error));
        match self.failures.iter_mut().find(|failure| failure.work == work) {
            Some(failure) => {
                failure.attempts += 1;
                failure.error = error;
                failure.message = message;
                failure.remedy = remedy;
                failure.clone()
            }
            None => {
                let failure = Failure { work, message, error, since: SystemTime::now(), attempts: 1, remedy };
                self.failures.push(failure.clone());
                failure
            }
        }
    }

    /// Forgets the failure of a kind of work. Returns whether there was one.
    pub(crate) fn clear(&mut self, work: Work) -> bool {
        let before = self.failures.len();
        self.failures.retain(|failure| failure.work != work);
        self.failures.len() < before
    }

    /// Returns the failure of a kind of work.
    pub(crate) fn of(&self, work: Work) -> Option<&Failure> {
        self.failures.iter().find(|failure| failure.work == work)
    }

    /// Returns all failures.
    pub(crate) fn all(&self) -> &[Failure] {
        &self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_lasts_until_its_work_succeeds() {
        let mut failures = Failures::default();
        let full = || Error::io("write it", "s")(std::io::Error::from(std::io::ErrorKind::StorageFull));
        assert_eq!(failures.record(Work::Flush, full()).attempts, 1);
        let again = failures.record(Work::Flush, full());
        assert_eq!((again.attempts, again.remedy), (2, Remedy::Retry));
        assert_eq!(failures.record(Work::Merge, Error::damaged("f", 3, "bad")).remedy, Remedy::Repair);
        assert_eq!(failures.all().len(), 2);
        assert!(failures.clear(Work::Flush) && !failures.clear(Work::Flush));
        assert!(failures.of(Work::Flush).is_none() && failures.of(Work::Merge).is_some());
    }
}
