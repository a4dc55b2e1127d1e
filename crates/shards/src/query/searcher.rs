//! Queries, one at a time.

use std::fmt;
use std::sync::Arc;

use hamdex::{Fingerprint, Match, MultiIndex, MultiMatches, MultiSearcher, ProgressCallback};

use crate::error::Error;
use crate::set::Shards;

/// Queries a set of shards, using the same memory again and again; every thread has its own. Made by
/// [`Shards::searcher`].
///
/// All shards that a query asks are one plan: all look-ups, one wave of reads, all scans.
pub struct ShardsSearcher<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    /// One shard of each family: those of the last query.
    near: MultiSearcher<F>,
    /// Their numbers.
    asked: Vec<usize>,
    /// All shards of layout `hash`, or of the first family; made when it is first needed.
    whole: Option<MultiSearcher<F>>,
    matches: Vec<Match<F>>,
    progress: Option<ProgressCallback>,
}

impl<F: Fingerprint> Shards<F> {
    /// A searcher: the memory that queries use again and again. One for each thread.
    #[must_use]
    pub fn searcher(&self) -> ShardsSearcher<'_, F> {
        let near = MultiIndex::new(Vec::new()).searcher();
        ShardsSearcher {
            set: self,
            near,
            asked: Vec::new(),
            whole: None,
            matches: Vec::new(),
            progress: None,
        }
    }
}

impl<F: Fingerprint> ShardsSearcher<'_, F> {
    /// All fingerprints stored within `distance` of `query`, each once, nearest first, then by fingerprint.
    ///
    /// Any distance is exact. One beyond the set's takes longer, and a set of families answers it by all shards of one
    /// family.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block that matters is damaged.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], Error> {
        self.with(query, distance, |searcher| Ok(searcher.within(query, distance)?))
    }

    /// Some fingerprint stored within `distance` of `query`, if there is one; not always the nearest.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, Error> {
        let reach = self.reach(distance);
        let mut found = self.route(query, reach)?.first(query, reach)?;
        if found.is_none() && reach < distance {
            found = self.route(query, distance)?.first(query, distance)?;
        }
        Ok(found.map(|found| found.found))
    }

    /// The `count` fingerprints nearest to `query`, nearest first, then by fingerprint; all of them if there are no
    /// more. See [`ShardsSearcher::nearest_within`], which bounds it.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn nearest(&mut self, query: F, count: usize) -> Result<&[Match<F>], Error> {
        self.nearest_within(query, count, F::BITS)
    }

    /// The `count` nearest of the fingerprints stored within `distance` of `query`, nearest first, then by
    /// fingerprint; all of these if there are no more.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], Error> {
        let reach = self.reach(distance);
        let found = self.with(query, reach, |searcher| Ok(searcher.nearest_within(query, count, reach)?))?;
        if found.len() >= count || reach == distance {
            return Ok(&self.matches);
        }
        self.with(query, distance, |searcher| Ok(searcher.nearest_within(query, count, distance)?))
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// As for [`ShardsSearcher::within`].
    pub fn contains(&mut self, fingerprint: F) -> Result<bool, Error> {
        Ok(self.first(fingerprint, 0)?.is_some())
    }

    /// Calls `report` while a query reads many blocks, from now on; it may stop the query: see
    /// [`MultiSearcher::progress`].
    pub fn report_to(&mut self, report: ProgressCallback) {
        self.near.report_to(Arc::clone(&report));
        if let Some(whole) = &mut self.whole {
            whole.report_to(Arc::clone(&report));
        }
        self.progress = Some(report);
    }

    /// The distance to begin with: what is near enough for the families is found by fewer shards.
    fn reach(&self, distance: u32) -> u32 {
        if self.set.partition().is_some() { distance.min(self.set.distance()) } else { distance }
    }

    /// Keeps what a search of the right shards finds.
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

    /// What searches the shards that a query at a distance has to ask.
    fn route(&mut self, query: F, distance: u32) -> Result<&mut MultiSearcher<F>, Error> {
        let Some(partition) = self.set.partition_for(distance) else { return self.whole() };
        let shards = (0..partition.families())
            .map(|family| family * partition.shards() + partition.shard(family, query));
        if !self.asked.iter().copied().eq(shards.clone()) {
            self.asked.clear();
            self.asked.extend(shards);
            for &number in &self.asked {
                if let Err(error) = self.set.shard(number) {
                    self.asked.clear();
                    return Err(error);
                }
            }
            let open = |&number: &usize| Arc::clone(self.set.shard(number).expect("it is open"));
            self.near.turn_to(self.asked.iter().map(open));
        }
        Ok(&mut self.near)
    }

    /// What searches shards that hold every fingerprint together.
    pub(crate) fn whole(&mut self) -> Result<&mut MultiSearcher<F>, Error> {
        if self.whole.is_none() {
            let mut whole = self.set.whole()?.searcher();
            if let Some(progress) = &self.progress {
                whole.report_to(Arc::clone(progress));
            }
            self.whole = Some(whole);
        }
        Ok(self.whole.as_mut().expect("it has been made"))
    }

    /// The set.
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
