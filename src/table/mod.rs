//! Sorted permuted tables: blocks in the file, the last fingerprint of each block in memory.
//!
//! - [`keys`]: from a value to the block that may hold it
//! - [`directory`]: the number of keys below a value, mostly without reading a key
//! - [`filter`]: which prefixes the table may have
//! - [`reader`]: the position and the contents of blocks
//! - [`locate`]: from a query to the blocks that may hold a match
//! - [`prefetch`]: prefetching into the processor's caches
//! - [`scanner`]: from such blocks to the entries that match
//! - [`blocks_read`](mod@blocks_read): how many blocks queries have read
//! - [`writer`]: from sorted values to blocks and keys

pub(crate) mod blocks_read;
mod directory;
pub(crate) mod filter;
pub(crate) mod keys;
pub(crate) mod locate;
mod prefetch;
pub(crate) mod reader;
pub(crate) mod scanner;
pub(crate) mod writer;
