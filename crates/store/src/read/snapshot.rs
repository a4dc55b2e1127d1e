//! Immutable snapshots of the set.

use std::collections::HashSet;
use std::fmt;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hamdex::{BatchOptions, Fingerprint, Match, MultiIndex, OpenOptions};

use crate::error::Error;
use crate::manifest::schema::Schema;
use crate::memtable::Memtable;
use crate::segment::write_index;
use crate::view::View;

/// The path of an index of memtables in error messages.
const MEMORY: &str = "(memory)";

/// Queries that are processed together.
const CHUNK: usize = 1 << 16;

/// An immutable snapshot of the set. It is cheap to take and to clone. The files that it needs are kept as long as it
/// is held, even after they have been merged.
pub struct Snapshot<F: Fingerprint> {
    view: Arc<View<F>>,
    pub(super) schema: Arc<Schema>,
    /// The ids of the removed pairs of each segment, once they are needed.
    pub(super) removed_ids: OnceLock<Arc<Vec<HashSet<u64>>>>,
}

/// The exact counts of a snapshot: see [`Snapshot::count`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// Distinct fingerprints.
    pub fingerprints: u64,
    /// Pairs of fingerprint and id; as many as fingerprints in a store without ids.
    pub pairs: u64,
}

impl<F: Fingerprint> Snapshot<F> {
    pub(crate) fn new(view: Arc<View<F>>, schema: Arc<Schema>) -> Self {
        Self { view, schema, removed_ids: OnceLock::new() }
    }

    pub(crate) fn view(&self) -> &View<F> {
        &self.view
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that has to be read is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool, Error> {
        Ok(self.view.contains(fingerprint)?)
    }

    /// Returns the ids of a fingerprint, ascending; none if it is not stored, or the store has no ids.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<u64>, Error> {
        Ok(if self.schema.identity.has_ids { self.view.ids(fingerprint)? } else { Vec::new() })
    }

    /// Whether a (fingerprint, id) pair is stored; in a store without ids, the id is 0. It reads less than
    /// [`Snapshot::ids`] if a fingerprint has many ids.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn contains_pair(&self, fingerprint: F, id: u64) -> Result<bool, Error> {
        let can_be = self.schema.identity.has_ids || id == 0;
        Ok(can_be && self.view.contains_pair((fingerprint, id))?)
    }

    /// Counts fingerprints and pairs exactly. It reads the whole set, unless this is a single segment without removed
    /// pairs. [`StoreStats`](crate::inspect::StoreStats) has upper bounds for free.
    ///
    /// # Errors
    /// When a block or page is damaged.
    pub fn count(&self) -> Result<Count, Error> {
        let mut count = Count::default();
        if let [live] = &self.view.segments[..]
            && live.removed.is_empty()
            && self.view.memtables().all(|memtable| memtable.len() == 0)
        {
            return Ok(Count { fingerprints: live.index().len(), pairs: live.len() });
        }
        let mut last = None;
        for pair in self.pairs_in_order() {
            let (fingerprint, _) = pair?;
            count.pairs += 1;
            count.fingerprints += u64::from(last.replace(fingerprint) != Some(fingerprint));
        }
        Ok(count)
    }

    /// Returns all (fingerprint, id) pairs in order; in a store without ids, all ids are 0. Ends after the first error.
    pub fn pairs_in_order(&self) -> impl Iterator<Item = Result<(F, u64), Error>> + '_ {
        self.pairs_in_order_from(F::ZERO)
    }

    /// Returns the pairs whose fingerprints are at least `from`: see [`Snapshot::pairs_in_order`].
    pub fn pairs_in_order_from(&self, from: F) -> impl Iterator<Item = Result<(F, u64), Error>> + '_ {
        self.view.pairs_from(from).map(|pair| pair.map_err(Error::from))
    }

    /// Returns the pairs whose fingerprints are in a range: see [`Snapshot::pairs_in_order`].
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let store = Store::<u64>::create(directory.path().join("s"), &CreateOptions::new(), StoreOptions::new())?;
    /// for fingerprint in 0..10 {
    ///     store.insert(fingerprint, 7)?;
    /// }
    /// let snapshot = store.snapshot();
    /// let found: Vec<_> = snapshot.pairs_in_range(3..=5).collect::<Result<_, _>>()?;
    /// assert_eq!(found, [(3, 7), (4, 7), (5, 7)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs_in_range(
        &self,
        range: impl RangeBounds<F>,
    ) -> impl Iterator<Item = Result<(F, u64), Error>> + '_ {
        let (from, skipped) = match range.start_bound() {
            Bound::Unbounded => (F::ZERO, None),
            Bound::Included(&least) => (least, None),
            Bound::Excluded(&least) => (least, Some(least)),
        };
        let end = range.end_bound().cloned();
        let is_within = move |fingerprint: F| match end {
            Bound::Unbounded => true,
            Bound::Included(greatest) => fingerprint <= greatest,
            Bound::Excluded(end) => fingerprint < end,
        };
        self.pairs_in_order_from(from)
            .skip_while(move |pair| matches!(pair, Ok((fingerprint, _)) if Some(*fingerprint) == skipped))
            .take_while(move |pair| pair.as_ref().map_or(true, |(fingerprint, _)| is_within(*fingerprint)))
    }

    /// Returns the snapshot as indexes that are queried as one, for the self-join for example. Memtables are converted
    /// to an index in memory.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn indexes(&self) -> Result<MultiIndex<F>, Error> {
        let view = self.view();
        let mut all = Vec::new();
        if view.memtables().any(|memtable| memtable.len() > 0) {
            // Several memtables may be in memory.
            let mut pairs: Vec<_> = view.memtables().flat_map(Memtable::to_sorted).collect();
            pairs.sort_unstable();
            let mut bytes = Vec::new();
            let options = self.schema.build_options()?.names(false);
            write_index(options, pairs.into_iter(), std::iter::empty(), &mut bytes)?;
            all.push(Arc::new(OpenOptions::new().from_mapping::<F>(bytes.into(), Path::new(MEMORY))?));
        }
        Ok(view.with_segment_indexes(all))
    }

    /// Calls `visit` with the index of each query and all fingerprints within `distance` of it, nearest first, then by
    /// fingerprint. Queries are visited in order, including those without a match, until `visit` breaks. Returns
    /// whether it did.
    ///
    /// # Errors
    /// When a block that has to be read is damaged. Earlier queries may have been visited.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        for (number, chunk) in queries.chunks(CHUNK).enumerate() {
            let found = self.batch_of_chunk(chunk, distance, options)?;
            let mut rest = found.as_slice();
            let mut matches = Vec::new();
            for place in 0..chunk.len() {
                let count = rest.iter().take_while(|(query, _)| *query == place).count();
                let (own, behind) = rest.split_at(count);
                rest = behind;
                matches.clear();
                // Memtables and segments are limited separately before.
                matches.extend(own.iter().map(|(_, found)| *found).take(options.match_limit()));
                if visit(number * CHUNK + place, &matches).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
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
        let memtable =
            |&query: &F| self.view.memtables().filter_map(|memtable| memtable.nearest(query, distance)).min();
        let mut nearest: Vec<Option<Match<F>>> = queries.iter().map(memtable).collect();
        // A match at distance 0 is final.
        let is_open = |place: &usize| nearest[*place].is_none_or(|found| found.distance > 0);
        let open: Vec<usize> = (0..queries.len()).filter(is_open).collect();
        let asked: Vec<F> = open.iter().map(|&place| queries[place]).collect();
        let indexes = self.view.segment_indexes();
        let _ = indexes.batch_with(&asked, distance, &options.limit(1), |query, matches| {
            let nearest = &mut nearest[open[query]];
            *nearest = nearest.iter().copied().chain(matches.get(0).map(|near| near.found_in[0].found)).min();
            ControlFlow::Continue(())
        })?;
        Ok(nearest)
    }

    /// Returns the matches of all queries, sorted by query and match.
    fn batch_of_chunk(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
    ) -> Result<Vec<(usize, Match<F>)>, Error> {
        let mut found: Vec<(usize, Match<F>)> = Vec::new();
        let indexes = self.view.segment_indexes();
        let _ = indexes.batch_with(queries, distance, options, |query, matches| {
            found.extend(matches.iter().map(|near| (query, near.found_in[0].found)));
            ControlFlow::Continue(())
        })?;
        for (place, &query) in queries.iter().enumerate() {
            for memtable in self.view.memtables() {
                let _ = memtable.for_each(query, distance, |value| {
                    found.push((place, Match::new(query, value)));
                    ControlFlow::Continue(())
                });
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

impl<F: Fingerprint> Clone for Snapshot<F> {
    fn clone(&self) -> Self {
        let Self { view, schema, removed_ids } = self;
        Self { view: Arc::clone(view), schema: Arc::clone(schema), removed_ids: removed_ids.clone() }
    }
}

impl<F: Fingerprint> fmt::Debug for Snapshot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("sequence", &self.view.sequence).finish_non_exhaustive()
    }
}
