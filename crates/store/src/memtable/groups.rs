//! Groups of bits, of which near fingerprints share one.
//!
//! The bits are divided into k + 1 groups. Two fingerprints that differ in at most k bits differ in at most k groups,
//! so they agree in at least one (the pigeonhole principle of §3.1 of Manku, Jain and Das Sarma, WWW 2007). For a
//! smaller distance d, any d + 1 of the groups suffice.

use hamdex::Fingerprint;

/// Maximum number of groups: more have so few bits each that they exclude too little for their memory.
pub(super) const MAX_GROUPS: usize = 8;

/// Maximum number of bits of a group that select a bucket.
const MAX_BUCKET_BITS: u32 = 16;

/// Logarithm of the number of evenly spread values per bucket.
const VALUES_PER_BUCKET_LOG2: u32 = 2;

/// Adjacent bits, the first of which select a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// The position of the first bit, counted from the most significant.
    start: u32,
    bucket_bits: u32,
}

impl Group {
    /// Returns the groups for a distance and a number of values; the first begins with the first bit. For distances
    /// that are too great for groups, there is only this one.
    pub(super) fn all<F: Fingerprint>(distance: u32, values: usize) -> Vec<Self> {
        let count = distance.saturating_add(1);
        let wanted = values.max(1).ilog2().saturating_sub(VALUES_PER_BUCKET_LOG2).min(MAX_BUCKET_BITS);
        let group = |number: u32| {
            let (start, end) = (F::BITS * number / count, F::BITS * (number + 1) / count);
            Self { start, bucket_bits: wanted.min(end - start) }
        };
        if count as usize > MAX_GROUPS {
            vec![Self { start: 0, bucket_bits: wanted }]
        } else {
            (0..count).map(group).collect()
        }
    }

    /// Returns the number of buckets.
    pub(super) fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    /// Returns the bucket of a value.
    #[inline]
    pub(super) fn bucket<F: Fingerprint>(self, value: F) -> usize {
        if self.bucket_bits == 0 {
            return 0;
        }
        (value.rotate_left(self.start) >> (F::BITS - self.bucket_bits)).to_u128() as usize
    }
}

/// Whether no group in `earlier` finds a match with this difference, so that it belongs to the next group.
#[inline]
pub(super) fn is_first<F: Fingerprint>(earlier: &[Group], difference: F) -> bool {
    !earlier.iter().any(|group| group.bucket(difference) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_out_all_bits() {
        for distance in 0..MAX_GROUPS as u32 {
            let groups = Group::all::<u64>(distance, 1 << 30);
            assert_eq!(groups.len(), distance as usize + 1);
            assert_eq!(groups[0].start, 0);
            let ends = groups.iter().skip(1).map(|group| group.start).chain([64]);
            for (group, end) in groups.iter().zip(ends) {
                assert!(group.start < end && group.bucket_bits == (end - group.start).min(MAX_BUCKET_BITS));
            }
        }
        assert_eq!(Group::all::<u64>(MAX_GROUPS as u32, 5).len(), 1);
        assert_eq!(Group::all::<u128>(3, 1)[2].buckets(), 1);
    }

    #[test]
    fn the_bucket_is_the_first_bits_of_the_group() {
        let group = Group { start: 16, bucket_bits: 8 };
        assert_eq!(group.bucket(0x0000_ab00_0000_0000u64), 0xab);
        assert_eq!(group.bucket(0x0000_ab00_0000_0000_0000_0000_0000_0000u128), 0xab);
    }
}
