//! Flushes and merges: from memory to segments, and from many segments to few without removed pairs.
//!
//! - [`flush`]: from a frozen memtable to a segment
//! - [`policy`]: which segments to merge next
//! - [`claims`]: which merge has which segments
//! - [`merge`]: merging them, without the pairs that [`removed_filter`] finds
//! - [`publish`]: changes of the manifest and of what readers see

pub(crate) mod claims;
mod flush;
pub(crate) mod merge;
mod policy;
pub(crate) mod publish;
mod removed_filter;
