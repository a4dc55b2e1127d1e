//! The resources of a search: memory, a directory of temporary files, and the receiver of its progress.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;

/// Shares of the memory: for sets of shingles, ids and the census.
const SETS_SHARE: u64 = 2;
const IDS_SHARE: u64 = 16;
const COUNTS_SHARE: u64 = 8;

/// What a search for near-duplicates is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Documents are read, and fingerprints made of them; how many there are is not known.
    Read,
    /// The shingles of all documents are counted.
    Count,
    /// Documents are compared.
    Compare,
    /// Documents of one cluster are brought together.
    Cluster,
    /// What is in a cluster is compared with what is kept of it.
    Measure,
}

/// Progress of a search for near-duplicates. The documents report how many bytes are read
/// ([`Documents::on_read`](crate::Documents::on_read)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Units done in this stage.
    pub done: u64,
    /// Units in all, where that is known.
    pub total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(stage: Stage, done: u64, total: Option<u64>) -> Self {
        Self { stage, done, total }
    }
}

/// Receives progress.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

/// Takes the units done of a stage, from any thread. It is an error if the caller stops the search.
pub(crate) type Report<'r> = dyn Fn(u64) -> Result<(), Error> + Sync + 'r;

/// What is gone through between two looks at whether to go on, where each takes next to no time.
pub(crate) const CHECK_EVERY: usize = 1 << 18;

/// Options of the search.
#[derive(Clone)]
pub(crate) struct Resources {
    /// Bytes.
    pub(crate) memory: u64,
    /// Of temporary files.
    pub(crate) directory: PathBuf,
    pub(crate) on_progress: Option<OnProgress>,
}

impl Resources {
    /// Reports progress.
    ///
    /// # Errors
    /// When the caller stops the search.
    pub(crate) fn report(&self, progress: Progress) -> Result<(), Error> {
        match &self.on_progress {
            Some(report) if report(progress).is_break() => Err(Error::Stopped),
            _ => Ok(()),
        }
    }

    /// Returns what asks whether to go on before a stage begins that has that many units.
    pub(crate) fn cancellation_check(
        &self,
        stage: Stage,
        total: usize,
    ) -> impl Fn() -> Result<(), Error> + Sync {
        move || self.report(Progress::new(stage, 0, Some(total as u64)))
    }

    /// Bytes of sets of shingles in memory.
    pub(crate) fn set_bytes(&self) -> u64 {
        self.memory / SETS_SHARE
    }

    /// Bytes of ids in memory.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.memory / IDS_SHARE
    }

    /// Bytes of the census.
    pub(crate) fn count_bytes(&self) -> u64 {
        self.memory / COUNTS_SHARE
    }

    /// Refuses a search that needs more memory for each document than there is.
    pub(crate) fn check_memory(&self, documents: u64, bytes_per_document: u64) -> Result<(), Error> {
        let shelved = self.set_bytes() + self.id_bytes() + self.count_bytes();
        let needed = documents * bytes_per_document;
        if needed <= self.memory - shelved {
            return Ok(());
        }
        let bytes = needed.saturating_mul(self.memory) / (self.memory - shelved).max(1);
        Err(Error::Memory { documents, bytes, allowed: self.memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_enough() {
        let resources = |memory| Resources { memory, directory: PathBuf::new(), on_progress: None };
        assert!(resources(16 << 20).check_memory(50_000, 100).is_ok());
        let Err(Error::Memory { bytes, .. }) = resources(16 << 20).check_memory(1_000_000, 100) else {
            panic!("100 bytes for each of a million are more than 16 MiB");
        };
        assert!(
            resources(bytes + 16).check_memory(1_000_000, 100).is_ok()
                && resources(bytes / 2).check_memory(1_000_000, 100).is_err()
        );
    }
}
