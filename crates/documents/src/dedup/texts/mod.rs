//! Near-duplicates by the similarity of texts, as sets of shingles.
//!
//! - [`join`]: candidates with a common shingle in their prefixes, compared exactly
//! - [`prefix`]: the shingles of a set that lead to similar ones, and the lists of these
//! - [`shingle_counts`]: the number of sets that have a shingle
//! - [`chains`]: chains of similar sets
//! - [`new_texts`]: known documents, streamed past the new ones

pub(super) mod chains;
pub(super) mod join;
pub(crate) mod new_texts;
mod prefix;
pub(crate) mod shingle_counts;
