//! Flushes and merges: from memory to segments, and from many segments to few without removed pairs.
//!
//! - [`flush`]: from a frozen memtable to a segment
//! - [`policy`]: which segments to merge next
//! - [`claims`]: the segments that each running merge has
//! - [`merge`]: merging them, without the pairs in a [`removed_filter`]
//! - [`publish`]: changes of the manifest and of the view of readers

pub(crate) mod claims;
mod flush;
pub(crate) mod merge;
mod policy;
pub(crate) mod publish;
mod removed_filter;
