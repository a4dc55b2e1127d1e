//! The partition of fingerprints over shards.
//!
//! Two fingerprints that differ in at most k bits agree in at least one of k + 1 groups of their bits. Family i is
//! partitioned by a hash of group i, so the two are in the same shard of that family. Ranges of the group's bits would
//! put most fingerprints of real texts into one shard, since these share leading bits. Equal groups have equal hashes,
//! so a hash loses nothing, and it needs no sample of the input.

use std::marker::PhantomData;

use hamdex::Fingerprint;

/// The families of a set: the group of bits of each, and the number of shards.
#[derive(Debug, Clone)]
pub(crate) struct Partition<F> {
    /// Per family: the shift of its group of bits, and a mask of the group's length.
    groups: Vec<(u32, u128)>,
    /// Number of shards per family.
    shards: u64,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Partition<F> {
    /// Creates the partition of one family by all bits, for layout `hash`.
    pub(crate) fn whole(shards: usize) -> Self {
        Self::of(1, shards)
    }

    /// Creates a partition with this number of families, and of shards per family.
    pub(crate) fn of(families: u32, shards: usize) -> Self {
        let start = |group: u32| F::BITS * group / families;
        let group = |number| {
            let bits = start(number + 1) - start(number);
            (F::BITS - start(number + 1), u128::MAX >> (u128::BITS - bits))
        };
        Self { groups: (0..families).map(group).collect(), shards: shards as u64, width: PhantomData }
    }

    pub(crate) fn families(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of shards per family.
    pub(crate) fn shards(&self) -> usize {
        self.shards as usize
    }

    /// Returns the shard of a fingerprint within a family, counted from 0.
    #[inline]
    pub(crate) fn shard(&self, family: usize, fingerprint: F) -> usize {
        let (shift, mask) = self.groups[family];
        let bits = (fingerprint.to_u128() >> shift) & mask;
        (mix(bits as u64 ^ mix((bits >> 64) as u64)) % self.shards) as usize
    }

    /// Returns the family that reports a match or a pair: the first in which both fingerprints are in the same shard.
    #[inline]
    pub(crate) fn owner(&self, one: F, other: F) -> Option<usize> {
        (0..self.families()).find(|&family| self.shard(family, one) == self.shard(family, other))
    }
}

/// A step of SplitMix64 (Steele, Lea, Flood 2014).
#[inline]
pub(crate) fn mix(bits: u64) -> u64 {
    let mut mixed = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_every_bit_once_and_are_as_even_as_possible() {
        fn check<F: Fingerprint>() {
            for families in 1..=F::BITS {
                let partition = Partition::<F>::of(families, 3);
                let masks: Vec<u128> = partition.groups.iter().map(|(shift, mask)| mask << shift).collect();
                assert_eq!(masks.iter().fold(0, |all, mask| all | mask), F::ONES.to_u128());
                let ones: Vec<u32> = masks.iter().map(|mask| mask.count_ones()).collect();
                assert_eq!(ones.iter().sum::<u32>(), F::BITS);
                assert!(ones.iter().max().unwrap() - ones.iter().min().unwrap() <= 1);
                assert!(masks.is_sorted_by(|a, b| a > b), "the first family has the first bits");
            }
        }
        check::<u64>();
        check::<u128>();
    }

    #[test]
    fn fingerprints_within_the_distance_share_a_shard() {
        for families in [1, 2, 4, 7] {
            let partition = Partition::<u64>::of(families, 5);
            for number in 0..2000 {
                let (one, seed) = (mix(number), mix(number ^ 0xabcd));
                let other = (1..families).fold(one, |bits, place| bits ^ 1 << (seed >> (6 * place) & 63));
                assert!(partition.owner(one, other).is_some(), "{one:x} {other:x}");
                assert_eq!(partition.owner(one, one), Some(0));
            }
        }
    }

    #[test]
    fn shards_match_the_specification() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        // Computed by another program.
        let partition = Partition::<u64>::of(4, 4);
        let shards = |fingerprint| [0, 1, 2, 3].map(|family| partition.shard(family, fingerprint));
        assert_eq!(shards(0), [3, 3, 3, 3]);
        assert_eq!(shards(0x0123_4567_89ab_cdef), [1, 1, 3, 0]);
        let wide = Partition::<u128>::whole(7);
        assert_eq!(wide.shard(0, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210), 5);
    }

    #[test]
    fn fingerprints_with_equal_leading_bits_are_distributed_evenly() {
        let partition = Partition::<u64>::of(4, 8);
        let mut counts = [0; 8];
        // A thousand values of the group, all in one of 2^16 ranges.
        (0..1000).for_each(|low| counts[partition.shard(3, 0xabcd_0000_0000_0000 | low)] += 1);
        assert!(counts.iter().all(|&count| (60..200).contains(&count)), "{counts:?}");
    }
}
