//! Many queries at once: the parts of a snapshot are segments, each a batch of its own, and memtables.

use std::ops::ControlFlow;

use hamdex::{BatchOptions, Fingerprint, Gathered, Match, Parts, ReadError, check_distance, deliver};

use crate::error::Error;
use crate::read::searcher::{Searcher, keep_nearest};
use crate::read::snapshot::Snapshot;
use crate::segment::LiveSegment;

/// Returns whether a match counts.
type Counts<'a, F> = &'a mut dyn FnMut(&Match<F>) -> Result<bool, ReadError>;

/// Queries of a memtable between two cancellation checks.
const QUERIES_AT_ONCE: usize = 64;

impl<F: Fingerprint> Snapshot<F> {
    /// Calls `visit` with the index of each query and all fingerprints within `distance` of it, nearest first, then by
    /// fingerprint. Queries are visited in order, including those without a match, until `visit` breaks. Returns
    /// whether it did. Memory stays within that of the options, except for the matches of a single query.
    ///
    /// # Errors
    /// When a block that has to be read is damaged, and earlier queries may have been visited; or the distance exceeds the
    /// width.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        check_distance::<F>(distance)?;
        let limit = options.match_limit();
        let mut parts = SnapshotParts::new(self, distance);
        // Memtables and segments are limited separately before.
        let mut visit = |place, found: &[Match<F>]| visit(place, &found[..found.len().min(limit)]);
        deliver(&mut parts, queries, options, &mut visit)
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
        let _ = self.batch_with(&asked, distance, &options.limit(1), |_, matches| {
            nearest.push(matches.first().copied());
            ControlFlow::Continue(())
        })?;
        let of = |&query: &F| match recent.binary_search(&query) {
            Ok(_) => Some(Match::new(query, query)),
            Err(_) => nearest[asked.partition_point(|asked| *asked < query)],
        };
        Ok(queries.iter().map(of).collect())
    }
}

/// The parts of a snapshot.
pub(super) struct SnapshotParts<'s, F: Fingerprint> {
    snapshot: &'s Snapshot<F>,
    distance: u32,
    /// Made for the first query that is answered alone.
    searcher: Option<Searcher<F>>,
}

impl<'s, F: Fingerprint> SnapshotParts<'s, F> {
    pub(super) fn new(snapshot: &'s Snapshot<F>, distance: u32) -> Self {
        Self { snapshot, distance, searcher: None }
    }

    fn gather_from_segment(
        &self,
        live: &LiveSegment<F>,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut is_left = |one: &Match<F>| live.is_left(one.fingerprint);
        let counts: Option<Counts<'_, F>> = if live.removed.is_empty() { None } else { Some(&mut is_left) };
        Ok(found.add_batch(live.index(), queries, self.distance, options, counts, |one| one)?)
    }

    fn gather_from_memtables(
        &self,
        queries: &[F],
        limit: usize,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<ControlFlow<()>, Error> {
        let mut nearest = Vec::new();
        for (place, &query) in queries.iter().enumerate() {
            if place.is_multiple_of(QUERIES_AT_ONCE) {
                found.check()?;
            }
            for memtable in self.snapshot.view().memtables() {
                let outcome = if limit == usize::MAX {
                    memtable
                        .for_each(query, self.distance, |value| found.push(place, Match::new(query, value)))
                } else {
                    nearest.clear();
                    let _ = memtable.for_each(query, self.distance, |value| {
                        nearest.push(Match::new(query, value));
                        keep_nearest(&mut nearest, limit, limit.saturating_mul(2));
                        ControlFlow::Continue(())
                    });
                    keep_nearest(&mut nearest, limit, 0);
                    nearest.iter().try_for_each(|&one| found.push(place, one))
                };
                if outcome.is_break() {
                    return Ok(outcome);
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<F: Fingerprint> Parts<F, Match<F>> for SnapshotParts<'_, F> {
    type Error = Error;

    fn gather(
        &mut self,
        queries: &[F],
        options: &BatchOptions,
        found: &mut Gathered<'_, Match<F>>,
    ) -> Result<ControlFlow<()>, Error> {
        // Memtables first, as they are most likely to show early that there is too little room.
        if self.gather_from_memtables(queries, options.match_limit(), found)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        for live in self.snapshot.view().segments.iter() {
            if self.gather_from_segment(live, queries, options, found)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn answer(&mut self, query: F, options: &BatchOptions, found: &mut Vec<Match<F>>) -> Result<(), Error> {
        let searcher = self.searcher.get_or_insert_with(|| {
            let mut searcher = self.snapshot.searcher();
            options.callback().into_iter().for_each(|report| searcher.report_to(report));
            searcher
        });
        found.clear();
        found.extend_from_slice(searcher.nearest_within(query, options.match_limit(), self.distance)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::disk::layout;
    use crate::{CreateOptions, Operation, Store, StoreOptions};

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
