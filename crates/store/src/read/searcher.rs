//! Queries, one at a time.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Match, MultiSearcher, ProgressCallback};

use crate::error::Error;
use crate::read::snapshot::Snapshot;
use crate::segment::LiveSegment;

/// Queries a snapshot, using the same memory again and again; every thread has its own. Made by
/// [`Snapshot::searcher`].
///
/// What is in memory is compared first. All files are one plan then: all look-ups, one wave of reads, all scans.
pub struct Searcher<F: Fingerprint> {
    snapshot: Snapshot<F>,
    segments: MultiSearcher<F>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint> Snapshot<F> {
    /// A searcher: the memory that queries use again and again. One for each thread.
    #[must_use]
    pub fn searcher(&self) -> Searcher<F> {
        Searcher::new(self.clone())
    }
}

impl<F: Fingerprint> Searcher<F> {
    pub(crate) fn new(snapshot: Snapshot<F>) -> Self {
        let segments = snapshot.view().segments_as_one().searcher();
        Self { snapshot, segments, matches: Vec::new() }
    }

    /// Lets the snapshot go, and keeps the memory.
    pub(crate) fn rest(self) -> Resting<F> {
        let of = Arc::clone(&self.snapshot.view().segments);
        Resting { of, segments: self.segments, matches: self.matches }
    }

    /// Calls `report` while a query reads many blocks, from now on; it may stop the query: see
    /// [`MultiSearcher::progress`].
    pub fn report_to(&mut self, report: ProgressCallback) {
        self.segments.report_to(report);
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot<F> {
        &self.snapshot
    }

    /// All fingerprints within `distance` of `query`, each once, nearest first, then by fingerprint. Any distance
    /// is exact; one beyond the store's takes longer.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Some fingerprint within `distance` of `query`, if there is one; not always the nearest.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Error> {
        for memtable in self.snapshot.view().in_memory() {
            let mut first = None;
            let _ = memtable.for_each(query, distance, |value| {
                first = Some(Match::of(query, value));
                ControlFlow::Break(())
            });
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(self.segments.first(query, distance)?.map(|found| found.found))
    }

    /// The `count` nearest of the fingerprints within `distance` of `query`, nearest first, then by fingerprint;
    /// all of these if there are no more.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], Error> {
        let Self { snapshot, segments, matches } = self;
        matches.clear();
        for memtable in snapshot.view().in_memory() {
            let _ = memtable.for_each(query, distance, |value| {
                matches.push(Match::of(query, value));
                keep_nearest(matches, count, count.saturating_mul(2));
                ControlFlow::Continue(())
            });
        }
        keep_nearest(matches, count, 0);
        // Where there are as many as are wanted, files matter only within the distance of the last of them; and where it
        // is the query itself, not at all.
        let distance = match count.checked_sub(1).and_then(|last| matches.get(last)) {
            Some(last) if last.distance == 0 => return Ok(matches),
            Some(last) => last.distance,
            None => distance,
        };
        let found = segments.nearest_within(query, count, distance)?;
        matches.extend(found.iter().map(|found| found.found_in[0].found));
        keep_nearest(matches, count, 0);
        Ok(matches)
    }

    /// The `count` fingerprints nearest to `query`, however far they are: see [`Searcher::nearest_within`].
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn nearest(&mut self, query: F, count: usize) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, count, F::BITS)
    }

    /// The ids of a fingerprint, ascending: see [`Snapshot::ids`].
    ///
    /// # Errors
    /// When a block or page that matters is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<u64>, Error> {
        self.snapshot.ids(fingerprint)
    }
}

/// The memory of a searcher without a snapshot.
pub(crate) struct Resting<F: Fingerprint> {
    /// The files that it is for.
    of: Arc<Vec<LiveSegment<F>>>,
    segments: MultiSearcher<F>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint> Resting<F> {
    /// Whether these are its files, and the same pairs of them have been removed.
    pub(crate) fn is_for(&self, segments: &Arc<Vec<LiveSegment<F>>>) -> bool {
        Arc::ptr_eq(&self.of, segments)
    }

    /// A searcher of a snapshot that it [is for](Self::is_for).
    pub(crate) fn wake(self, snapshot: Snapshot<F>) -> Searcher<F> {
        Searcher { snapshot, segments: self.segments, matches: self.matches }
    }
}

/// Puts matches in order, each once, and keeps the first `count`, as soon as there are more than `most`.
fn keep_nearest<F: Fingerprint>(matches: &mut Vec<Match<F>>, count: usize, most: usize) {
    if matches.len() > most {
        matches.sort_unstable();
        matches.dedup();
        matches.truncate(count);
    }
}

impl<F: Fingerprint> fmt::Debug for Searcher<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}
