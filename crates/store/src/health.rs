//! The health of an open store: work in the background that fails, and pressure on writers.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A kind of work that a store does in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Work {
    /// Writing a full memtable to a segment.
    Flush,
    /// Merging segments.
    Merge,
    /// Syncing the log at the interval of its durability.
    Sync,
    /// Writing the log.
    Log,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flush => "flush",
            Self::Merge => "merge",
            Self::Sync => "sync",
            Self::Log => "log",
        })
    }
}

/// The action that ends a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Remedy {
    /// None: the store tries again by itself. A full disk needs room all the same.
    Retry,
    /// [`Store::reopen`](crate::Store::reopen): it is not known what the disk has.
    Reopen,
    /// [`repair`](crate::repair()): a file is damaged or missing.
    Repair,
}

impl Remedy {
    /// The remedy for an error.
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::Full { source, .. } => Self::of(source),
            Error::Poisoned { .. } => Self::Reopen,
            error if error.is_damage() => Self::Repair,
            _ => Self::Retry,
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "tried again",
            Self::Reopen => "open the store again",
            Self::Repair => "repair the store",
        })
    }
}

/// Work that has failed, and has not succeeded since.
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
    /// Failures in a row.
    pub attempts: u64,
    /// The action that ends it.
    pub remedy: Remedy,
}

impl Failure {
    /// The error, as the source of another one.
    pub(crate) fn source(self) -> Arc<Error> {
        self.error.unwrap_or_else(|| Arc::new(Error::OfGroup { what: self.message }))
    }
}

/// How much writers are held back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pressure {
    /// Writers are as fast as they can be.
    #[default]
    None,
    /// Writers are slowed down: flushes or merges are behind.
    Slowed,
    /// Writers wait until a flush or a merge ends.
    Stopped,
}

impl fmt::Display for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Slowed => "slowed",
            Self::Stopped => "stopped",
        })
    }
}

/// Whether segments are merged in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Merges {
    /// They are: there are at most 20 segments, once those that there were before have been merged.
    On,
    /// They are paused: the number of segments has no bound.
    Paused,
    /// They are not, by [`StoreOptions::merges`](crate::StoreOptions::merges) or since no process has the store open: the
    /// number of segments has no bound.
    #[default]
    Off,
}

impl fmt::Display for Merges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Paused => "paused",
            Self::Off => "off",
        })
    }
}

/// The health of a store that a process has open for writing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Health {
    /// The process, in words; empty if it is this one.
    #[serde(skip)]
    pub holder: String,
    /// Whether merges keep the number of segments within its bound.
    pub merges: Merges,
    /// How much writers are held back.
    pub pressure: Pressure,
    /// Writes that wait for others to be ended.
    pub queue: usize,
    /// How long the oldest write has been in the log without a sync; `None` where all of them are synced.
    pub unsynced: Option<Duration>,
    /// Work in the background that fails, and what ends that.
    pub failures: Vec<Failure>,
}

impl Health {
    /// The text by which other processes know it.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The health in the text of a holder; that of a store without failures, if there is none.
    pub(crate) fn parse(holder: String, line: &str) -> Self {
        Self { holder, ..serde_json::from_str(line).unwrap_or_default() }
    }
}

/// A change in the health of a store: see [`Store::on_event`](crate::Store::on_event).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// Work has failed, for the first time or again.
    Failed(Failure),
    /// Work that had failed has succeeded.
    Recovered(Work),
    /// The pressure on writers has changed.
    Pressure(Pressure),
}

/// Receives the events of a store.
pub(crate) type Observer = Arc<dyn Fn(&Event) + Send + Sync>;

/// The failures of an open store, by kind of work.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    failures: Vec<Failure>,
}

impl Failures {
    /// Records a failure. Returns it as it stands now.
    pub(crate) fn record(&mut self, work: Work, error: Error) -> Failure {
        let (remedy, message) = (Remedy::of(&error), error.chain());
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

    /// The failure of a kind of work.
    pub(crate) fn of(&self, work: Work) -> Option<&Failure> {
        self.failures.iter().find(|failure| failure.work == work)
    }

    /// All failures.
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
