//! Slices: the digits of a lead that are gathered together, and the parts of a population that may have their values.
//!
//! A population is in natural order, or has copies in others. A lead leaves some of the leading bits out;
//! between values that agree in these, its digits ascend. So most of a slice is in short ranges, one for each
//! value of the bits left out, and the rest is not read.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::error::ReadError;
use crate::join::lead::{Lead, digit};
use crate::join::population::{Part, Population};
use crate::join::{Workspace, ordered};
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

/// Adds the least parts of a part that may have values whose digits of `bits` bits lie in the slice: side by side, they
/// are one.
pub(super) fn cover<F: Fingerprint>(
    population: &dyn Population<F>,
    part: &Part,
    lead: &Lead<F>,
    bits: u32,
    slice: &Range<usize>,
    covering: &mut Vec<Part>,
) {
    let (least, greatest) = population.bounds(part);
    let (first, last) = digits_between(lead, bits, least, greatest);
    if first >= slice.end || last < slice.start {
        return;
    }
    let Part { source, range } = part;
    if range.len() > 1 && (first < slice.start || last >= slice.end) {
        let middle = range.start.midpoint(range.end);
        for range in [range.start..middle, middle..range.end] {
            cover(population, &Part { source: *source, range }, lead, bits, slice, covering);
        }
        return;
    }
    match covering.last_mut() {
        Some(before) if before.source == *source && before.range.end == range.start => {
            before.range.end = range.end;
        }
        _ => covering.push(Part { source: *source, range: range.clone() }),
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
    let of = |value| digit(order.apply(value), bits);
    (of(least & ascending), of(greatest | !ascending))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::join::lead::Order;
    use crate::permutation::Permutation;

    use super::*;

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
            for leading in [0, mask | 0x0f0f << (others[0] % 48)] {
                let table = Permutation::new(leading);
                let order = Order::with_leading(mask, table.clone());
                let lead = Lead { table: 0, mask: order.apply(mask), order, earlier: Vec::new() };
                let natural: [u64; 3] = std::array::from_fn(|i| start & keep | others[i] & !keep);
                let mut values = natural.map(|value| table.apply(value));
                values.sort_unstable();
                let bits = bits.min(mask.count_ones());
                let (first, last) = digits_between(&lead, bits, values[0], values[2]);
                let own = digit(lead.order.apply(table.undo(values[1])), bits);
                prop_assert!((first..=last).contains(&own));
                let (first, last) = digits_between(&lead, bits, values[1], values[1]);
                prop_assert!(first == own && last == own);
            }
        }
    }
}
