//! The inner loop: each value against the later values of its run.
//!
//! A run is a stretch of values that agree under a mask. Most runs are a few values long, and their ends are
//! unpredictable branches. So a value is always compared with the eight after it, even beyond its run, and only
//! then checked for a longer run, which is rare. The caller rejects hits across the end of a run, as it rejects
//! others anyway.

use std::any::Any;
use std::ops::Range;

use crate::arch::{self, Instructions, Kernel, LANES};
use hamdex_fingerprint::Fingerprint;

/// Starts that are settled together.
const TOGETHER: usize = 4;

/// Two places in a slice, the lower one first.
pub(super) type Hit = (u32, u32);

/// The values to compare, and the mask of their runs.
pub(super) struct Comparison<'a, F> {
    /// Runs, each in one piece: values that agree under `mask` lie together.
    pub(super) values: &'a [F],
    /// The values to compare with later ones.
    pub(super) starts: Range<usize>,
    pub(super) mask: F,
    /// Bits in which a pair may differ.
    pub(super) distance: u32,
    /// Followers in its run that a value is compared with at most, give or take a few.
    pub(super) longest: usize,
    /// Whether runs beyond [`LANES`] values are expected to be common.
    pub(super) is_long: bool,
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
    fn run(self, instructions: impl Instructions) -> usize {
        compare_all(instructions, self.comparison, self.hits)
    }
}

#[inline(always)]
fn compare_all<F: Fingerprint>(
    instructions: impl Instructions,
    comparison: Comparison<'_, F>,
    hits: &mut Vec<Hit>,
) -> usize {
    let Range { mut start, end } = comparison.starts.clone();
    while start < end {
        start = if comparison.is_long {
            pass_over::<F, 2>(instructions, &comparison, start)
        } else {
            pass_over::<F, 1>(instructions, &comparison, start)
        };
        let few = start..end.min(start + TOGETHER);
        for slow in few.clone() {
            if !compare_one(instructions, &comparison, slow, hits) {
                return slow;
            }
        }
        start = few.end;
    }
    end
}

/// Skips the starts with nothing near among the next few values, a multiple of [`LANES`], in runs that end
/// there; several at a time, with one branch for all of them. Returns the first start that it cannot skip.
#[inline(always)]
fn pass_over<F: Fingerprint, const TIMES: usize>(
    instructions: impl Instructions,
    comparison: &Comparison<'_, F>,
    mut start: usize,
) -> usize {
    let &Comparison { values, ref starts, mask, distance, .. } = comparison;
    while start + TOGETHER <= starts.end {
        let Some(window) = values[start..].get(..TOGETHER + TIMES * LANES) else { break };
        let mut is_open = false;
        for at in 0..TOGETHER {
            let value = window[at];
            let (followers, _) = window[at + 1..at + 1 + TIMES * LANES].as_chunks();
            for few in followers {
                is_open |= any_near(instructions, few, value, distance);
            }
            is_open |= value & mask == window[at + TIMES * LANES] & mask;
        }
        if is_open {
            break;
        }
        start += TOGETHER;
    }
    start
}

/// Compares a value with all of its run that follows; refuses when that is too long.
#[inline(always)]
fn compare_one<F: Fingerprint>(
    instructions: impl Instructions,
    comparison: &Comparison<'_, F>,
    start: usize,
    hits: &mut Vec<Hit>,
) -> bool {
    let &Comparison { values, mask, distance, longest, .. } = comparison;
    let value = values[start];
    let hits_before = hits.len();
    let mut at = start + 1;
    loop {
        let near = |&place: &usize| value.distance(values[place]) <= distance;
        let Some(window) = values[at..].first_chunk::<LANES>() else {
            hits.extend((at..values.len()).filter(near).map(|place| (start as u32, place as u32)));
            return true;
        };
        if any_near(instructions, window, value, distance) {
            hits.extend((at..at + LANES).filter(near).map(|place| (start as u32, place as u32)));
        }
        at += LANES;
        if (window[LANES - 1] ^ value) & mask != F::ZERO {
            return true;
        }
        if at - start > longest {
            hits.truncate(hits_before);
            return false;
        }
    }
}

/// Returns whether any of these values is near. Without a branch, so that it compiles to a few wide
/// instructions.
#[inline(always)]
fn any_near<F: Fingerprint>(
    instructions: impl Instructions,
    others: &[F; LANES],
    value: F,
    distance: u32,
) -> bool {
    // The compiler knows which of the two it is.
    if let Some(words) = (others as &dyn Any).downcast_ref::<[u64; LANES]>() {
        return instructions.near_values(words, value.to_u128() as u64, distance) != 0;
    }
    others.iter().fold(false, |any, &other| any | (value.distance(other) <= distance))
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
            is_long: bool,
        ) {
            values.sort_unstable();
            values.dedup();
            let mask = u64::prefix_mask(53 + mask_bits);
            let mut hits = Vec::new();
            let starts = 0..values.len();
            let comparison = Comparison { values: &values, starts, mask, distance, longest: usize::MAX, is_long };
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
            let (mask, is_long) = (!0xff, false);
            compare(
                Comparison { values: &values, starts, mask, distance: 1, longest: 40, is_long },
                &mut hits,
            )
        };
        // 1000 to 1023 share all but their last eight bits; 1024 to 1099 do.
        assert_eq!(compare_from(0), 34);
        assert_eq!(compare_from(110), 113);
        // Nothing of the run itself is among the hits.
        assert!(hits.iter().all(|&(a, b)| a < b && !(34..110).contains(&a)));
    }
}
