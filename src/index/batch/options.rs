//! What can be chosen for a batch.

/// The most queries taken at a time: more would share blocks a little better, and wait longer for
/// their answers.
pub(super) const MAX_QUERIES: usize = 1 << 20;

/// Unless told otherwise.
const DEFAULT_MEMORY: usize = 512 << 20;

/// How a batch is answered. All give the same answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Whichever of the others is estimated to be faster, for each chunk of queries anew.
    #[default]
    Auto,
    /// The queries are led to the blocks of all tables that may hold what they look for.
    Probe,
    /// Table 0 is streamed past tables of the queries (§3.2 of the paper): for many queries, or for
    /// files of one table.
    Scan,
}

/// How to answer a batch; the defaults suit most. Threads are those of the current rayon pool.
#[derive(Debug, Clone)]
pub struct BatchOptions {
    pub(super) strategy: Strategy,
    pub(super) memory: usize,
    pub(super) dense_from: Option<usize>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchOptions {
    /// The faster strategy, up to 512 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self { strategy: Strategy::Auto, memory: DEFAULT_MEMORY, dense_from: None }
    }

    /// The strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// About how many bytes may be in use: half for the work, half for matches on their way. With less
    /// memory, fewer queries are answered at a time; a single query is answered whatever it takes. A few
    /// MiB a thread come on top.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// From how many queries on a block is decoded, for tests and benches.
    #[doc(hidden)]
    #[must_use]
    pub fn dense_from(mut self, queries: usize) -> Self {
        self.dense_from = Some(queries);
        self
    }

    /// Bytes for the work.
    pub(super) fn work_bytes(&self) -> usize {
        self.memory / 2
    }

    /// Bytes for matches.
    pub(super) fn match_bytes(&self) -> usize {
        self.memory / 2
    }
}
