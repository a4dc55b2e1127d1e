//! Queries, one at a time and many at once.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::multi::{MultiSearcher, Router, batch_by_routes};
use hamdex::set::MatchVisitor;
use hamdex::{BatchOptions, Fingerprint, Index, Match, MultiIndex, ProgressCallback, check_distance};

use crate::error::Error;
use crate::partition::Partition;
use crate::set::Shards;

/// A searcher of a set, with buffers that are reused between queries; one per thread. Made by [`Shards::searcher`].
///
/// All shards of a query are searched in one plan: all lookups, one wave of reads, all scans.
pub struct ShardsSearcher<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    /// A searcher of one shard per family, those of the last query.
    near: MultiSearcher<F>,
    /// A searcher of all shards in layout `hash`, or of the first family; created when first needed.
    whole: Option<MultiSearcher<F>>,
    progress: Option<ProgressCallback>,
}

impl<F: Fingerprint> Shards<F> {
    /// Creates a searcher; one per thread.
    #[must_use]
    pub fn searcher(&self) -> ShardsSearcher<'_, F> {
        ShardsSearcher { set: self, near: MultiIndex::new([]).searcher(), whole: None, progress: None }
    }

    /// Calls `visit` with the index of each query and its matches within `distance`, nearest first, then by
    /// fingerprint; in the order of the queries, with or without matches, until it breaks. Returns whether it did.
    ///
    /// In a set of families, each shard answers a batch of the queries that are routed to it. [`BatchOptions::memory`]
    /// limits the memory whatever the number of shards; progress is reported per batch of a shard.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block that is read is damaged, and earlier queries may have been visited; or
    /// the distance exceeds the width.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, Error> {
        match self.families_for(distance) {
            Some(families) => batch_by_routes(&families, queries, distance, options, visit),
            None => Ok(self.whole()?.batch_of_matches(queries, distance, options, visit)?),
        }
    }

    /// Returns the families, if there are some for this distance.
    fn families_for(&self, distance: u32) -> Option<Families<'_, F>> {
        Some(Families { set: self, partition: self.partition_for(distance)? })
    }
}

/// The shards of a set of families.
struct Families<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    partition: &'s Partition<F>,
}

impl<F: Fingerprint> Router<F> for Families<'_, F> {
    type Error = Error;

    fn families(&self) -> usize {
        self.partition.families()
    }

    fn route(&self, family: usize, fingerprint: F) -> usize {
        family * self.partition.shards() + self.partition.shard(family, fingerprint)
    }

    fn index(&self, number: usize) -> Result<&Arc<Index<F>>, Error> {
        self.set.shard(number)
    }
}

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns all stored fingerprints within `distance` of `query`, each once, nearest first, then by fingerprint.
    ///
    /// Any distance up to the width is exact. Beyond the set's distance, a query takes longer; a set of families
    /// answers it from all shards of one family.
    ///
    /// # Errors
    /// When a shard cannot be opened, a block that is read is damaged, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Returns any stored fingerprint within `distance` of `query`, not necessarily the nearest.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Error> {
        check_distance::<F>(distance)?;
        let reach = self.reach(distance);
        let mut found = self.route(query, reach)?.first(query, reach)?;
        if found.is_none() && reach < distance {
            found = self.route(query, distance)?.first(query, distance)?;
        }
        Ok(found.map(Match::from))
    }

    /// Returns the `count` fingerprints nearest to `query`, or all if there are fewer, nearest first, then by
    /// fingerprint. See [`ShardsSearcher::nearest_within`] for a bounded search.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn nearest(&mut self, query: F, count: usize) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, count, F::BITS)
    }

    /// Returns the `count` nearest stored fingerprints within `distance` of `query`, or all if there are fewer, nearest
    /// first, then by fingerprint.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], Error> {
        check_distance::<F>(distance)?;
        // All matches take one search at the full distance. A limited number may lie within the set's own distance, which
        // is cheaper.
        let reach = if count == usize::MAX { distance } else { self.reach(distance) };
        let is_near = reach < distance
            && self.route(query, reach)?.nearest_matches(query, count, reach)?.len() >= count;
        if is_near {
            return Ok(self.near.matches());
        }
        Ok(self.route(query, distance)?.nearest_matches(query, count, distance)?)
    }

    /// Returns whether a fingerprint is stored.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn contains(&mut self, fingerprint: F) -> Result<bool, Error> {
        Ok(self.first(fingerprint, 0)?.is_some())
    }

    /// Sets the progress callback of later queries that read many blocks. It may stop a query: see
    /// [`MultiSearcher::progress`].
    pub fn report_to(&mut self, report: ProgressCallback) {
        self.near.report_to(Arc::clone(&report));
        if let Some(whole) = &mut self.whole {
            whole.report_to(Arc::clone(&report));
        }
        self.progress = Some(report);
    }

    /// Returns the distance of the first attempt: within the set's distance, families need fewer shards.
    fn reach(&self, distance: u32) -> u32 {
        if self.set.partition().is_some() { distance.min(self.set.distance()) } else { distance }
    }

    /// Returns a searcher of the shards for a query within a distance.
    fn route(&mut self, query: F, distance: u32) -> Result<&mut MultiSearcher<F>, Error> {
        let Some(families) = self.set.families_for(distance) else { return self.whole() };
        self.near.turn_to_route(&families, query)?;
        Ok(&mut self.near)
    }

    /// Returns a searcher of shards that together have every fingerprint.
    pub(crate) fn whole(&mut self) -> Result<&mut MultiSearcher<F>, Error> {
        if self.whole.is_none() {
            let mut whole = self.set.whole()?.searcher();
            if let Some(progress) = &self.progress {
                whole.report_to(Arc::clone(progress));
            }
            self.whole = Some(whole);
        }
        Ok(self.whole.as_mut().expect("it was created above"))
    }

    /// Returns the set.
    #[must_use]
    pub fn set(&self) -> &Shards<F> {
        self.set
    }
}

impl<F: Fingerprint> fmt::Debug for ShardsSearcher<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardsSearcher").field("set", &self.set).finish_non_exhaustive()
    }
}
