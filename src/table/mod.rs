//! Sorted permuted tables: blocks in the file, the last fingerprint of each block in memory.
//!
//! - [`keys`]: from a value to the block that may hold it
//! - [`reader`]: from a query to the blocks that may hold a match, and what they hold
//! - [`scanner`]: from such blocks to the entries that match
//! - [`writer`]: from sorted values to blocks and keys

pub(crate) mod keys;
pub(crate) mod reader;
pub(crate) mod scanner;
pub(crate) mod writer;
