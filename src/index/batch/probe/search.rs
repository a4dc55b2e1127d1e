//! Looking into a decoded block.

use std::ops::ControlFlow;

use crate::codec::Target;
use crate::fingerprint::Fingerprint;

/// Calls `visit` with each of the ascending `values`, which are not empty, that is within the distance
/// of the target's query, or at least with all of those that its prefix admits.
#[inline]
pub(super) fn search<F: Fingerprint>(
    values: &[F],
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (first, last) = (values[0], values[values.len() - 1]);
    // Without errors in the prefix, or where all of them are in what the block shares, there is one run
    // of values to look at. Otherwise the block is short enough to be looked at as a whole.
    let (least, greatest) = target.span(first, last);
    let start = values.partition_point(|&value| value < least);
    let run = &values[start..];
    let end = run.iter().position(|&value| value > greatest).unwrap_or(run.len());
    within(&run[..end], target.query, target.distance, visit)
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
