//! What tests turn.

/// What tests turn to force each way of the work. Nothing here is promised to stay.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    pub way: Way,
    pub blocks_per_task: Option<usize>,
    pub queries_per_task: Option<u64>,
    pub longest_run: Option<usize>,
    /// Values that memory holds.
    pub capacity: Option<usize>,
    /// Values that are gathered at a time.
    pub slice: Option<u64>,
}

/// Where the values of the work come from.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Way {
    #[default]
    Auto,
    /// Nothing is taken from a table but 0.
    Gather,
    /// Every fingerprint is a query.
    Query,
}
