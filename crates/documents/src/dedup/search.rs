//! How a search works: in which memory, and where it reports to.

use std::path::PathBuf;

use crate::error::Error;
use crate::progress::{OnProgress, Progress, Stage};

/// Shares of the memory: for sets of shingles, ids and the census.
const SETS_SHARE: u64 = 2;
const IDS_SHARE: u64 = 16;
const CENSUS_SHARE: u64 = 8;

/// Takes the units done of a stage, from any thread. It is an error if the caller stops the search.
pub(crate) type Report<'r> = dyn Fn(u64) -> Result<(), Error> + Sync + 'r;

/// What is gone through between two looks at whether to go on, where each takes next to no time.
pub(crate) const LOOK_EVERY: usize = 1 << 18;

/// Options of the search.
#[derive(Clone)]
pub(crate) struct Search {
    /// Bytes.
    pub(crate) memory: u64,
    /// Of temporary files.
    pub(crate) directory: PathBuf,
    pub(crate) on_progress: Option<OnProgress>,
}

impl Search {
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
    pub(crate) fn look(&self, stage: Stage, total: usize) -> impl Fn() -> Result<(), Error> + Sync {
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
    pub(crate) fn census_bytes(&self) -> u64 {
        self.memory / CENSUS_SHARE
    }

    /// Refuses a search that needs more memory for each document than there is.
    pub(crate) fn check(&self, documents: u64, bytes_per_document: u64) -> Result<(), Error> {
        let shelved = self.set_bytes() + self.id_bytes() + self.census_bytes();
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
        let search = |memory| Search { memory, directory: PathBuf::new(), on_progress: None };
        assert!(search(16 << 20).check(50_000, 100).is_ok());
        let Err(Error::Memory { bytes, .. }) = search(16 << 20).check(1_000_000, 100) else {
            panic!("100 bytes for each of a million are more than 16 MiB");
        };
        assert!(
            search(bytes + 16).check(1_000_000, 100).is_ok()
                && search(bytes / 2).check(1_000_000, 100).is_err()
        );
    }
}
