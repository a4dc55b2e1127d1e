//! Groups of bits: what is near in all bits is equal in one of them.
//!
//! The bits are cut into k + 1 groups. Two fingerprints that differ in at most k bits differ in at most k of the
//! groups, so they agree in at least one (the pigeonhole principle of §3.1 of Manku, Jain and Das Sarma, WWW
//! 2007). For a smaller distance d, any d + 1 of the groups will do.

use hamdex::Fingerprint;

/// More groups than this are not worth their memory: each has so few bits that hardly anything is ruled out.
const MAX_GROUPS: u32 = 8;

/// Bits of a group by which values are bucketed, at most.
const MAX_BUCKET_BITS: u32 = 16;

/// Values per bucket, as a power of two, where they are spread evenly.
const VALUES_PER_BUCKET_LOG2: u32 = 2;

/// Adjacent bits, and how many of them choose a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// The position of the first, counted from the most significant.
    start: u32,
    bucket_bits: u32,
}

impl Group {
    /// The groups for a distance, for so many values: the first begins with the first bit. For distances that
    /// have no use for groups, this one alone.
    pub(super) fn all<F: Fingerprint>(distance: u32, values: usize) -> Vec<Self> {
        let count = distance.saturating_add(1);
        let wanted = values.max(1).ilog2().saturating_sub(VALUES_PER_BUCKET_LOG2).min(MAX_BUCKET_BITS);
        let group = |number: u32| {
            let (start, end) = (F::BITS * number / count, F::BITS * (number + 1) / count);
            Self { start, bucket_bits: wanted.min(end - start) }
        };
        if count > MAX_GROUPS {
            vec![Self { start: 0, bucket_bits: wanted }]
        } else {
            (0..count).map(group).collect()
        }
    }

    /// How many buckets there are.
    pub(super) fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    /// The bucket of a value.
    #[inline]
    pub(super) fn bucket<F: Fingerprint>(self, value: F) -> usize {
        if self.bucket_bits == 0 {
            return 0;
        }
        (value.rotate_left(self.start) >> (F::BITS - self.bucket_bits)).to_u128() as usize
    }
}

/// Whether a match that differs in `difference` belongs to the group after `earlier`: none of these finds it.
#[inline]
pub(super) fn is_first<F: Fingerprint>(earlier: &[Group], difference: F) -> bool {
    !earlier.iter().any(|group| group.bucket(difference) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_share_out_all_bits() {
        for distance in 0..MAX_GROUPS {
            let groups = Group::all::<u64>(distance, 1 << 30);
            assert_eq!(groups.len(), distance as usize + 1);
            assert_eq!(groups[0].start, 0);
            let ends = groups.iter().skip(1).map(|group| group.start).chain([64]);
            for (group, end) in groups.iter().zip(ends) {
                assert!(group.start < end && group.bucket_bits == (end - group.start).min(MAX_BUCKET_BITS));
            }
        }
        assert_eq!(Group::all::<u64>(MAX_GROUPS, 5).len(), 1);
        assert_eq!(Group::all::<u128>(3, 1)[2].buckets(), 1);
    }

    #[test]
    fn the_bucket_is_the_first_bits_of_the_group() {
        let group = Group { start: 16, bucket_bits: 8 };
        assert_eq!(group.bucket(0x0000_ab00_0000_0000u64), 0xab);
        assert_eq!(group.bucket(0x0000_ab00_0000_0000_0000_0000_0000_0000u128), 0xab);
    }
}
