//! The parts of a population that may have values of a slice.
//!
//! A population is in natural order, or has copies in others. A lead leaves some of the leading bits out;
//! between values that agree in these, its digits ascend. So most of a slice is in short ranges, one for each
//! value of the bits left out, and the rest is not read.

use std::ops::Range;

use crate::join::digits::digit;
use crate::join::lead::Lead;
use crate::join::population::{Part, Population};
use hamdex_fingerprint::Fingerprint;

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

    use super::*;
    use crate::join::lead::Order;
    use crate::permutation::Permutation;

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
