//! Flushes and merges: from memory to segments, and from many segments to few without removed pairs.
//!
//! - [`flush`]: from a frozen memtable to a segment
//! - [`policy`]: which segments to merge next, and those that each running merge has
//! - [`merge`]: merging them, without the removed pairs
//! - [`publish`]: changes of the manifest and of the view of readers

mod flush;
pub(crate) mod merge;
pub(crate) mod policy;
pub(crate) mod publish;
