//! All against all.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Pair, Pairs, Progress};

use crate::error::Error;
use crate::set::Shards;

/// All pairs of fingerprints of a set within a distance; made by [`Shards::pairs`].
///
/// Every pair comes once, in an order that depends on the set, the distance and the memory limit, and not on the number
/// of threads. In a set of families each shard is joined by itself, one after the other: a pair belongs to the first
/// family in which both lie in one shard. Beyond the set's distance, and in a set of layout `hash`, all shards of which
/// every fingerprint is in one are joined as one: see [`hamdex::Indexes::pairs`].
#[must_use = "it does nothing until the pairs are counted or visited"]
pub struct ShardsPairs<'s, F: Fingerprint> {
    set: &'s Shards<F>,
    distance: u32,
    memory: Option<u64>,
    threads: usize,
    progress: Option<Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>>,
}

impl<F: Fingerprint> Shards<F> {
    /// The self-join: all pairs of stored fingerprints within `distance`, which may be any. Nothing happens until one of
    /// the methods of [`ShardsPairs`] is called for them.
    pub fn pairs(&self, distance: u32) -> ShardsPairs<'_, F> {
        ShardsPairs { set: self, distance: distance.min(F::BITS), memory: None, threads: 0, progress: None }
    }
}

impl<F: Fingerprint> ShardsPairs<'_, F> {
    /// The memory to keep to, in bytes: see [`Pairs::memory`].
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How many threads to use; 0, the default, for all: see [`Pairs::threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// What to call, from any thread, as the work goes on, anew for each shard that is joined by itself; it may stop the
    /// work: see [`Pairs::progress`].
    pub fn progress(mut self, report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// Calls `visit`, on this thread, with all pairs, some at a time, until it breaks. Returns whether it did.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block is damaged; the pairs that come before it in the order have been
    /// visited then.
    pub fn for_each_batch(
        &self,
        visit: &mut dyn FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let Some(partition) = self.set.partition_for(self.distance) else {
            let all = self.with_options(self.set.whole()?.pairs(self.distance));
            return Ok(all.for_each_batch(visit)?);
        };
        let mut own = Vec::new();
        for number in 0..self.set.manifest().shards.len() {
            let family = number / partition.shards();
            let pairs = self.with_options(self.set.shard(number)?.pairs(self.distance));
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

    /// How many pairs there are at each distance, from 0 on, where there are none.
    ///
    /// # Errors
    /// When a shard cannot be opened, or a block is damaged.
    pub fn count_by_distance(&self) -> Result<Vec<u64>, Error> {
        if self.set.partition_for(self.distance).is_none() {
            let all = self.with_options(self.set.whole()?.pairs(self.distance));
            return Ok(all.count_by_distance()?);
        }
        let mut counts = vec![0; self.distance as usize + 1];
        let _ = self.for_each_batch(&mut |pairs| {
            pairs.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            ControlFlow::Continue(())
        })?;
        Ok(counts)
    }

    /// All pairs. They are all in memory then, of which [`ShardsPairs::memory`] knows nothing.
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

    /// A join with these options.
    fn with_options<'p>(&self, mut pairs: Pairs<'p, F>) -> Pairs<'p, F> {
        pairs = pairs.threads(self.threads);
        if let Some(bytes) = self.memory {
            pairs = pairs.memory(bytes);
        }
        match &self.progress {
            Some(report) => {
                let report = Arc::clone(report);
                pairs.progress(move |progress| report(progress))
            }
            None => pairs,
        }
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
