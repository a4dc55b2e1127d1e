//! Settings for tests.

/// Settings with which tests force each way of the work. Unstable.
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

/// The source of the values.
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
