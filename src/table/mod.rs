//! Sorted permuted tables: blocks in the file, the last fingerprint of each block in memory.
//!
//! - [`keys`]: from a value to the block that may hold it
//! - [`directory`]: how many keys are less than a value, mostly without a look at a key
//! - [`reader`]: where blocks are, and what they hold
//! - [`locate`]: from a query to the blocks that may hold a match
//! - [`prefetch`]: what the processor's caches should bring before it is read
//! - [`scanner`]: from such blocks to the entries that match
//! - [`writer`]: from sorted values to blocks and keys

mod directory;
pub(crate) mod keys;
pub(crate) mod locate;
mod prefetch;
pub(crate) mod reader;
pub(crate) mod scanner;
pub(crate) mod writer;
