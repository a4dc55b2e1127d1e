//! Pairs, operations on them, and batches of operations.

use std::sync::Arc;

/// A fingerprint and one of its ids; in a store without ids, 0.
pub(crate) type Pair<F> = (F, u64);

/// The ids of pairs, ascending, each once.
pub(crate) fn ids_of<F>(pairs: &[Pair<F>]) -> Vec<u64> {
    let mut ids: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// One change of the set: a pair of a fingerprint and an id is inserted or removed. In a store without ids the
/// id is 0, and is not written to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation<F> {
    /// The pair is in the set from here on, whether or not it was before.
    Insert(F, u64),
    /// The pair is not in the set from here on, whether or not it was before.
    Remove(F, u64),
}

impl<F: Copy> Operation<F> {
    /// The fingerprint and the id.
    #[must_use]
    pub fn pair(&self) -> (F, u64) {
        match *self {
            Self::Insert(fingerprint, id) | Self::Remove(fingerprint, id) => (fingerprint, id),
        }
    }
}

/// An id, and what it is called.
pub type Name = (u64, Arc<[u8]>);

/// Operations that happen together, and the names of the ids that they insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<F> {
    /// In their order.
    pub operations: Vec<Operation<F>>,
    /// By ascending id; none in a store without names.
    pub names: Vec<Name>,
}

impl<F> Default for Batch<F> {
    fn default() -> Self {
        Self { operations: Vec::new(), names: Vec::new() }
    }
}
