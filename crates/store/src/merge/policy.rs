//! Which segments to merge next.
//!
//! Every segment costs a query its probes, so few matter more than in a key-value store. A segment is merged with
//! all smaller ones as soon as these together are half as large as it is. So each segment is more than twice as large
//! as all smaller ones together. Segments may be merged whatever their age: no pair depends on a younger one.
//!
//! Simulated, for 25 and 256 files written from memory: at most 3 and 5 segments, and a pair is written 4.1 and 7.3
//! times on average. Waiting until the smaller ones are as large would write it 3.2 and 5.5 times, and leave up to 4
//! and 8 segments.

/// A segment is merged as soon as it is at most so many times as large as all smaller ones together.
const MAX_RATIO: u64 = 2;

/// A segment in which one pair out of so many has been removed is rewritten.
const REMOVED_SHARE: u64 = 4;

/// What decides about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Pairs that the file holds, removed ones included.
    pub(crate) pairs: u64,
    pub(crate) removed: u64,
}

impl Size {
    fn left(self) -> u64 {
        self.pairs.saturating_sub(self.removed)
    }

    fn is_mostly_air(self) -> bool {
        self.removed > 0 && self.removed >= self.pairs / REMOVED_SHARE
    }
}

/// The places of the segments to be merged into one, perhaps of one alone; `None` when all is well.
pub(crate) fn choose(segments: &[Size]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(segments[at].left()));
    let mut smaller: u64 = segments.iter().map(|size| size.left()).sum();
    for (rank, &at) in order.iter().enumerate() {
        let left = segments[at].left();
        smaller -= left;
        if left <= MAX_RATIO * smaller || (left == 0 && rank + 1 < order.len()) {
            return Some(order.split_off(rank));
        }
    }
    order.into_iter().find(|&at| segments[at].is_mostly_air()).map(|at| vec![at])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(pairs: u64) -> Size {
        Size { pairs, removed: 0 }
    }

    /// Merges until nothing is left to be merged; returns how many pairs that wrote.
    fn settle(segments: &mut Vec<Size>) -> u64 {
        let mut written = 0;
        while let Some(mut chosen) = choose(segments) {
            let pairs = chosen.iter().map(|&at| segments[at].left()).sum();
            chosen.sort_unstable();
            chosen.into_iter().rev().for_each(|at| {
                let _ = segments.remove(at);
            });
            segments.extend((pairs > 0).then_some(whole(pairs)));
            written += pairs;
        }
        written
    }

    #[test]
    fn a_growing_store_has_few_segments_and_rewrites_a_pair_seldom() {
        let (mut segments, mut written, flush, flushes) = (Vec::new(), 0, 4_000_000, 256u64);
        let mut most = 0;
        for _ in 0..flushes {
            segments.push(whole(flush));
            written += settle(&mut segments);
            most = most.max(segments.len());
        }
        assert!(most <= 5, "{most} segments");
        assert!(written <= 8 * flush * flushes, "{written}");
        assert_eq!(segments.iter().map(|size| size.pairs).sum::<u64>(), flush * flushes);
    }

    #[test]
    fn a_segment_with_much_removed_is_rewritten_alone() {
        let segments = [whole(1000), Size { pairs: 400, removed: 100 }, whole(10)];
        assert_eq!(choose(&segments), Some(vec![1]));
        let fewer = [whole(1000), Size { pairs: 400, removed: 99 }, whole(10)];
        assert_eq!(choose(&fewer), None);
        assert_eq!(choose(&[Size { pairs: 5, removed: 5 }]), Some(vec![0]));
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[whole(1)]), None);
    }

    proptest! {
        #[test]
        fn merging_ends_and_leaves_each_segment_larger_than_twice_all_smaller_ones(
            sizes in prop::collection::vec((0u64..1000, 0u64..1000), 0..20),
        ) {
            let mut segments: Vec<Size> =
                sizes.iter().map(|&(a, b)| Size { pairs: a.max(b).max(1), removed: a.min(b) }).collect();
            let left: u64 = segments.iter().map(|size| size.left()).sum();
            settle(&mut segments);
            prop_assert_eq!(segments.iter().map(|size| size.left()).sum::<u64>(), left);
            let mut sizes: Vec<u64> = segments.iter().map(|size| size.left()).collect();
            sizes.sort_unstable();
            let mut smaller = 0;
            for size in sizes {
                prop_assert!(size > MAX_RATIO * smaller);
                smaller += size;
            }
        }
    }
}
