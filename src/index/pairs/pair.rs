//! Two fingerprints near each other.

/// Two stored fingerprints near each other. Their ids, if there are any: [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair<F> {
    /// The lower one.
    pub a: F,
    /// The higher one.
    pub b: F,
    /// The Hamming distance of the two, at least 1.
    pub distance: u32,
}
