//! The self-join of a set, for [`FingerprintSet`](hamdex::FingerprintSet).
//!
//! In a set of families, shards are joined one by one: a pair belongs to the first family in which both fingerprints
//! are in the same shard. Beyond the set's distance, and in layout `hash`, shards that together have every fingerprint
//! are joined as one: see [`hamdex::MultiIndex::pairs`].

use std::ops::ControlFlow;

use hamdex::{Fingerprint, Pair, PairsOptions};

use crate::error::Error;
use crate::set::Shards;

impl<F: Fingerprint> Shards<F> {
    /// Calls `visit`, on this thread, with all pairs in batches until it breaks. Returns whether it did.
    pub(super) fn for_each_pair_batch(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut dyn FnMut(&[Pair<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, Error> {
        let Some(partition) = self.partition_for(distance) else {
            return Ok(self.whole()?.pairs(distance).options(options).for_each_batch(visit)?);
        };
        let mut own = Vec::new();
        for number in 0..self.manifest().shards.len() {
            let family = number / partition.shards();
            let pairs = self.shard(number)?.pairs(distance).options(options);
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
    pub(super) fn count_pairs_by_distance(
        &self,
        distance: u32,
        options: &PairsOptions,
    ) -> Result<Vec<u64>, Error> {
        if self.partition_for(distance).is_none() {
            return Ok(self.whole()?.pairs(distance).options(options).count_by_distance()?);
        }
        let mut counts = vec![0; distance as usize + 1];
        let _ = self.for_each_pair_batch(distance, options, &mut |pairs| {
            pairs.iter().for_each(|pair| counts[pair.distance as usize] += 1);
            ControlFlow::Continue(())
        })?;
        Ok(counts)
    }
}
