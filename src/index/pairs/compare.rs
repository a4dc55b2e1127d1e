//! The inner loop: each value against those that follow it in its run.
//!
//! A run is a stretch of values that agree under a mask. Most runs are a few values long, and where
//! they end cannot be foreseen by a processor. So a value is always compared with the eight after it,
//! whatever they are, and only then is it asked whether the run goes on: hardly ever. What is found
//! across the end of a run is left to the caller to refuse, who has more to refuse anyway.

use std::ops::Range;

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::fingerprint::Fingerprint;

/// Two places in a slice, the lower one first.
pub(super) type Hit = (u32, u32);

/// What is compared with what.
pub(super) struct Comparison<'a, F> {
    /// Runs, each in one piece: values that agree under `mask` lie together.
    pub(super) values: &'a [F],
    /// The values to compare with those after them.
    pub(super) starts: Range<usize>,
    pub(super) mask: F,
    /// Bits in which a pair may differ.
    pub(super) distance: u32,
    /// Followers in its run that a value is compared with at the most, give or take a few.
    pub(super) longest: usize,
}

/// Adds all pairs of a run within the distance to `hits`, and maybe some that belong to no run. Stops
/// before the first start whose run is too long, and gives it; the end of the starts otherwise.
pub(super) fn compare<F: Fingerprint>(comparison: Comparison<'_, F>, hits: &mut Vec<Hit>) -> usize {
    arch::run(Compare { comparison, hits })
}

struct Compare<'a, F> {
    comparison: Comparison<'a, F>,
    hits: &'a mut Vec<Hit>,
}

impl<F: Fingerprint> Kernel for Compare<'_, F> {
    type Output = usize;

    #[inline(always)]
    fn run(self, _: impl Instructions) -> usize {
        compare_all(self.comparison, self.hits)
    }
}

#[inline(always)]
fn compare_all<F: Fingerprint>(comparison: Comparison<'_, F>, hits: &mut Vec<Hit>) -> usize {
    let Comparison { values, starts, mask, distance, longest } = comparison;
    for start in starts.clone() {
        let value = values[start];
        let hits_before = hits.len();
        let mut at = start + 1;
        loop {
            let Some(window) = values[at..].first_chunk::<LANES>() else {
                let near = |&place: &usize| value.distance(values[place]) <= distance;
                hits.extend((at..values.len()).filter(near).map(|place| (start as u32, place as u32)));
                break;
            };
            if any_near(window, value, distance) {
                let near = |&place: &usize| value.distance(values[place]) <= distance;
                hits.extend((at..at + LANES).filter(near).map(|place| (start as u32, place as u32)));
            }
            at += LANES;
            if (window[LANES - 1] ^ value) & mask != F::ZERO {
                break;
            }
            if at - start > longest {
                hits.truncate(hits_before);
                return start;
            }
        }
    }
    starts.end
}

/// Without a branch, so that it becomes a few wide instructions where there are such.
#[inline(always)]
fn any_near<F: Fingerprint>(window: &[F; LANES], value: F, distance: u32) -> bool {
    let mut any = false;
    for &other in window {
        any |= value.distance(other) <= distance;
    }
    any
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_pairs_of_runs_are_hits(
            mut values in prop::collection::vec(0u64..2048, 0..200),
            mask_bits in 0u32..12,
            distance in 0u32..4,
        ) {
            values.sort_unstable();
            values.dedup();
            let mask = u64::prefix_mask(53 + mask_bits);
            let mut hits = Vec::new();
            let starts = 0..values.len();
            let comparison = Comparison { values: &values, starts, mask, distance, longest: usize::MAX };
            prop_assert_eq!(compare(comparison, &mut hits), values.len());
            hits.sort_unstable();
            let within = |&(a, b): &Hit| values[a as usize].distance(values[b as usize]) <= distance;
            prop_assert!(hits.iter().all(within));
            prop_assert!(hits.windows(2).all(|two| two[0] != two[1]));
            for a in 0..values.len() {
                for b in a + 1..values.len() {
                    let pair = (a as u32, b as u32);
                    let in_run = (values[a] ^ values[b]) & mask == 0;
                    prop_assert!(!in_run || !within(&pair) || hits.binary_search(&pair).is_ok());
                }
            }
        }
    }

    #[test]
    fn a_long_run_is_left_to_others() {
        let values: Vec<u64> = (0..10).chain(1000..1100).chain(5000..5003).collect();
        let mut hits = Vec::new();
        let mut compare_from = |start| {
            let starts = start..values.len();
            compare(Comparison { values: &values, starts, mask: !0xff, distance: 1, longest: 40 }, &mut hits)
        };
        // 1000 to 1023 share all but their last eight bits; 1024 to 1099 do.
        assert_eq!(compare_from(0), 34);
        assert_eq!(compare_from(110), 113);
        // Nothing of the run itself has been told.
        assert!(hits.iter().all(|&(a, b)| a < b && !(34..110).contains(&a)));
    }
}
