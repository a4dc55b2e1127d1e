//! Searchers that wait to be used again: to make one for each of a hundred thousand searches per second would cost as
//! much as the searches.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hamdex::Fingerprint;

use crate::read::searcher::{Resting, Searcher};
use crate::read::snapshot::Snapshot;
use crate::view::View;

/// Searchers that are kept, at most: one for each of many threads.
const MAX_KEPT: usize = 64;

/// Searchers that wait to be used again.
pub(crate) struct SearcherPool<F: Fingerprint> {
    /// They hold on to files, so none is kept for files that have been replaced.
    resting: Mutex<Vec<Resting<F>>>,
}

impl<F: Fingerprint> SearcherPool<F> {
    pub(crate) fn new() -> Self {
        Self { resting: Mutex::new(Vec::new()) }
    }

    /// A searcher of a snapshot.
    pub(crate) fn take(&self, snapshot: Snapshot<F>) -> Searcher<F> {
        let fitting = {
            let mut resting = self.resting();
            let at = resting.iter().rposition(|resting| resting.is_for(&snapshot.view().segments));
            at.map(|at| resting.swap_remove(at))
        };
        match fitting {
            Some(resting) => resting.wake(snapshot),
            None => Searcher::new(snapshot),
        }
    }

    /// Keeps a searcher, if it is for what `state` has now.
    pub(crate) fn put_back(&self, searcher: Searcher<F>, view: &ArcSwap<View<F>>) {
        let searcher = searcher.rest();
        let mut resting = self.resting();
        // Looked at under the lock: who replaces files clears what is kept after that.
        let view = view.load();
        if searcher.is_for(&view.segments) {
            // Those of a state before have had their time.
            resting.retain(|other| other.is_for(&view.segments));
            resting.truncate(MAX_KEPT - 1);
            resting.push(searcher);
        }
    }

    /// Lets all of them go, after files have been replaced.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.resting());
        // Not under the lock: files may go with them.
        drop(gone);
    }

    fn resting(&self) -> MutexGuard<'_, Vec<Resting<F>>> {
        // Nothing is left half done under the lock.
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fingerprint> fmt::Debug for SearcherPool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearcherPool").finish_non_exhaustive()
    }
}
