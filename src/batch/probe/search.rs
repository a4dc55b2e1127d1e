//! Looking into a decoded block: its values in memory, ascending.

use std::ops::Range;

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::batch::gather::Full;
use crate::codec::Target;
use hamdex_fingerprint::Fingerprint;

/// Ranges of at most this many values are compared one by one.
const SHORT: usize = 256;

/// Memory that searches use again and again.
#[derive(Default)]
pub(super) struct Scratch {
    /// Start of the run of each query.
    starts: Vec<u32>,
    /// Parts of a block that remain to be searched.
    parts: Vec<Range<usize>>,
}

/// A search of a block for all queries that meet in it.
pub(super) struct Search<'a, F, T, V> {
    /// The entries of the block, ascending, at least one.
    pub(super) values: &'a [F],
    /// Number of queries, and their targets. All radii are the same.
    pub(super) queries: usize,
    pub(super) target: T,
    pub(super) scratch: &'a mut Scratch,
    /// Called with the place of a query and each value that its target meets, and perhaps with others
    /// within its distance; no value comes twice for a query.
    pub(super) visit: V,
}

impl<F, T, V> Search<'_, F, T, V>
where
    F: Fingerprint,
    T: Fn(usize) -> Target<F>,
    V: FnMut(usize, F) -> Result<(), Full>,
{
    pub(super) fn run(self) -> Result<(), Full> {
        arch::run(self)
    }

    /// With no errors allowed in the prefix, the matches of a target are in one run of equal prefixes.
    #[inline(always)]
    fn in_runs(&mut self, instructions: impl Instructions) -> Result<(), Full> {
        let Self { values, queries, target, scratch: Scratch { starts, .. }, visit } = self;
        // All starts are found before the first run is compared: without a branch that depends on the query,
        // the searches overlap.
        starts.resize(*queries, 0);
        for (query, start) in starts.iter_mut().enumerate() {
            let target = target(query);
            let least = target.query & F::prefix_mask(target.prefix_bits);
            *start = values.partition_point(|&value| value < least) as u32;
        }
        for (query, &start) in starts.iter().enumerate() {
            let target = target(query);
            let greatest = target.query | !F::prefix_mask(target.prefix_bits);
            let mut visit = |value| visit(query, value);
            in_run(instructions, &values[start as usize..], greatest, &target, &mut visit)?;
        }
        Ok(())
    }

    /// The values are the leaves of a binary trie. A subtree with too many errors in the prefix is skipped; one
    /// that allows no more errors is a single run; any other is divided until it is short.
    #[inline(always)]
    fn in_tries(&mut self, instructions: impl Instructions) -> Result<(), Full> {
        let Self { values, queries, target, scratch: Scratch { parts, .. }, visit } = self;
        for query in 0..*queries {
            let target = target(query);
            let mut visit = |value| visit(query, value);
            parts.clear();
            parts.push(0..values.len());
            while let Some(part) = parts.pop() {
                let part_values = &values[part.clone()];
                let (Some(&first), Some(&last)) = (part_values.first(), part_values.last()) else { continue };
                if target.rules_out(first, last) {
                    continue;
                }
                if target.uses_up(first, last) {
                    let (least, greatest) = target.span(first, last);
                    let start = part_values.partition_point(|&value| value < least);
                    in_run(instructions, &part_values[start..], greatest, &target, &mut visit)?;
                } else if part_values.len() <= SHORT {
                    within(instructions, part_values, &target, &mut visit)?;
                } else {
                    let parting = F::bit(first.first_difference(last));
                    let without = part_values.partition_point(|&value| value & parting == F::ZERO);
                    parts.push(part.start + without..part.end);
                    parts.push(part.start..part.start + without);
                }
            }
        }
        Ok(())
    }
}

impl<F, T, V> Kernel for Search<'_, F, T, V>
where
    F: Fingerprint,
    T: Fn(usize) -> Target<F>,
    V: FnMut(usize, F) -> Result<(), Full>,
{
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Result<(), Full> {
        if (self.target)(0).radius == 0 { self.in_runs(instructions) } else { self.in_tries(instructions) }
    }
}

/// Calls `visit` with each of `values` up to `greatest` that is within the distance.
/// A few of the values after them are compared, too, which costs nothing.
#[inline(always)]
fn in_run<F: Fingerprint>(
    instructions: impl Instructions,
    values: &[F],
    greatest: F,
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> Result<(), Full>,
) -> Result<(), Full> {
    for values in values.chunks(LANES) {
        within(instructions, values, target, visit)?;
        if values[values.len() - 1] >= greatest {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` with each value within the distance.
#[inline(always)]
fn within<F: Fingerprint>(
    instructions: impl Instructions,
    values: &[F],
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> Result<(), Full>,
) -> Result<(), Full> {
    let (lanes, rest) = values.as_chunks::<LANES>();
    for values in lanes {
        let mut near = if F::BITS == u64::BITS {
            let words = values.map(|value| value.to_u128() as u64);
            instructions.near_values(&words, target.query.to_u128() as u64, target.distance)
        } else {
            let is_near = |value: &F| u32::from(value.distance(target.query) <= target.distance);
            values.iter().rev().fold(0, |near, value| near << 1 | is_near(value))
        };
        while near != 0 {
            visit(values[near.trailing_zeros() as usize])?;
            near &= near - 1;
        }
    }
    rest.iter()
        .filter(|value| value.distance(target.query) <= target.distance)
        .try_for_each(|&value| visit(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_that_a_target_meets_is_found(
            centre: u64,
            flips in prop::collection::vec((0u32..64, 0u32..64, 0u32..64), 1..400),
            query_flips in prop::collection::vec(0u32..64, 0..4),
            prefix_bits in 0u32..=64,
            radius in 0u32..4,
            distance in 0u32..9,
        ) {
            let mut values: Vec<u64> =
                flips.iter().map(|&(a, b, c)| centre ^ 1 << a ^ 1 << b ^ 1 << c).collect();
            values.sort_unstable();
            values.dedup();
            let query = query_flips.iter().fold(centre, |query, &flip| query ^ 1 << flip);
            let target = Target { query, prefix_bits, radius: radius.min(prefix_bits), distance };
            let prefix = u64::prefix_mask(prefix_bits);
            let is_met = |x: &u64| {
                x.distance(query) <= distance && ((x ^ query) & prefix).count_ones() <= target.radius
            };
            let mut found = Vec::new();
            let search = Search {
                values: &values,
                queries: 2,
                target: |_| target,
                scratch: &mut Scratch::default(),
                visit: |query, value| {
                    if query == 1 {
                        found.push(value);
                    }
                    Ok(())
                },
            };
            let outcome = search.run();
            prop_assert!(outcome.is_ok());
            prop_assert!(found.iter().all(|value| value.distance(query) <= distance));
            found.retain(is_met);
            found.sort_unstable();
            values.retain(is_met);
            prop_assert_eq!(found, values);
        }
    }
}
