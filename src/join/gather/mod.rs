//! Gathering in memory the values of a lead that no table has adjacent.
//!
//! They are sorted by two digits, the leading bits of the lead first: once in each part as it is read, once
//! when the pieces of all parts with a common digit are joined. Both times the values fit the caches. Many
//! values are gathered in slices of digits ([`slices`]): if a table has the bits of the lead early, few values
//! outside the slice are read.

mod slices;

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::error::ReadError;
use crate::join::gather::slices::{counts, cover, slices};
use crate::join::lead::{Lead, SLICE_DIGIT_BITS, digit, sort};
use crate::join::population::{Part as Place, Population};
use crate::join::runs::RunPairs;
use crate::join::{Workspace, ordered};
use crate::progress::{Counter, Stopped};
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
                        values.extend(permuted.filter(|&value| slice.contains(&digit(value, bits))));
                    })?;
                }
                let mut sorted = Part { values: Vec::new(), starts: Vec::new() };
                sort(
                    &values,
                    slice.len(),
                    |value| digit(value, bits) - slice.start,
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
                sort(bucket, 1 << more, |value| digit(value << self.bits, more), sorted, starts);
                runs.find(sorted, mask)?;
            }
        }
        Ok(count)
    }
}
