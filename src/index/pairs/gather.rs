//! A lead whose values no table has side by side: they are gathered in memory.
//!
//! Twice sorted by a digit, the leading bits of the lead first: once in each part of them as it is
//! read, once when the pieces of all parts that have a digit in common are put together. Both times the
//! values fit near the processor. What does not fit into memory at once is done in slices of digits,
//! each of which reads the table again.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};

use crate::error::ReadError;
use crate::index::pairs::lead::Lead;
use crate::index::pairs::ordered;
use crate::index::pairs::population::Population;
use crate::index::pairs::runs::RunPairs;
use crate::index::pairs::workspace::Workspace;
use crate::progress::Counter;
use hamdex_fingerprint::Fingerprint;

/// Values that share a first digit, about, where there are many and they are spread evenly.
const BUCKET_LOG2: u32 = 14;

/// The most bits of the first digit.
const FIRST_DIGIT_BITS: u32 = 12;

/// The most bits of the second digit.
const SECOND_DIGIT_BITS: u32 = 16;

/// Values of a part, about; more where there are many, so that pieces are not too small.
const PART: u64 = 1 << 17;

/// The most parts.
const MAX_PARTS: u64 = 256;

/// The values of a part of the table that a slice has, sorted by their first digit.
struct Part<F> {
    values: Vec<F>,
    /// For each digit of the slice where its values start; one more for the end.
    starts: Vec<u32>,
}

/// How the values of a lead are gathered.
pub(super) struct Gathering<'a, F> {
    lead: &'a Lead<F>,
    /// Bits of the first digit.
    bits: u32,
    /// What of the digits is done at a time.
    pub(super) slices: Vec<Range<usize>>,
}

/// A slice in memory.
pub(super) struct Gathered<'a, F> {
    lead: &'a Lead<F>,
    bits: u32,
    parts: Vec<Part<F>>,
    has_repeats: bool,
}

impl<'a, F: Fingerprint> Gathering<'a, F> {
    /// Parts the digits of a lead into slices of at most `capacity` values; `None` when one digit has
    /// more.
    pub(super) fn new(
        population: &dyn Population<F>,
        lead: &'a Lead<F>,
        capacity: NonZeroUsize,
        threads: NonZeroUsize,
        done: &Counter,
    ) -> Result<Option<Self>, ReadError> {
        let bits = population.len().max(1).ilog2().saturating_sub(BUCKET_LOG2);
        let bits = bits.clamp(1, FIRST_DIGIT_BITS).min(lead.mask.count_ones());
        let digits = 1 << bits;
        if population.len() <= capacity.get() as u64 {
            let whole = 0..digits;
            return Ok(Some(Self { lead, bits, slices: vec![whole] }));
        }
        let mut counts = vec![0u64; digits];
        let parts = population.parts(part_size(population.len()));
        ordered::run(
            threads,
            parts.len(),
            Workspace::default,
            |workspace, part, send| {
                done.check()?;
                let mut counts = vec![0u64; digits];
                population.read(&parts[part], workspace, &mut |values| {
                    let digits = values.iter().map(|&value| digit(lead.permutation.apply(value), bits));
                    digits.for_each(|digit| counts[digit] += 1);
                })?;
                Ok(send(counts))
            },
            &mut |part: Vec<u64>| {
                counts.iter_mut().zip(part).for_each(|(sum, count)| *sum += count);
                ControlFlow::Continue(())
            },
        )
        .map(|_| slices(&counts, capacity.get() as u64).map(|slices| Self { lead, bits, slices }))
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
        let of_population = population.parts(part_size(population.len()));
        let has_repeats = population.has_repeats();
        let mut parts = Vec::new();
        ordered::run(
            threads,
            of_population.len(),
            Workspace::default,
            |workspace, part, send| {
                done.check()?;
                let mut values = std::mem::take(&mut workspace.gathered);
                values.clear();
                population.read(&of_population[part], workspace, &mut |read| {
                    let permuted = read.iter().map(|&value| lead.permutation.apply(value));
                    values.extend(permuted.filter(|&value| slice.contains(&digit(value, bits))));
                })?;
                let mut sorted = Part { values: Vec::new(), starts: Vec::new() };
                sort(
                    &values,
                    slice.len(),
                    |value| digit(value, bits) - slice.start,
                    &mut sorted.values,
                    &mut sorted.starts,
                );
                workspace.gathered = values;
                Ok(send(sorted))
            },
            &mut |part| {
                parts.push(part);
                ControlFlow::Continue(())
            },
        )
        .map(|_| Gathered { lead, bits, parts, has_repeats })
    }
}

impl<F: Fingerprint> Gathered<'_, F> {
    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.values.len()).sum()
    }

    /// Digits of the slice that make a task worth its while.
    pub(super) fn digits_per_task(&self, digits: usize) -> usize {
        (digits << BUCKET_LOG2) / self.len().max(1)
    }

    /// Finds the pairs of some digits, counted from the start of the slice; returns how many values these
    /// have.
    pub(super) fn find(
        &self,
        digits: Range<usize>,
        workspace: &mut Workspace<F>,
        runs: &mut RunPairs<'_, '_, F>,
    ) -> (usize, ControlFlow<()>) {
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
                if runs.find(bucket, self.lead.mask).is_break() {
                    return (count, ControlFlow::Break(()));
                }
                continue;
            }
            let more = self.lead.mask.count_ones() - self.bits;
            let more = more.min(bucket.len().max(1).ilog2()).min(SECOND_DIGIT_BITS);
            let mask = F::prefix_mask(self.bits + more);
            let outcome = if more == 0 {
                runs.find(bucket, mask)
            } else {
                sort(bucket, 1 << more, |value| digit(value << self.bits, more), sorted, starts);
                runs.find(sorted, mask)
            };
            if outcome.is_break() {
                return (count, ControlFlow::Break(()));
            }
        }
        (count, ControlFlow::Continue(()))
    }
}

/// Sorts by a digit below `digits`; equal digits keep their order.
fn sort<F: Fingerprint>(
    values: &[F],
    digits: usize,
    digit: impl Fn(F) -> usize,
    sorted: &mut Vec<F>,
    starts: &mut Vec<u32>,
) {
    // While values are put in place, starts[d + 1] is where the next one of digit d goes: in the end,
    // where those of digit d end.
    starts.clear();
    starts.resize(digits + 2, 0);
    for &value in values {
        starts[digit(value) + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    sorted.clear();
    sorted.resize(values.len(), F::ZERO);
    for &value in values {
        let next = &mut starts[digit(value) + 1];
        sorted[*next as usize] = value;
        *next += 1;
    }
    starts.pop();
}

/// The first `bits` bits.
#[inline]
fn digit<F: Fingerprint>(value: F, bits: u32) -> usize {
    if bits == 0 { 0 } else { (value >> (F::BITS - bits)).to_u128() as usize }
}

/// Values of a part.
fn part_size(count: u64) -> u64 {
    PART.max(count.div_ceil(MAX_PARTS))
}

/// Consecutive digits whose counts sum to at most `capacity`.
fn slices(counts: &[u64], capacity: u64) -> Option<Vec<Range<usize>>> {
    let mut slices = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (digit, &count) in counts.iter().enumerate() {
        if count > capacity {
            return None;
        }
        if sum + count > capacity {
            slices.push(start..digit);
            (start, sum) = (digit, 0);
        }
        sum += count;
    }
    slices.push(start..counts.len());
    Some(slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_to_the_capacity() {
        assert_eq!(slices(&[3, 3, 3, 0, 5], 6), Some(vec![0..2, 2..4, 4..5]));
        assert_eq!(slices(&[0, 0, 1, 1], 1), Some(vec![0..3, 3..4]));
        assert_eq!(slices(&[7, 1], 6), None);
    }

    #[test]
    fn sorting_keeps_what_is_equal_in_order() {
        let (mut sorted, mut starts) = (Vec::new(), Vec::new());
        sort(&[0x31u64, 0x10, 0x32, 0x00, 0x11], 5, |value| (value >> 4) as usize, &mut sorted, &mut starts);
        assert_eq!(sorted, [0x00, 0x10, 0x11, 0x31, 0x32]);
        assert_eq!(starts, [0, 1, 3, 3, 5, 5]);
    }
}
