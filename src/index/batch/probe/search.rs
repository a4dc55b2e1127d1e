//! Looking into a decoded block: its values in memory, ascending.

use std::ops::ControlFlow;

use crate::codec::Target;
use crate::fingerprint::Fingerprint;

/// So many values are compared rather than looked at more closely.
const SHORT: usize = 64;

/// Where in a block all that shares a query's prefix begins, and what is greater than all that does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<F> {
    start: u32,
    greatest: F,
}

/// The run of a target that admits no error in its prefix.
///
/// To be called for all queries that meet in the block before the first run is looked at: it takes no
/// branch that depends on the query, so that the searches overlap.
#[inline]
pub(super) fn run<F: Fingerprint>(values: &[F], target: &Target<F>) -> Run<F> {
    let prefix = F::prefix_mask(target.prefix_bits);
    let least = target.query & prefix;
    let start = values.partition_point(|&value| value < least) as u32;
    Run { start, greatest: target.query | !prefix }
}

/// Calls `visit` with each of `values` that lies in the run and within the distance of the target.
#[inline]
pub(super) fn in_run<F: Fingerprint>(
    values: &[F],
    run: Run<F>,
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let values = &values[run.start as usize..];
    let count = values.iter().position(|&value| value > run.greatest).unwrap_or(values.len());
    within(&values[..count], target.query, target.distance, visit)
}

/// Calls `visit` with each of `values` that `target` meets, and perhaps with others within its distance.
///
/// The values are the leaves of a binary trie. A subtree where the prefix holds too many errors already
/// is left out; where it may hold no more, one run remains; another one is parted, until it is short.
pub(super) fn in_trie<F: Fingerprint>(
    values: &[F],
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else {
        return ControlFlow::Continue(());
    };
    if target.rules_out(first, last) {
        return ControlFlow::Continue(());
    }
    if target.used_up(first, last).is_some() {
        let (least, greatest) = target.span(first, last);
        let start = values.partition_point(|&value| value < least) as u32;
        return in_run(values, Run { start, greatest }, target, visit);
    }
    if values.len() <= SHORT {
        return within(values, target.query, target.distance, visit);
    }
    let parting = F::bit(first.first_difference(last));
    let (without, with) = values.split_at(values.partition_point(|&value| value & parting == F::ZERO));
    in_trie(without, target, visit)?;
    in_trie(with, target, visit)
}

/// Calls `visit` with each value within `distance` of `query`.
#[inline]
fn within<F: Fingerprint>(
    values: &[F],
    query: F,
    distance: u32,
    visit: &mut impl FnMut(F) -> ControlFlow<()>,
) -> ControlFlow<()> {
    values.iter().filter(|value| value.distance(query) <= distance).try_for_each(|&value| visit(value))
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
            let mut visit = |value| {
                found.push(value);
                ControlFlow::Continue(())
            };
            let outcome = if target.radius == 0 {
                in_run(&values, run(&values, &target), &target, &mut visit)
            } else {
                in_trie(&values, &target, &mut visit)
            };
            prop_assert!(outcome.is_continue());
            prop_assert!(found.iter().all(|value| value.distance(query) <= distance));
            found.retain(is_met);
            values.retain(is_met);
            prop_assert_eq!(found, values);
        }
    }
}
