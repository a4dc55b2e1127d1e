//! State shared by all threads that answer a batch.

use crate::batch::options::BatchOptions;
use crate::design::Plan;
use crate::error::ReadError;
use crate::index::handle::Index;
use crate::progress::{Counter, Stopped};

/// A chunk of queries and how to answer it: the same for all threads that work on it.
#[derive(Clone, Copy)]
pub(super) struct BatchContext<'a, F> {
    pub(super) index: &'a Index<F>,
    pub(super) plan: &'a Plan<F>,
    pub(super) queries: &'a [F],
    pub(super) options: &'a BatchOptions,
    /// The cancellation check.
    pub(super) done: &'a Counter,
    /// Whether the queries have many more matches than are wanted, so that only the nearest of each are kept.
    pub(super) is_crowded: bool,
}

/// Why an attempt to answer a chunk of queries ended early.
pub(super) enum Stop {
    /// There are more matches than there is room for.
    Full,
    /// A scan costs more than was expected of it.
    Costly,
    /// A block is damaged, or the caller has stopped the work.
    Failed(ReadError),
}

impl From<Stopped> for Stop {
    fn from(stopped: Stopped) -> Self {
        Self::Failed(stopped.into())
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Failed(error)
    }
}
