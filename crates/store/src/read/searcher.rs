//! Single queries, and a pool of searchers, since creating one costs as much as a search.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hamdex::multi::MultiSearcher;
use hamdex::{Fingerprint, Match, Report};

use crate::error::Error;
use crate::read::Snapshot;
use crate::segment::LiveSegment;
use crate::view::View;

/// A searcher of a snapshot, with buffers that queries reuse. Each thread needs its own. Created by
/// [`Snapshot::searcher`].
///
/// A query searches the memtables first, and then all segments in one plan: all look-ups, one wave of reads, all scans.
pub struct Searcher<F: Fingerprint> {
    snapshot: Snapshot<F>,
    parts: MultiSearcher<F>,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Creates a searcher. Each thread needs its own.
    #[must_use]
    pub fn searcher(&self) -> Searcher<F> {
        Searcher::new(self.clone())
    }
}

impl<F: Fingerprint> Searcher<F> {
    pub(crate) fn new(snapshot: Snapshot<F>) -> Self {
        let parts = snapshot.parts().searcher();
        Self { snapshot, parts }
    }

    /// Drops the snapshot and keeps the buffers.
    fn detach(mut self) -> PooledSearcher<F> {
        self.parts.turn_to_memory(None);
        PooledSearcher { of: Arc::clone(&self.snapshot.view().segments), parts: self.parts }
    }

    /// Sets the progress callback and the cancellations of queries that read many blocks: see
    /// [`MultiSearcher::report_to`].
    pub fn report_to(&mut self, report: Report) {
        self.parts.report_to(report);
    }

    /// Returns the snapshot, and the searcher of its parts.
    pub(super) fn split(&mut self) -> (&Snapshot<F>, &mut MultiSearcher<F>) {
        (&self.snapshot, &mut self.parts)
    }

    /// Returns the snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    /// Returns all fingerprints within `distance` of `query`, each once, nearest first, then by fingerprint. Any
    /// distance up to the width is exact; one above the distance of the store is slower.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Returns some fingerprint within `distance` of `query`, if there is one; not always the nearest.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, or the distance exceeds the width.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Error> {
        Ok(self.parts.first(query, distance)?)
    }

    /// Returns the `count` nearest fingerprints within `distance` of `query`, nearest first, then by fingerprint; all
    /// of them if there are fewer.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, or the distance exceeds the width.
    pub fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], Error> {
        Ok(self.parts.nearest_within(query, count, distance)?)
    }
}

/// The buffers of a searcher without a snapshot.
struct PooledSearcher<F: Fingerprint> {
    /// The segments that it is for.
    of: Arc<Vec<LiveSegment<F>>>,
    parts: MultiSearcher<F>,
}

impl<F: Fingerprint> PooledSearcher<F> {
    /// Whether it is for these segments with the same removed pairs.
    fn is_for(&self, segments: &Arc<Vec<LiveSegment<F>>>) -> bool {
        Arc::ptr_eq(&self.of, segments)
    }

    /// Returns a searcher of a snapshot that it [is for](Self::is_for).
    fn attach(mut self, snapshot: Snapshot<F>) -> Searcher<F> {
        self.parts.turn_to_memory(Some(snapshot.memory()));
        Searcher { snapshot, parts: self.parts }
    }
}

impl<F: Fingerprint> fmt::Debug for Searcher<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

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
