//! Groups of bits, of which near fingerprints share one.
//!
//! Two fingerprints that differ in at most k bits differ in at most k of k + 1 disjoint groups of bits, so they agree in
//! at least one (the pigeonhole principle of §3.1 of Manku, Jain and Das Sarma, WWW 2007). It does not matter how the
//! bits are grouped, nor whether all of them are. For a smaller distance d, any d + 1 of the groups suffice.
//!
//! Usually the groups are [adjacent](Group::adjacent) bits, which are fast to extract, and the first group has the order
//! of the fingerprints. Fingerprints that share their first bits, or lie in clusters, would be in few buckets. For these
//! the groups are [spread](Group::spread): every group has about the same share of the bits that separate values.

use std::cmp::Reverse;

use hamdex::Fingerprint;

/// Maximum number of groups: more have so few bits each that they exclude too little for their memory.
pub(super) const MAX_GROUPS: usize = 8;

/// Maximum number of bits of the number of a bucket.
const MAX_BUCKET_BITS: u32 = 16;

/// Logarithm of the number of evenly spread values per bucket.
const VALUES_PER_BUCKET_LOG2: u32 = 2;

/// Number of values sampled to measure how well a bit separates them.
const SAMPLE: usize = 256;

/// A bit that is as often 0 as 1 weighs this much.
const FULL_WEIGHT: u32 = 16;

/// Bits that select a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group<F> {
    bits: F,
    bucket_bits: u32,
    order: Order,
}

/// How the bits of a group select a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// They are adjacent, from this position on, counted from the most significant bit; and they are its number.
    Adjacent(u32),
    /// They are hashed.
    Hashed,
}

impl<F: Fingerprint> Group<F> {
    /// Returns groups of adjacent bits for a distance and a number of values; the first begins with the first bit. For
    /// distances that are too great for groups, there is only this one.
    pub(super) fn adjacent(distance: u32, values: usize) -> Vec<Self> {
        let count = distance.saturating_add(1);
        let wanted = bucket_bits(values);
        let group = |start: u32, bucket_bits: u32| Self {
            bits: F::prefix_mask(bucket_bits).rotate_right(start),
            bucket_bits,
            order: Order::Adjacent(start),
        };
        if count as usize > MAX_GROUPS {
            return vec![group(0, wanted)];
        }
        let bounds = |number: u32| (F::BITS * number / count, F::BITS * (number + 1) / count);
        (0..count).map(bounds).map(|(start, end)| group(start, wanted.min(end - start))).collect()
    }

    /// Returns as many groups as [`Self::adjacent`] of the bits that separate some values, so that no group separates much
    /// less than another.
    pub(super) fn spread(distance: u32, values: &[F]) -> Vec<Self> {
        let count = distance.saturating_add(1) as usize;
        let count = if count > MAX_GROUPS { 1 } else { count };
        let mut bits: Vec<(u32, u32)> = (0..F::BITS).zip(weights(values)).filter(|bit| bit.1 > 0).collect();
        // Neighbours of the same weight, which may depend on each other, come into different groups.
        bits.sort_by_key(|&(_, weight)| Reverse(weight));
        let mut groups = vec![(0, F::ZERO); count];
        for (position, weight) in bits {
            let least = groups.iter_mut().min_by_key(|group| group.0).expect("there is at least one group");
            *least = (least.0 + weight, least.1 | F::bit(position));
        }
        let bucket_bits = bucket_bits(values.len());
        groups.into_iter().map(|(_, bits)| Self { bits, bucket_bits, order: Order::Hashed }).collect()
    }

    /// Returns the number of buckets.
    pub(super) fn buckets(&self) -> usize {
        1 << self.bucket_bits
    }

    /// Returns the bucket of a value. Values that [agree](Self::agrees) are in the same.
    #[inline(always)]
    pub(super) fn bucket(&self, value: F) -> usize {
        if self.bucket_bits == 0 {
            return 0;
        }
        match self.order {
            Order::Adjacent(start) => {
                (value.rotate_left(start) >> (F::BITS - self.bucket_bits)).to_u128() as usize
            }
            Order::Hashed => {
                let bits = (value & self.bits).to_u128();
                // Fibonacci hashing (Knuth, TAOCP 3, 6.4).
                let folded = bits as u64 ^ ((bits >> 64) as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
                (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - self.bucket_bits)) as usize
            }
        }
    }

    /// Whether two values with this difference agree in the bits of the group.
    #[inline(always)]
    fn agrees(&self, difference: F) -> bool {
        difference & self.bits == F::ZERO
    }
}

/// Whether a match with this difference belongs to the last of these groups: it is the first in which both agree. So a
/// match is found once.
#[inline(always)]
pub(super) fn owns<F: Fingerprint>(groups: &[Group<F>], difference: F) -> bool {
    let Some((last, earlier)) = groups.split_last() else { return false };
    last.agrees(difference) && !earlier.iter().any(|group| group.agrees(difference))
}

/// Returns the number of bits of the number of a bucket.
fn bucket_bits(values: usize) -> u32 {
    values.max(1).ilog2().saturating_sub(VALUES_PER_BUCKET_LOG2).min(MAX_BUCKET_BITS)
}

/// Returns how well each bit separates ascending values, from the first bit on: 0 if it is equal in all of them.
fn weights<F: Fingerprint>(values: &[F]) -> Vec<u32> {
    let step = values.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<F> = values.iter().copied().step_by(step).collect();
    let all = sample.len().max(1) as f64;
    let weight = |position| {
        let ones = sample.iter().filter(|&&value| value & F::bit(position) != F::ZERO).count() as f64 / all;
        // The bits of information that two values agree in it: 1 if both values of the bit are as likely.
        let same = ones * ones + (1.0 - ones) * (1.0 - ones);
        let weight = (-same.log2() * f64::from(FULL_WEIGHT)).round() as u32;
        // A rare value of a bit still tells something.
        if ones > 0.0 && ones < 1.0 { weight.max(1) } else { 0 }
    };
    (0..F::BITS).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_groups_share_out_all_bits() {
        for distance in 0..MAX_GROUPS as u32 {
            let groups = Group::<u64>::adjacent(distance, 1 << 30);
            assert_eq!(groups.len(), distance as usize + 1);
            let start = |group: &Group<u64>| match group.order {
                Order::Adjacent(start) => start,
                Order::Hashed => panic!("it is adjacent"),
            };
            assert_eq!(start(&groups[0]), 0);
            let ends = groups.iter().skip(1).map(start).chain([64]);
            for (group, end) in groups.iter().zip(ends) {
                let bits = (end - start(group)).min(MAX_BUCKET_BITS);
                assert_eq!((group.bucket_bits, group.bits.count_ones()), (bits, bits));
                assert_eq!(group.bits.leading_zeros(), start(group));
            }
        }
        assert_eq!(Group::<u64>::adjacent(MAX_GROUPS as u32, 5).len(), 1);
        assert_eq!(Group::<u128>::adjacent(3, 1)[2].buckets(), 1);
    }

    #[test]
    fn the_bucket_of_adjacent_bits_is_their_number() {
        let group = |bits: u64| Group { bits, bucket_bits: 8, order: Order::Adjacent(16) };
        assert_eq!(group(0xff << 40).bucket(0x0000_ab00_0000_0000u64), 0xab);
        let group = Group { bits: 0xff_u128 << 104, bucket_bits: 8, order: Order::Adjacent(16) };
        assert_eq!(group.bucket(0x0000_ab00_0000_0000_0000_0000_0000_0000u128), 0xab);
    }

    #[test]
    fn spread_groups_share_out_the_bits_that_tell_values_apart() {
        for shared in [0, 16, 32, 48] {
            let values: Vec<u64> =
                (0..10_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shared).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let groups = Group::spread(3, &sorted);
            let all = groups.iter().fold(0, |all, group| {
                assert_eq!(all & group.bits, 0, "they are disjoint");
                assert_eq!(group.bits.count_ones(), (64 - shared) / 4);
                all | group.bits
            });
            assert_eq!(all, u64::MAX >> shared);
        }
        // Without values, or with a single one, no bit tells any apart.
        assert_eq!(Group::<u64>::spread(3, &[]).len(), 4);
        assert!(Group::spread(8, &[5u64]).iter().all(|group| group.bits == 0));
    }

    #[test]
    fn a_match_belongs_to_one_group() {
        let values: Vec<u64> = (0..1000u64).map(|n| n * n).collect();
        for groups in [Group::spread(3, &values), Group::adjacent(3, values.len())] {
            for difference in [0, 1, 0b111, 1 << 63, 1 << 20 | 1 << 40 | 1] {
                let owners = (1..=groups.len()).filter(|&end| owns(&groups[..end], difference)).count();
                assert_eq!(owners, 1, "{difference:x}");
            }
        }
    }
}
