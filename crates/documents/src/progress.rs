//! Progress of a search for near-duplicates.

use std::ops::ControlFlow;
use std::sync::Arc;

/// What a search for near-duplicates is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Documents are read, and fingerprints made of them; how many there are is not known.
    Read,
    /// The shingles of all documents are counted.
    Count,
    /// Documents are compared.
    Compare,
    /// Documents of one cluster are brought together.
    Cluster,
    /// What is in a cluster is compared with what is kept of it.
    Measure,
}

/// Progress of a search for near-duplicates. The documents report how many bytes are read
/// ([`Documents::on_read`](crate::Documents::on_read)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Units done in this stage.
    pub done: u64,
    /// Units in all, where that is known.
    pub total: Option<u64>,
}

impl Progress {
    pub(crate) fn new(stage: Stage, done: u64, total: Option<u64>) -> Self {
        Self { stage, done, total }
    }
}

/// Receives progress.
pub(crate) type OnProgress = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;
