//! Gathering in memory the values of a lead that no table has adjacent.
//!
//! They are sorted by two digits, the leading bits of the lead first: once in each part as it is read, once
//! when the pieces of all parts with a common digit are joined. Both times the values fit the caches. Many
//! values are gathered in *slices*, some of the digits at a time, from the parts of the population that may have their
//! values. A population is in natural order, or has copies in others. A lead leaves some of the leading bits out; between
//! values that agree in these, its digits ascend. So most of a slice is in short ranges, one for each value of the bits
//! left out, and the rest is not read.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::bits::leading;
use crate::error::ReadError;
use crate::join::lead::{Lead, SLICE_DIGIT_BITS};
use crate::join::population::{Part as Place, Population};
use crate::join::runs::RunPairs;
use crate::join::{Workspace, ordered};
use crate::progress::{Counter, Stopped};
use crate::sorting::counting_sort;
use hamdex_fingerprint::Fingerprint;

/// Approximate number of values that share a first digit, if there are many and they are evenly spread: they
/// are sorted in the nearest cache.
const BUCKET_LOG2: u32 = 12;

/// Values of a slice, about: enough that its first and last part matter little, and few enough to stay in the cache.
const SLICE: u64 = 1 << 24;

/// The most bits of a first digit.
const FIRST_DIGIT_BITS: u32 = 24;

/// The most bits of the second digit.
const SECOND_DIGIT_BITS: u32 = 16;

/// Values of a part, about.
const PART: u64 = 1 << 17;

/// Values of a task, about.
const TASK_LOG2: u32 = 14;

/// The values of a part of the population that a slice has, sorted by their first digit.
struct Part<F> {
    values: Vec<F>,
    /// Start of the values of each digit of the slice, and the end.
    starts: Vec<u32>,
}

/// The plan for gathering the values of a lead.
pub(super) struct Gathering<'a, F> {
    lead: &'a Lead<F>,
    /// Bits of the first digit.
    bits: u32,
    /// The digits of each slice.
    pub(super) slices: Vec<Range<usize>>,
    /// All of the population.
    places: Vec<Place>,
}

/// A slice in memory.
pub(super) struct Gathered<'a, F> {
    lead: &'a Lead<F>,
    bits: u32,
    parts: Vec<Part<F>>,
    has_repeats: bool,
}

impl<'a, F: Fingerprint> Gathering<'a, F> {
    /// For each lead, its digits in slices of `size` values, about, by default of as many as are best, and of no more
    /// than `capacity`; `None` when one digit has more.
    pub(super) fn of_each(
        population: &dyn Population<F>,
        leads: &[&'a Lead<F>],
        capacity: NonZeroUsize,
        size: Option<u64>,
        threads: NonZeroUsize,
        done: &Counter,
    ) -> Result<Option<Vec<Self>>, ReadError> {
        let capacity = capacity.get() as u64;
        let size = capacity.min(size.unwrap_or(SLICE));
        let bits = population.len().max(1).ilog2().saturating_sub(BUCKET_LOG2).clamp(1, FIRST_DIGIT_BITS);
        let of_slices = bits.min(SLICE_DIGIT_BITS);
        let counts = counts(population, leads, of_slices, capacity, threads, done)?;
        let gathering = |(&lead, counts): (&&'a Lead<F>, &Vec<u64>)| {
            // A lead may have no more bits than a digit.
            let bits = bits.min(lead.mask.count_ones());
            let of_slices = of_slices.min(bits);
            let more = bits - of_slices;
            let slices = slices(&counts[..1 << of_slices], size, capacity)?.into_iter();
            let slices = slices.map(|digits| digits.start << more..digits.end << more).collect();
            Some(Self { lead, bits, slices, places: population.parts(lead.table, PART) })
        };
        Ok(leads.iter().zip(&counts).map(gathering).collect())
    }

    /// Parts of the population in which the values of a slice lie, together for each part to be read.
    fn read_together(&self, population: &dyn Population<F>, slice: &Range<usize>) -> Vec<Vec<Place>> {
        let units = |places: &[Place]| places.iter().map(|place| place.range.len()).sum::<usize>();
        let most = units(&self.places) / self.places.len().max(1);
        let mut covering = Vec::new();
        let mut together = Vec::new();
        for place in &self.places {
            cover(population, place, self.lead, self.bits, slice, &mut covering);
            if units(&covering) >= most {
                together.push(std::mem::take(&mut covering));
            }
        }
        together.push(covering);
        together
    }

    /// Reads the values of a slice.
    pub(super) fn gather(
        &self,
        population: &dyn Population<F>,
        slice: &Range<usize>,
        threads: NonZeroUsize,
        done: &Counter,
    ) -> Result<Gathered<'a, F>, ReadError> {
        let Self { lead, bits, .. } = *self;
        let together = self.read_together(population, slice);
        let has_repeats = population.has_repeats();
        let mut parts = Vec::new();
        ordered::run(
            threads,
            together.len(),
            Workspace::default,
            |workspace, part, send| {
                let mut values = std::mem::take(&mut workspace.gathered);
                values.clear();
                // The parts of the other threads have been prefetched before.
                let ahead = if part == 0 { 0 } else { part + threads.get() };
                let next = together.iter().take(part + threads.get() + 1).skip(ahead);
                next.flatten().for_each(|place| population.prefetch(place));
                for place in &together[part] {
                    done.check()?;
                    population.read(place, workspace, &mut |read| {
                        let permuted = read.iter().map(|&value| lead.order.leading().apply(value));
                        values.extend(permuted.filter(|&value| slice.contains(&leading(value, bits))));
                    })?;
                }
                let mut sorted = Part { values: Vec::new(), starts: Vec::new() };
                counting_sort(
                    &values,
                    slice.len(),
                    |value| leading(value, bits) - slice.start,
                    &mut sorted.values,
                    &mut sorted.starts,
                );
                workspace.gathered = values;
                Ok(send(sorted)?)
            },
            &mut |part| {
                parts.push(part);
                Ok(())
            },
        )
        .map(|_| Gathered { lead, bits, parts, has_repeats })
    }
}

impl<F: Fingerprint> Gathered<'_, F> {
    /// Returns the number of values.
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.values.len()).sum()
    }

    /// Digits of the slice per task.
    pub(super) fn digits_per_task(&self, digits: usize) -> usize {
        (digits << TASK_LOG2) / self.len().max(1)
    }

    /// Finds the pairs of some digits, counted from the start of the slice; returns how many values these
    /// have.
    pub(super) fn find(
        &self,
        digits: Range<usize>,
        workspace: &mut Workspace<F>,
        runs: &mut RunPairs<'_, '_, F>,
    ) -> Result<usize, Stopped> {
        let Workspace { gathered: bucket, values: sorted, starts, .. } = workspace;
        let mut count = 0;
        for number in digits {
            bucket.clear();
            for Part { values, starts } in &self.parts {
                bucket.extend_from_slice(&values[starts[number] as usize..starts[number + 1] as usize]);
            }
            count += bucket.len();
            if self.has_repeats {
                // In full order, in which equal ones meet.
                bucket.sort_unstable();
                bucket.dedup();
                runs.find(bucket, self.lead.mask)?;
                continue;
            }
            let more = self.lead.mask.count_ones() - self.bits;
            let more = more.min(bucket.len().max(1).ilog2()).min(SECOND_DIGIT_BITS);
            let mask = F::prefix_mask(self.bits + more);
            if more == 0 {
                runs.find(bucket, mask)?;
            } else {
                counting_sort(bucket, 1 << more, |value| leading(value << self.bits, more), sorted, starts);
                runs.find(sorted, mask)?;
            }
        }
        Ok(count)
    }
}

/// Parts that are counted at a time, about.
const COUNTED_PARTS: u64 = 512;

/// Values sampled to estimate the frequency of each digit.
const SAMPLE: u64 = 1 << 14;

/// Returns the number of values with each digit of `bits` bits, in the order of each of some leads.
///
/// Exact if there are more values than `capacity`; otherwise an estimate: even with a wrong one, the slices
/// fit.
///
/// # Errors
/// When a block is damaged.
fn counts<F: Fingerprint>(
    population: &dyn Population<F>,
    leads: &[&Lead<F>],
    bits: u32,
    capacity: u64,
    threads: NonZeroUsize,
    done: &Counter,
) -> Result<Vec<Vec<u64>>, ReadError> {
    if population.len() > capacity && !leads.is_empty() {
        counted(population, leads, bits, threads, done)
    } else {
        Ok(estimated(population, leads, bits))
    }
}

/// Reads all values, once for all leads.
fn counted<F: Fingerprint>(
    population: &dyn Population<F>,
    leads: &[&Lead<F>],
    bits: u32,
    threads: NonZeroUsize,
    done: &Counter,
) -> Result<Vec<Vec<u64>>, ReadError> {
    let none = vec![vec![0u64; 1 << bits]; leads.len()];
    let mut sums = none.clone();
    let parts = population.parts(0, population.len().div_ceil(COUNTED_PARTS));
    ordered::run(
        threads,
        parts.len(),
        Workspace::default,
        |workspace, part, send| {
            done.check()?;
            let mut counts = none.clone();
            population.read(&parts[part], workspace, &mut |values| {
                for (counts, lead) in counts.iter_mut().zip(leads) {
                    values.iter().for_each(|&value| counts[lead_digit(lead, value, bits)] += 1);
                }
            })?;
            Ok(send(counts)?)
        },
        &mut |part: Vec<Vec<u64>>| {
            let sums = sums.iter_mut().flatten();
            sums.zip(part.iter().flatten()).for_each(|(sum, count)| *sum += count);
            Ok(())
        },
    )
    .map(|_| sums)
}

/// Looks at a value in each of some parts.
fn estimated<F: Fingerprint>(population: &dyn Population<F>, leads: &[&Lead<F>], bits: u32) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0u64; 1 << bits]; leads.len()];
    let parts = population.parts(0, population.len().div_ceil(SAMPLE));
    let each = population.len() / (parts.len() as u64).max(1);
    for part in &parts {
        let (_, greatest) = population.bounds(part);
        for (counts, lead) in counts.iter_mut().zip(leads) {
            counts[lead_digit(lead, greatest, bits)] += each;
        }
    }
    counts
}

/// Returns the digit of a value in the order of a lead, of as many bits as the lead has, if that is fewer.
fn lead_digit<F: Fingerprint>(lead: &Lead<F>, value: F, bits: u32) -> usize {
    leading(lead.order.apply(value), bits.min(lead.mask.count_ones()))
}

/// Consecutive digits whose counts sum to at most `size`, or single ones; `None` if one has more than `capacity`.
fn slices(counts: &[u64], size: u64, capacity: u64) -> Option<Vec<Range<usize>>> {
    let mut slices = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (digit, &count) in counts.iter().enumerate() {
        if count > capacity {
            return None;
        }
        if sum + count > size && digit > start {
            slices.push(start..digit);
            (start, sum) = (digit, 0);
        }
        sum += count;
    }
    slices.push(start..counts.len());
    Some(slices)
}

/// Adds the least parts of a part that may have values whose digits of `bits` bits lie in the slice: side by side, they
/// are one.
fn cover<F: Fingerprint>(
    population: &dyn Population<F>,
    part: &Place,
    lead: &Lead<F>,
    bits: u32,
    slice: &Range<usize>,
    covering: &mut Vec<Place>,
) {
    let (least, greatest) = population.bounds(part);
    let (first, last) = digits_between(lead, bits, least, greatest);
    if first >= slice.end || last < slice.start {
        return;
    }
    let Place { source, range } = part;
    if range.len() > 1 && (first < slice.start || last >= slice.end) {
        let middle = range.start.midpoint(range.end);
        for range in [range.start..middle, middle..range.end] {
            cover(population, &Place { source: *source, range }, lead, bits, slice, covering);
        }
        return;
    }
    match covering.last_mut() {
        Some(before) if before.source == *source && before.range.end == range.start => {
            before.range.end = range.end;
        }
        _ => covering.push(Place { source: *source, range: range.clone() }),
    }
}

/// Returns the least and the greatest digit that a value between two may have, all in the order of the lead's table.
fn digits_between<F: Fingerprint>(lead: &Lead<F>, bits: u32, least: F, greatest: F) -> (usize, usize) {
    let order = lead.order.leading();
    // All between agree above the first difference. From there on they ascend, and their digits with them, as far as
    // every bit is one of the lead. Behind the first one that is not, they may be anything.
    let shared = least.first_difference(greatest);
    let left_out = !order.mask() & !F::prefix_mask(shared);
    let ascending = F::prefix_mask(left_out.leading_zeros());
    let of = |value| leading(order.apply(value), bits);
    (of(least & ascending), of(greatest | !ascending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::lead::Order;
    use crate::permutation::Permutation;
    use proptest::prelude::*;

    #[test]
    fn slices_keep_to_their_size_and_the_capacity() {
        assert_eq!(slices(&[3, 3, 3, 0, 5], 6, 6), Some(vec![0..2, 2..4, 4..5]));
        assert_eq!(slices(&[0, 0, 1, 1], 1, 1), Some(vec![0..3, 3..4]));
        assert_eq!(slices(&[1, 7, 1, 1], 2, 7), Some(vec![0..1, 1..2, 2..4]));
        assert_eq!(slices(&[7, 1], 2, 6), None);
    }

    proptest! {
        #[test]
        fn digits_lie_between_those_of_the_ends(
            mask: u64,
            runs in any::<bool>(),
            start: u64,
            differing in 0u32..=64,
            others in prop::collection::vec(any::<u64>(), 3),
            bits in 0u32..20,
        ) {
            // Few runs of bits, as in a design, or any bits.
            let keep = u64::prefix_mask(differing);
            let mask = if runs { 0xfff0_00ff_ff00_0000u64.rotate_left(mask as u32 % 64) } else { mask };
            // The natural order, and that of a table in which the bits of the lead, and others, come first.
            for first_of_table in [0, mask | 0x0f0f << (others[0] % 48)] {
                let table = Permutation::new(first_of_table);
                let order = Order::with_leading(mask, table.clone());
                let lead = Lead { table: 0, mask: order.apply(mask), order, earlier: Vec::new() };
                let natural: [u64; 3] = std::array::from_fn(|i| start & keep | others[i] & !keep);
                let mut values = natural.map(|value| table.apply(value));
                values.sort_unstable();
                let bits = bits.min(mask.count_ones());
                let (first, last) = digits_between(&lead, bits, values[0], values[2]);
                let own = leading(lead.order.apply(table.undo(values[1])), bits);
                prop_assert!((first..=last).contains(&own));
                let (first, last) = digits_between(&lead, bits, values[1], values[1]);
                prop_assert!(first == own && last == own);
            }
        }
    }
}
