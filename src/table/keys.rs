//! The last fingerprint of each block, in memory: which block may hold a value?
//!
//! A directory cuts the span of the keys into even parts, about four keys each where they are spread
//! evenly, and says where each part begins. In a part of up to eight keys all are compared; in a larger
//! one, as clusters make them, a binary search does the rest.

use crate::arch::prefetch;
use hamdex_fingerprint::Fingerprint;

/// Keys that are compared all at once.
const COMPARED: usize = 8;

/// Keys in a part of the directory, as a power of two, where they are spread evenly.
const KEYS_PER_PART_LOG2: u32 = 2;

/// The strictly ascending keys of a table.
#[derive(Debug)]
pub(crate) struct Keys<F> {
    /// Behind them [`COMPARED`] more, greater than or equal to all values.
    keys: Vec<F>,
    /// How many keys, without those behind them.
    count: usize,
    /// For each part, how many keys lie before it; one more for the end.
    directory: Vec<u32>,
    /// What [`Self::part_of`] takes off a value: the first key.
    base: F,
    /// How far it shifts the rest.
    shift: u32,
}

impl<F: Fingerprint> Keys<F> {
    /// Takes over keys that are strictly ascending, at most `u32::MAX` of them.
    pub(crate) fn new(mut keys: Vec<F>) -> Self {
        let (base, top) = match (keys.first(), keys.last()) {
            (Some(&first), Some(&last)) => (first, last),
            _ => (F::ZERO, F::ZERO),
        };
        let span_bits = F::BITS - top.minus(base).leading_zeros();
        let part_bits = (usize::BITS - keys.len().leading_zeros()).saturating_sub(KEYS_PER_PART_LOG2);
        let count = keys.len();
        keys.extend([F::ONES; COMPARED]);
        let shift = span_bits.saturating_sub(part_bits);
        let mut this = Self { keys, count, directory: Vec::new(), base, shift };
        let parts = this.part_of(top) + 1;
        this.directory = vec![0; parts + 1];
        for key in 0..count {
            let part = this.part_of(this.keys[key]);
            this.directory[part + 1] += 1;
        }
        for part in 0..parts {
            this.directory[part + 1] += this.directory[part];
        }
        this
    }

    /// The part of a value not below the base; parts beyond the last have no keys.
    #[inline(always)]
    fn part_of(&self, value: F) -> usize {
        let offset = value.minus(self.base).to_u128();
        // A shift by the whole width leaves nothing.
        usize::try_from(offset.checked_shr(self.shift).unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// How many keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The key of a block.
    #[inline(always)]
    pub(crate) fn get(&self, block: usize) -> F {
        self.keys[block]
    }

    /// The first block whose key is not below `value`: the only one that can hold it. The number of
    /// blocks if there is none.
    #[inline(always)]
    pub(crate) fn find(&self, value: F) -> usize {
        let Some((start, end)) = self.part(value) else {
            return if value <= self.base { 0 } else { self.count };
        };
        if end - start <= COMPARED {
            // Those of later parts are greater than the value, and so are those behind the last.
            start + self.keys[start..][..COMPARED].iter().map(|&key| usize::from(key < value)).sum::<usize>()
        } else {
            start + self.keys[start..end].partition_point(|&key| key < value)
        }
    }

    /// Where the keys of a value's part start and end; `None` where the value is not above the first
    /// key, or above all.
    #[inline(always)]
    fn part(&self, value: F) -> Option<(usize, usize)> {
        let part = self.part_of(value);
        let is_inside = value > self.base && part < self.directory.len() - 1;
        is_inside.then(|| (self.directory[part] as usize, self.directory[part + 1] as usize))
    }

    /// Prefetches what a look-up of the value needs first.
    #[inline(always)]
    pub(crate) fn prefetch_directory(&self, value: F) {
        prefetch(&self.directory, self.part_of(value));
    }

    /// Prefetches what a look-up of the value needs next. Returns a block near to the one that it
    /// will find.
    #[inline(always)]
    pub(crate) fn prefetch_keys(&self, value: F) -> Option<usize> {
        self.part(value).map(|(start, end)| {
            // They may lie in two cache lines.
            prefetch(&self.keys, start);
            prefetch(&self.keys, start + COMPARED - 1);
            start.midpoint(end)
        })
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() * size_of::<F>() + self.directory.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<F: Fingerprint>(mut keys: Vec<F>, values: Vec<F>) {
        keys.sort_unstable();
        keys.dedup();
        let built = Keys::new(keys.clone());
        assert!(built.directory.len() <= keys.len() + 2, "{} for {}", built.directory.len(), keys.len());
        let edges = [F::ZERO, F::ONES];
        for value in values.into_iter().chain(keys.iter().copied()).chain(edges) {
            assert_eq!(built.find(value), keys.partition_point(|&key| key < value), "{value:?} in {keys:?}");
        }
    }

    proptest! {
        #[test]
        fn the_block_is_the_one_a_plain_search_finds(
            keys: Vec<u64>,
            cluster: u64,
            offsets in prop::collection::vec(0u64..5000, 0..200),
            values: Vec<u64>,
        ) {
            check(keys.clone(), values.clone());
            check(offsets.iter().map(|o| cluster.saturating_add(*o)).collect(), values.clone());
            let widened = |v: &u64| u128::from(*v) << 64 | u128::from(v.reverse_bits());
            check(keys.iter().map(widened).collect(), values.iter().map(widened).collect());
        }
    }

    #[test]
    fn few_and_extreme_keys() {
        check::<u64>(vec![], vec![5]);
        check(vec![0u64], vec![1]);
        check(vec![u64::MAX], vec![1]);
        check(vec![0, u64::MAX], vec![1, u64::MAX - 1]);
        check(vec![0, u128::MAX], vec![1, u128::MAX - 1]);
    }
}
