//! What a query finds.

use hamdex_fingerprint::Fingerprint;

/// A stored fingerprint near a query. Its ids, if there are any: [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Match<F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
}

impl<F: Fingerprint> Match<F> {
    /// `fingerprint` as a match of `query`.
    #[must_use]
    pub fn of(query: F, fingerprint: F) -> Self {
        Self { distance: fingerprint.distance(query), fingerprint }
    }
}
