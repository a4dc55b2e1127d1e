//! The resources of a search: memory, a directory of temporary files, and the receiver of its progress.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;

/// Shares of the memory: for sets of shingles, ids and counts of shingles.
const SETS_SHARE: u64 = 2;
const IDS_SHARE: u64 = 16;
const COUNTS_SHARE: u64 = 8;

/// A stage of a search for near-duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Reading documents and making their fingerprints; the number of documents is not known.
    Read,
    /// Counting the shingles of all documents.
    Count,
    /// Comparing documents.
    Compare,
    /// Forming clusters.
    Cluster,
    /// Comparing the members of clusters with the kept documents.
    Measure,
}

/// Progress of a search for near-duplicates. The documents report how many bytes are read
/// ([`Documents::on_read`](crate::Documents::on_read)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Units completed in this stage.
    pub done: u64,
    /// Units of the stage in total, if known.
    pub total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(stage: Stage, done: u64, total: Option<u64>) -> Self {
        Self { stage, done, total }
    }
}

/// Receives progress.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

/// Reports the units completed in a stage, from any thread. Fails if the caller stops the search.
pub(crate) type Report<'r> = dyn Fn(u64) -> Result<(), Error> + Sync + 'r;

/// Items between two cancellation checks in loops that take next to no time per item.
pub(crate) const CHECK_EVERY: usize = 1 << 18;

/// The resources of a search.
#[derive(Clone)]
pub(crate) struct Resources {
    /// The memory limit, in bytes.
    pub(crate) memory: u64,
    /// The directory of temporary files.
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

    /// Returns a function that fails if the caller has stopped the search; it reports a stage of `total` units, none
    /// of which is completed.
    pub(crate) fn cancellation_check(
        &self,
        stage: Stage,
        total: usize,
    ) -> impl Fn() -> Result<(), Error> + Sync {
        move || self.report(Progress::new(stage, 0, Some(total as u64)))
    }

    /// Returns the bytes of sets of shingles in memory.
    pub(crate) fn set_bytes(&self) -> u64 {
        self.memory / SETS_SHARE
    }

    /// Returns the bytes of ids in memory.
    pub(crate) fn id_bytes(&self) -> u64 {
        self.memory / IDS_SHARE
    }

    /// Returns the bytes of the counts of shingles.
    pub(crate) fn count_bytes(&self) -> u64 {
        self.memory / COUNTS_SHARE
    }

    /// Fails if the search needs more memory per document than there is.
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
    fn the_reported_memory_is_enough() {
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
