//! The interface of contenders, and the result of building one.

use anyhow::Result;

use crate::memory::Held;

/// An index that finds all stored fingerprints within a distance of a query.
pub(crate) trait Contender {
    /// Runs every query and returns the number of matches: this is timed. Whatever can be reused from
    /// query to query should be.
    fn count(&self, queries: &[u64], distance: u32) -> Result<u64>;

    /// Runs every query and passes each match to `found`, with the number of its query: this is checked.
    fn for_each_match(&self, queries: &[u64], distance: u32, found: &mut dyn FnMut(usize, u64))
    -> Result<()>;
}

/// A contender, ready for queries.
pub(crate) struct Built {
    pub contender: Box<dyn Contender>,
    /// Bytes of the file that it reads, all of it in memory once it is warm.
    pub file_bytes: u64,
    /// Bytes of memory, its own copy of the data included; resident ones with those of the file.
    pub held_bytes: Held,
    pub build_seconds: f64,
}
