//! Queries: single ones, by a pool of searchers, since creating one costs as much as a search; those for the documents
//! similar to a set of shingles; and many at once.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use hamdex::multi::MultiSearcher;
use hamdex::set::StoredId;
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{BatchOptions, Fingerprint, Match, ReadError, ReadErrorKind, Report};

use crate::error::{Error, Unpoisoned};
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
            let mut pooled = self.pooled.lock().unpoisoned();
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
        let mut pooled = self.pooled.lock().unpoisoned();
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
        let gone = std::mem::take(&mut *self.pooled.lock().unpoisoned());
        // Dropped without the lock, since files may be removed with them.
        drop(gone);
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Calls `visit` with the index of each query and all fingerprints within `distance` of it, nearest first, then by
    /// fingerprint. Queries are visited in order, including those without a match. An error of `visit` ends it. Memory
    /// stays within that of the options, except for the matches of a single query.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, and earlier queries may have been visited; or the distance exceeds
    /// the width; the error of `visit`.
    pub fn batch_with<E: From<ReadError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.parts().batch_with(queries, distance, options, visit)
    }

    /// Returns the nearest fingerprint within `distance` of each query; the least of several.
    ///
    /// # Errors
    /// When a block that has to be read is damaged.
    pub(crate) fn nearest_of_each(
        &self,
        queries: &[F],
        distance: u32,
        options: BatchOptions,
    ) -> Result<Vec<Option<Match<F>>>, Error> {
        // Records that crowd often have one fingerprint.
        let mut asked = queries.to_vec();
        asked.sort_unstable();
        asked.dedup();
        // What is in memory itself is nearest to itself, whatever the segments have.
        let is_recent =
            |value: &F| self.view().memtables().any(|memtable| memtable.contains_fingerprint(*value));
        let (recent, asked): (Vec<F>, Vec<F>) = asked.into_iter().partition(is_recent);
        let mut nearest = Vec::with_capacity(asked.len());
        self.batch_with(&asked, distance, &options.limit(1), |_, matches| {
            nearest.push(matches.first().copied());
            Ok::<_, ReadError>(())
        })?;
        let of = |&query: &F| match recent.binary_search(&query) {
            Ok(_) => Some(Match::new(query, query)),
            Err(_) => nearest[asked.partition_point(|asked| *asked < query)],
        };
        Ok(queries.iter().map(of).collect())
    }
}

impl<F: Fingerprint> Searcher<F> {
    /// Returns the documents that meet a condition with a set of shingles, which ascend, each once: the most similar
    /// first, then by id; at most `limit`. None is missed. In a store without look-ups, the first search after a removal
    /// reads the pairs of the segments that have removed ones.
    ///
    /// ```
    /// use hamdex::similar::{Condition, Measure};
    /// use hamdex_store::{CreateOptions, Record, Store, StoreOptions, When};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().shingles("of my own");
    /// let store = Store::<u64>::create(directory.path().join("s"), &create, StoreOptions::new())?;
    /// store.put([Record::document(0x00ff, "first.html", &[1, 2, 3, 4])], When::always())?;
    ///
    /// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
    /// let snapshot = store.snapshot();
    /// let similar = snapshot.searcher().similar(&[1, 2, 3], &condition, 10)?;
    /// assert_eq!(snapshot.name(similar[0].id.id)?, Some(&b"first.html"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the store has no shingles, or a block or page that has to be read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, Error> {
        let (snapshot, parts) = self.split();
        if !snapshot.schema.identity.has_shingles {
            return Err(ReadError::from(ReadErrorKind::NoShingles).into());
        }
        let mut found = Vec::new();
        let document = |id, similarity| SimilarDocument::new(StoredId { part: 0, id }, similarity);
        let view = snapshot.view();
        for memtable in view.memtables() {
            memtable.documents.for_each_similar(
                (shingles, condition),
                0,
                parts.report(),
                |id, similarity| {
                    if memtable.has_id(id) {
                        found.push(document(id, similarity));
                    }
                },
            )?;
        }
        let mut of_segments = Vec::new();
        parts.for_each_similar(shingles, condition, |segment, id, similarity| {
            of_segments.push((segment, document(id, similarity)));
            Ok(())
        })?;
        for (number, one) in of_segments {
            let live = &view.segments[number];
            if live.removed.is_empty() || snapshot.is_left(number, live, one.id.id)? {
                found.push(one);
            }
        }
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Returns whether a document of a segment is left.
    fn is_left(&self, number: usize, live: &LiveSegment<F>, id: u64) -> Result<bool, ReadError> {
        match live.has_id(id)? {
            Some(is_left) => Ok(is_left),
            None => Ok(!self.removed_ids()?[number].contains(&id)),
        }
    }

    /// Returns the ids of the removed pairs of each segment.
    pub(super) fn removed_ids(&self) -> Result<&[HashSet<u64>], ReadError> {
        if let Some(removed) = self.removed_ids.get() {
            return Ok(removed);
        }
        let removed = self.view().segments.iter().map(removed_ids).collect::<Result<_, _>>()?;
        // Another thread may have been quicker, with the same ids.
        Ok(self.removed_ids.get_or_init(|| Arc::new(removed)).as_slice())
    }
}

/// Returns the ids of the removed pairs of a segment. It reads the pairs of the segment, unless none are removed.
fn removed_ids<F: Fingerprint>(live: &LiveSegment<F>) -> Result<HashSet<u64>, ReadError> {
    if live.removed.is_empty() {
        return Ok(HashSet::new());
    }
    let removed = live.placed_pairs_from(F::ZERO)?.filter_map(|placed| match placed {
        Ok((place, (_, id))) => live.removed.contains(place).then_some(Ok(id)),
        Err(error) => Some(Err(error)),
    });
    removed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::layout;
    use crate::{CreateOptions, Operation, Store, StoreOptions};
    use std::fs;

    #[test]
    fn what_is_in_memory_itself_needs_no_segment() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let values: Vec<u64> = (0..200).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let insert = |store: &Store<u64>| {
            store.write(values.iter().map(|&value| Operation::Insert(value, 1)).collect()).unwrap();
        };
        let options = StoreOptions::new().merges(false);
        let store = Store::create(path, &CreateOptions::new(), options).unwrap();
        insert(&store);
        store.flush().unwrap();
        store.close().unwrap();
        let segment = path.join(layout::segment(1));
        let mut bytes = fs::read(&segment).unwrap();
        // The first block.
        bytes[4096..4200].fill(0x55);
        fs::write(&segment, bytes).unwrap();
        let store = Store::<u64>::open(path, options).unwrap();
        insert(&store);
        let snapshot = store.snapshot();
        let found = snapshot.nearest_of_each(&values, 3, BatchOptions::new()).unwrap();
        assert!(found.iter().zip(&values).all(|(found, &value)| *found == Some(Match::new(value, value))));
        let near: Vec<u64> = values.iter().map(|value| value ^ 1).collect();
        snapshot.nearest_of_each(&near, 3, BatchOptions::new()).unwrap_err();
    }
}
