//! What is written at once.

use std::sync::Arc;

use crate::operation::Operation;

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
