//! Two fingerprints near each other.

use hamdex_fingerprint::Fingerprint;

/// Two stored fingerprints near each other. Their ids, if there are any: [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Pair<F> {
    /// The lower one.
    pub a: F,
    /// The higher one.
    pub b: F,
    /// The Hamming distance of the two, at least 1.
    pub distance: u32,
}

impl<F: Fingerprint> Pair<F> {
    /// Returns the pair of two fingerprints, in either order.
    #[inline]
    #[must_use]
    pub fn of(one: F, other: F) -> Self {
        Self { a: one.min(other), b: one.max(other), distance: one.distance(other) }
    }
}
