//! What a query finds.

/// A stored fingerprint near a query. Its ids, if there are any: [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match<F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
}
