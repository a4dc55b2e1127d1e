//! Slices: the digits of a lead that are gathered together.

use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};

use crate::error::ReadError;
use crate::join::digits::digit;
use crate::join::lead::Lead;
use crate::join::ordered;
use crate::join::population::Population;
use crate::join::workspace::Workspace;
use crate::progress::Counter;
use hamdex_fingerprint::Fingerprint;

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
pub(super) fn counts<F: Fingerprint>(
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
            Ok(send(counts))
        },
        &mut |part: Vec<Vec<u64>>| {
            let sums = sums.iter_mut().flatten();
            sums.zip(part.iter().flatten()).for_each(|(sum, count)| *sum += count);
            ControlFlow::Continue(())
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
    digit(lead.order.apply(value), bits.min(lead.mask.count_ones()))
}

/// Consecutive digits whose counts sum to at most `size`, or single ones; `None` if one has more than `capacity`.
pub(super) fn slices(counts: &[u64], size: u64, capacity: u64) -> Option<Vec<Range<usize>>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_to_their_size_and_the_capacity() {
        assert_eq!(slices(&[3, 3, 3, 0, 5], 6, 6), Some(vec![0..2, 2..4, 4..5]));
        assert_eq!(slices(&[0, 0, 1, 1], 1, 1), Some(vec![0..3, 3..4]));
        assert_eq!(slices(&[1, 7, 1, 1], 2, 7), Some(vec![0..1, 1..2, 2..4]));
        assert_eq!(slices(&[7, 1], 2, 6), None);
    }
}
