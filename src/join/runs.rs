//! From runs to pairs, each once: each value is compared with the later values of its run.
//!
//! The leads of a join overlap: two fingerprints that differ in one bit agree under most of them. A pair
//! belongs to the first lead under which it agrees: see [`is_first`].
//!
//! Long runs are divided before that. At most `distance` bits of a pair differ. So of distance + 1 groups of the bits
//! that vary at all, one is the same in both: the pairs are in the runs that each group makes. This is the pigeonhole
//! principle of the designs once more, on the bits that this very set leaves open. It needs no more bits of a group
//! than make runs short: these are the digit by which the values are sorted.
//!
//! Most runs are a few values long, and their ends are unpredictable branches. So the inner loop always compares a value
//! with the eight after it, even beyond its run, and only then checks for a longer run, which is rare. Its caller rejects
//! hits across the end of a run, as it rejects others anyway.

use std::any::Any;
use std::mem::take;
use std::ops::Range;

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::bits::first_of_mask;
use crate::design::{Admits, is_first, split};
use crate::join::Collector;
use crate::join::lead::{Agreement, Lead};
use crate::permutation::Permutation;
use crate::progress::{Counter, Stopped};
use crate::sorting::counting_sort;
use hamdex_fingerprint::Fingerprint;

/// Runs beyond this many values are split by bits after the shared ones. Up to here it is faster to compare all
/// with all.
pub(super) const MAX_RUN: usize = 128;

/// Maximum of uncollected hits, in runs no longer than [`MAX_RUN`].
const MAX_HITS: usize = 1 << 18;

/// Comparisons between cancellation checks.
const WORK_AT_ONCE: usize = 1 << 20;

/// Values sampled to estimate the length of runs.
const SAMPLE: usize = 256;

/// Runs of more values than this, on average, go on beyond the next few values too often for the branch of
/// rare cases.
const LONG_ON_AVERAGE: usize = 4;

/// Finds the pairs of a lead.
pub(super) struct RunPairs<'a, 'c, F> {
    lead: &'a Lead<F>,
    /// [`Lead::earlier`], and while a long run is split, the groups by which it has been split so far.
    earlier: Vec<Agreement<F>>,
    distance: u32,
    longest: usize,
    hits: Vec<Hit>,
    dividing: Workspace<F>,
    collector: &'a mut Collector<'c, F>,
    done: &'a Counter,
    /// Comparisons, or equivalent work, since the last cancellation check.
    unchecked: usize,
}

impl<'a, 'c, F: Fingerprint> RunPairs<'a, 'c, F> {
    pub(super) fn new(
        lead: &'a Lead<F>,
        distance: u32,
        longest: usize,
        collector: &'a mut Collector<'c, F>,
        done: &'a Counter,
    ) -> Self {
        let (earlier, hits) = (lead.earlier.clone(), Vec::new());
        let dividing = Workspace::default();
        Self { lead, earlier, distance, longest, hits, dividing, collector, done, unchecked: 0 }
    }

    /// Fails if the caller has cancelled the work, which the counter remembers.
    pub(super) fn check_cancelled(&mut self, work: usize) -> Result<(), Stopped> {
        self.unchecked += work;
        if self.unchecked < WORK_AT_ONCE {
            return Ok(());
        }
        self.unchecked = 0;
        self.done.check()
    }

    /// Finds the pairs in `values`, in which values that agree under `mask` are adjacent: bits of the lead, or
    /// bits by which a long run is divided. Reorders the values of long runs.
    pub(super) fn find(&mut self, values: &mut [F], mask: F) -> Result<(), Stopped> {
        self.check_cancelled(values.len())?;
        let is_long = self.are_long(values, mask);
        let starts_at_once = (MAX_HITS / self.longest).max(1);
        let mut start = 0;
        while start < values.len() {
            let end = values.len().min(start + starts_at_once);
            let stopped = compare(
                Comparison {
                    values,
                    starts: start..end,
                    mask,
                    distance: self.distance,
                    longest: self.longest,
                    is_long,
                },
                &mut self.hits,
            );
            self.collect_hits(values, mask)?;
            start = stopped;
            if stopped < end {
                let first = values[start];
                let length = values[start..].iter().take_while(|&&v| (v ^ first) & mask == F::ZERO).count();
                self.split(&mut values[start..start + length])?;
                start += length;
            }
        }
        Ok(())
    }

    /// Returns whether runs are longer than usual, by a sample of them.
    fn are_long(&self, values: &[F], mask: F) -> bool {
        let sample = &values[..values.len().min(SAMPLE)];
        let ends = sample.windows(2).filter(|two| (two[0] ^ two[1]) & mask != F::ZERO).count();
        sample.len() > ends * LONG_ON_AVERAGE
    }

    /// Collects the hits that agree under `mask` and belong to this lead.
    fn collect_hits(&mut self, values: &[F], mask: F) -> Result<(), Stopped> {
        let agreement = Agreement(self.lead.mask | mask);
        for &(a, b) in &self.hits {
            let (a, b) = (values[a as usize], values[b as usize]);
            let difference = a ^ b;
            if agreement.admits(difference) && is_first(&self.earlier, difference) {
                self.collector.pair(self.lead.order.undo(a), self.lead.order.undo(b))?;
            }
        }
        self.hits.clear();
        Ok(())
    }

    fn all_with_all(&mut self, values: &[F]) -> Result<(), Stopped> {
        let starts_at_once = (MAX_HITS / values.len()).max(1);
        for start in (0..values.len()).step_by(starts_at_once) {
            let end = values.len().min(start + starts_at_once);
            self.check_cancelled((end - start) * values.len())?;
            let (mask, longest) = (F::ZERO, usize::MAX);
            let (distance, is_long) = (self.distance, true);
            let starts = start..end;
            compare(Comparison { values, starts, mask, distance, longest, is_long }, &mut self.hits);
            self.collect_hits(values, mask)?;
        }
        Ok(())
    }
}

/// Binary logarithm of the values of a set that share a digit, about: no more than are compared at once.
const TOGETHER_LOG2: u32 = 2;

/// Values up to which a set that a digit does not divide is compared all with all: to divide it otherwise takes longer.
const SHORT: usize = 1024;

/// Comparisons for each value up to which a digit divides a set well enough.
const FEW_COMPARISONS: u128 = 64;

/// Values in the order of a digit, and the start of each digit.
#[derive(Default)]
struct Workspace<F> {
    sorted: Vec<F>,
    starts: Vec<u32>,
}

impl<F: Fingerprint> RunPairs<'_, '_, F> {
    /// Finds the pairs of a set whose values are all to be compared with each other.
    ///
    /// If no group would lower the number of comparisons, all are compared with all; so there are never more
    /// than the square of the number of values.
    fn split(&mut self, values: &mut [F]) -> Result<(), Stopped> {
        let first = values[0];
        let varying = values.iter().fold(F::ZERO, |varying, &value| varying | (value ^ first));
        if !is_first(&self.earlier, varying) {
            // All of them agree there: none of the pairs belongs here.
            return Ok(());
        }
        if values.len() <= self.longest || varying.count_ones() <= self.distance {
            return self.all_with_all(values);
        }
        // Values that agree in an earlier group belong there, and are not collected again, even if all are
        // compared with all.
        let before = self.earlier.len();
        let mut budget = square(values.len()) / 2;
        for group in split(varying, self.distance + 1) {
            self.check_cancelled(values.len())?;
            let bits = values.len().ilog2().saturating_sub(TOGETHER_LOG2).max(1);
            let digit = first_of_mask(group, bits);
            let mut dividing = take(&mut self.dividing);
            let mut comparisons = sort_by(values, digit, &mut dividing);
            let is_divided = comparisons <= values.len() as u128 * FEW_COMPARISONS;
            if !is_divided && values.len() <= SHORT {
                self.all_with_all(values)?;
                break;
            }
            if !is_divided {
                values.sort_unstable_by_key(|&value| value & group);
                comparisons = values.chunk_by(same(group)).map(|run| square(run.len())).sum();
            }
            let Some(left) = budget.checked_sub(comparisons) else {
                self.all_with_all(values)?;
                break;
            };
            budget = left;
            if is_divided {
                self.find(&mut dividing.sorted, digit)?;
                self.earlier.push(Agreement(digit));
            } else {
                for run in values.chunk_by_mut(same(group)).filter(|run| run.len() > 1) {
                    self.split(run)?;
                }
                self.earlier.push(Agreement(group));
            }
            self.dividing = dividing;
        }
        self.earlier.truncate(before);
        Ok(())
    }
}

fn square(count: usize) -> u128 {
    count as u128 * count as u128
}

/// Returns a test of whether two values agree under a mask.
fn same<F: Fingerprint>(mask: F) -> impl Fn(&F, &F) -> bool {
    move |&a, &b| (a ^ b) & mask == F::ZERO
}

/// Sorts by the bits under a mask; returns how many comparisons all pairs that agree in these take, twice.
fn sort_by<F: Fingerprint>(values: &[F], mask: F, Workspace { sorted, starts }: &mut Workspace<F>) -> u128 {
    // Of those of the first group that is so.
    if values.is_sorted_by_key(|&value| value & mask) {
        sorted.clear();
        sorted.extend_from_slice(values);
        return values.chunk_by(same(mask)).map(|run| square(run.len())).sum();
    }
    let digits = 1 << mask.count_ones();
    let shift = mask.trailing_zeros();
    if (mask >> shift).to_u128() + 1 == digits as u128 {
        counting_sort(
            values,
            digits,
            |value| (value >> shift).to_u128() as usize & (digits - 1),
            sorted,
            starts,
        );
    } else {
        let order = Permutation::new(mask);
        let shift = F::BITS - mask.count_ones();
        counting_sort(
            values,
            digits,
            |value| (order.apply(value) >> shift).to_u128() as usize,
            sorted,
            starts,
        );
    }
    starts.windows(2).map(|of_digit| square((of_digit[1] - of_digit[0]) as usize)).sum()
}

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
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_sorted_by_the_first_bits_of_any_group() {
        let values: Vec<u64> = (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        for group in [0x00ff_f000_0000_0000u64, 0x0810_4020_0800_0001, 1, u64::MAX] {
            for count in [1, 3, 9] {
                let mask = first_of_mask(group, count);
                assert_eq!(mask.count_ones(), count.min(group.count_ones()));
                assert_eq!(group & !mask & !(mask ^ mask.wrapping_sub(1)), 0, "no bit above is left out");
                let mut workspace = Workspace::default();
                let comparisons = sort_by(&values, mask, &mut workspace);
                assert!(workspace.sorted.is_sorted_by_key(|value| value & mask));
                let runs = workspace.sorted.chunk_by(same(mask)).map(|run| square(run.len()));
                assert_eq!(runs.sum::<u128>(), comparisons);
            }
        }
    }

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
