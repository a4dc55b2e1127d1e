//! A pool of searchers, since creating one costs as much as a search.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hamdex::Fingerprint;

use crate::read::searcher::{PooledSearcher, Searcher};
use crate::read::snapshot::Snapshot;
use crate::view::View;

/// Maximum number of pooled searchers, for as many threads.
const MAX_KEPT: usize = 64;

/// A pool of searchers.
pub(crate) struct SearcherPool<F: Fingerprint> {
    /// They keep segments alive, so none is kept for segments that have been replaced.
    pooled: Mutex<Vec<PooledSearcher<F>>>,
}

impl<F: Fingerprint> SearcherPool<F> {
    pub(crate) fn new() -> Self {
        Self { pooled: Mutex::new(Vec::new()) }
    }

    /// Returns a searcher for a snapshot.
    pub(crate) fn take(&self, snapshot: Snapshot<F>) -> Searcher<F> {
        let fitting = {
            let mut pooled = self.pooled();
            let at = pooled.iter().rposition(|pooled| pooled.is_for(&snapshot.view().segments));
            at.map(|at| pooled.swap_remove(at))
        };
        match fitting {
            Some(pooled) => pooled.attach(snapshot),
            None => Searcher::new(snapshot),
        }
    }

    /// Returns a searcher to the pool, if it is for the segments of the current view.
    pub(crate) fn put_back(&self, searcher: Searcher<F>, view: &ArcSwap<View<F>>) {
        let searcher = searcher.detach();
        let mut pooled = self.pooled();
        // Loaded under the lock: a thread that replaces segments clears the pool afterwards.
        let view = view.load();
        if searcher.is_for(&view.segments) {
            // Searchers of earlier segments are dropped.
            pooled.retain(|other| other.is_for(&view.segments));
            pooled.truncate(MAX_KEPT - 1);
            pooled.push(searcher);
        }
    }

    /// Drops all searchers, after segments have been replaced.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.pooled());
        // Dropped without the lock, since files may be removed with them.
        drop(gone);
    }

    fn pooled(&self) -> MutexGuard<'_, Vec<PooledSearcher<F>>> {
        // No critical section can leave a partial change.
        self.pooled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: Fingerprint> fmt::Debug for SearcherPool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearcherPool").finish_non_exhaustive()
    }
}
