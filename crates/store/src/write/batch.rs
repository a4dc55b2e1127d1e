//! Pairs, operations on them, and batches of operations.

use crate::write::document::Document;

/// A (fingerprint, id) pair. The id is 0 in a store without ids.
pub(crate) type Pair<F> = (F, u64);

/// Returns the distinct ids of pairs, ascending.
pub(crate) fn ids_of<F>(pairs: &[Pair<F>]) -> Vec<u64> {
    let mut ids: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The insertion or removal of a (fingerprint, id) pair. In a store without ids the id is 0, and is not written to the
/// log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation<F> {
    /// The pair is in the set afterwards, whether or not it was before.
    Insert(F, u64),
    /// The pair is not in the set afterwards, whether or not it was before.
    Remove(F, u64),
}

impl<F: Copy> Operation<F> {
    /// Returns the fingerprint and the id.
    #[must_use]
    pub fn pair(&self) -> (F, u64) {
        match *self {
            Self::Insert(fingerprint, id) | Self::Remove(fingerprint, id) => (fingerprint, id),
        }
    }
}

/// An id and its name, with shingles in a store with shingles.
pub type Name = (u64, Document);

/// Operations that are applied atomically, and the names of the ids that they insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<F> {
    /// The operations, in the order in which they are applied.
    pub operations: Vec<Operation<F>>,
    /// The names, by ascending id; empty in a store without names.
    pub names: Vec<Name>,
}

impl<F> Default for Batch<F> {
    fn default() -> Self {
        Self { operations: Vec::new(), names: Vec::new() }
    }
}
