//! The self-join of a set.

use std::fmt;
use std::ops::ControlFlow;

use hamdex::{Fingerprint, Pair, PairsOptions, Progress};

use crate::error::Error;
use crate::set::Shards;

/// The self-join of a set: all pairs of fingerprints within a distance, made by [`Shards::pairs`].
///
/// Every pair is visited once, in an order that depends on the set, the distance and the memory limit, not on the number
/// of threads. In a set of families, shards are joined one by one: a pair belongs to the first family in which both
/// fingerprints are in the same shard. Beyond the set's distance, and in layout `hash`, shards that together have every
/// fingerprint are joined as one: see [`hamdex::MultiIndex::pairs`].
#[must_use = "it does nothing until the pairs are counted or visited"]
pub struct ShardsPairs<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    distance: u32,
    options: PairsOptions,
}

impl<F: Fingerprint> Shards<F> {
    /// Returns the self-join: all pairs of stored fingerprints within any `distance`. No work is done until a method of
    /// [`ShardsPairs`] counts or visits them.
    pub fn pairs(&self, distance: u32) -> ShardsPairs<'_, F> {
        ShardsPairs { set: self, distance: distance.min(F::BITS), options: PairsOptions::new() }
    }
}

impl<F: Fingerprint> ShardsPairs<'_, F> {
    /// Sets the memory limit, in bytes: see [`hamdex::Pairs::memory`].
    pub fn memory(mut self, bytes: u64) -> Self {
        self.options = self.options.memory(bytes);
        self
    }

    /// Replaces all options.
    pub fn options(mut self, options: &PairsOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// Sets the number of threads; 0, the default, for all: see [`hamdex::Pairs::threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.options = self.options.threads(threads);
        self
    }

    /// Sets the progress callback, called from any thread, separately for each shard joined by itself. It may stop the
    /// work: see [`hamdex::Pairs::progress`].
    pub fn progress(mut self, report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.options = self.options.progress(report);
        self
    }

    /// Calls `visit`, on this thread, with all pairs in batches until it breaks. Returns whether it did.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block is damaged; earlier pairs have been visited then.
    pub fn for_each_batch(
        &self,
        visit: &mut dyn FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let Some(partition) = self.set.partition_for(self.distance) else {
            let all = self.set.whole()?.pairs(self.distance).options(&self.options);
            return Ok(all.for_each_batch(visit)?);
        };
        let mut own = Vec::new();
        for number in 0..self.set.manifest().shards.len() {
            let family = number / partition.shards();
            let pairs = self.set.shard(number)?.pairs(self.distance).options(&self.options);
            let outcome = pairs.for_each_batch(|pairs| {
                own.clear();
                own.extend(pairs.iter().filter(|pair| partition.owner(pair.a, pair.b) == Some(family)));
                if own.is_empty() { ControlFlow::Continue(()) } else { visit(&own) }
            })?;
            if outcome.is_break() {
                return Ok(outcome);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the number of pairs at each distance from 0, at which there are none.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block is damaged.
    pub fn count_by_distance(&self) -> Result<Vec<u64>, Error> {
        if self.set.partition_for(self.distance).is_none() {
            let all = self.set.whole()?.pairs(self.distance).options(&self.options);
            return Ok(all.count_by_distance()?);
        }
        let mut counts = vec![0; self.distance as usize + 1];
        let _ = self.for_each_batch(&mut |pairs| {
            pairs.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            ControlFlow::Continue(())
        })?;
        Ok(counts)
    }

    /// Returns all pairs, in memory that [`ShardsPairs::memory`] does not limit.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block is damaged.
    pub fn collect(&self) -> Result<Vec<Pair<F>>, Error> {
        let mut all = Vec::new();
        let _ = self.for_each_batch(&mut |pairs| {
            all.extend_from_slice(pairs);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }
}

impl<F: Fingerprint> fmt::Debug for ShardsPairs<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardsPairs")
            .field("set", &self.set)
            .field("distance", &self.distance)
            .finish_non_exhaustive()
    }
}
