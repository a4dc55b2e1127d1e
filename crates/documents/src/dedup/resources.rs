//! The resources of a search: memory, a directory of temporary files, and the receiver of its progress.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::Cancellation;

use crate::error::Error;

/// Shares of the memory: for sets of shingles, ids, counts of shingles, lists of what is compared with, and texts,
/// which are gone when these lists are made. Every document needs some of the rest, and as much of counts and lists as
/// leaves the least share.
const SETS_SHARE: u64 = 4;
const IDS_SHARE: u64 = 16;
const COUNTS_SHARE: u64 = 8;
const INDEX_SHARE: u64 = 4;
const TEXTS_SHARE: u64 = 8;
const LEAST_SHARE: u64 = 8;

/// A batch of texts is one of several in memory at a time, next to its shingles.
const BATCHES: u64 = 8;

/// A stage of a search for near-duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Reading documents and making their fingerprints; the number of documents is not known.
    Read,
    /// Comparing with the known documents; their number is not known.
    Known,
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
pub(crate) type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Reports the units completed in a stage, from any thread. Fails if the caller stops the search.
pub(crate) type Report<'r> = dyn Fn(u64) -> Result<(), Error> + Sync + 'r;

/// Items between two cancellation checks in loops that take next to no time per item.
pub(crate) const CHECK_EVERY: usize = 1 << 18;

/// The resources of a search.
#[derive(Clone)]
pub(crate) struct Resources {
    /// The memory limit, in bytes.
    pub(crate) memory: u64,
    /// The bytes of it that documents take, known after they are read.
    pub(crate) taken: u64,
    /// The directory of temporary files.
    pub(crate) directory: PathBuf,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) cancellations: Vec<Cancellation>,
}

impl Resources {
    /// Reports progress.
    ///
    /// # Errors
    /// When the caller stops the search.
    pub(crate) fn report(&self, progress: Progress) -> Result<(), Error> {
        self.check_cancelled()?;
        match &self.on_progress {
            None => Ok(()),
            Some(report) => {
                report(progress);
                self.check_cancelled()
            }
        }
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        self.cancellations.iter().try_for_each(Cancellation::check).map_err(|_| Error::Stopped)
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
        (self.memory / COUNTS_SHARE).min(self.left() / 2)
    }

    /// Returns the bytes of lists of what is compared with. They take a little more while they grow.
    pub(crate) fn index_bytes(&self) -> u64 {
        (self.memory / INDEX_SHARE).min((self.left() - self.count_bytes()) / 2)
    }

    /// Returns the bytes that are neither taken nor those of shingles and ids.
    fn left(&self) -> u64 {
        self.memory.saturating_sub(self.set_bytes() + self.id_bytes() + self.taken)
    }

    /// Returns the bytes of texts read at a time.
    pub(crate) fn batch_bytes(&self) -> usize {
        usize::try_from(self.memory / TEXTS_SHARE / BATCHES).unwrap_or(usize::MAX)
    }

    /// Returns the bytes of known sets of shingles read at a time, where there are no known texts.
    pub(crate) fn known_bytes(&self) -> u64 {
        self.memory / TEXTS_SHARE
    }

    /// Returns the resources of a search among documents that take this memory each; fails if there is not enough.
    pub(crate) fn for_documents(&self, documents: u64, bytes_per_document: u64) -> Result<Self, Error> {
        let reserved = self.set_bytes() + self.id_bytes() + self.memory / LEAST_SHARE;
        let needed = documents * bytes_per_document;
        if needed <= self.memory - reserved {
            return Ok(Self { taken: needed, ..self.clone() });
        }
        let bytes = needed.saturating_mul(self.memory) / (self.memory - reserved).max(1);
        Err(Error::Memory { documents, bytes, allowed: self.memory })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_memory_is_enough() {
        let resources = |memory| Resources {
            memory,
            taken: 0,
            directory: PathBuf::new(),
            on_progress: None,
            cancellations: Vec::new(),
        };
        assert!(resources(16 << 20).for_documents(50_000, 100).is_ok());
        let left = resources(16 << 20).for_documents(50_000, 100).unwrap();
        assert!(
            left.count_bytes() >= 1 << 20 && left.index_bytes() + left.count_bytes() + 5_000_000 < 11 << 20
        );
        let Err(Error::Memory { bytes, .. }) = resources(16 << 20).for_documents(1_000_000, 100) else {
            panic!("100 bytes for each of a million are more than 16 MiB");
        };
        assert!(
            resources(bytes + 16).for_documents(1_000_000, 100).is_ok()
                && resources(bytes / 2).for_documents(1_000_000, 100).is_err()
        );
    }
}
