//! Single queries.

use std::fmt;
use std::sync::Arc;

use hamdex::multi::{MultiMatches, MultiSearcher};
use hamdex::{Fingerprint, Match, MultiIndex, ProgressCallback, check_distance};

use crate::error::Error;
use crate::set::Shards;

/// A searcher of a set, with buffers that are reused between queries; one per thread. Made by [`Shards::searcher`].
///
/// All shards of a query are searched in one plan: all lookups, one wave of reads, all scans.
pub struct ShardsSearcher<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    /// A searcher of one shard per family, those of the last query.
    near: MultiSearcher<F>,
    /// The numbers of these shards.
    routed: Vec<usize>,
    /// A searcher of all shards in layout `hash`, or of the first family; created when first needed.
    whole: Option<MultiSearcher<F>>,
    matches: Vec<Match<F>>,
    progress: Option<ProgressCallback>,
}

impl<F: Fingerprint> Shards<F> {
    /// Creates a searcher; one per thread.
    #[must_use]
    pub fn searcher(&self) -> ShardsSearcher<'_, F> {
        let near = MultiIndex::new(Vec::new()).searcher();
        ShardsSearcher {
            set: self,
            near,
            routed: Vec::new(),
            whole: None,
            matches: Vec::new(),
            progress: None,
        }
    }
}

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// Returns all stored fingerprints within `distance` of `query`, each once, nearest first, then by fingerprint.
    ///
    /// Any distance up to the width is exact. Beyond the set's distance, a query takes longer; a set of families answers it from all
    /// shards of one family.
    ///
    /// # Errors
    /// When a shard cannot be opened, a block that is read is damaged, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        check_distance::<F>(distance)?;
        self.with(query, distance, |searcher| Ok(searcher.within(query, distance)?))
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
        Ok(found.map(|found| found.found))
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
        let found = self.with(query, reach, |searcher| Ok(searcher.nearest_within(query, count, reach)?))?;
        if found.len() >= count || reach == distance {
            return Ok(&self.matches);
        }
        self.with(query, distance, |searcher| Ok(searcher.nearest_within(query, count, distance)?))
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

    /// Searches the shards of a query, and keeps the matches.
    fn with(
        &mut self,
        query: F,
        distance: u32,
        search: impl FnOnce(&mut MultiSearcher<F>) -> Result<MultiMatches<'_, F>, Error>,
    ) -> Result<&[Match<F>], Error> {
        let mut matches = std::mem::take(&mut self.matches);
        matches.clear();
        let found = search(self.route(query, distance)?)?;
        matches.extend(found.iter().map(|found| found.found_in[0].found));
        self.matches = matches;
        Ok(&self.matches)
    }

    /// Returns a searcher of the shards for a query within a distance.
    fn route(&mut self, query: F, distance: u32) -> Result<&mut MultiSearcher<F>, Error> {
        let Some(partition) = self.set.partition_for(distance) else { return self.whole() };
        let shards = (0..partition.families())
            .map(|family| family * partition.shards() + partition.shard(family, query));
        if !self.routed.iter().copied().eq(shards.clone()) {
            self.routed.clear();
            self.routed.extend(shards);
            for &number in &self.routed {
                if let Err(error) = self.set.shard(number) {
                    self.routed.clear();
                    return Err(error);
                }
            }
            let open = |&number: &usize| Arc::clone(self.set.shard(number).expect("it was opened above"));
            self.near.turn_to(self.routed.iter().map(open));
        }
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
