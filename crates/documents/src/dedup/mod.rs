//! The near-duplicates of a corpus, as clusters.
//!
//! - [`options`]: options, and the steps in their order
//! - [`corpus`]: what is kept of each document in memory
//! - [`keep`], [`spool`]: what is kept of each document on disk
//! - [`pairs`]: the search
//! - [`check`]: confirming candidates by their texts
//! - [`unions`]: sets of documents
//! - [`members`]: the sets of two or more, and the kept document of each
//! - [`clusters`]: the result

pub(crate) mod check;
pub(crate) mod clusters;
pub(crate) mod corpus;
pub(crate) mod keep;
pub(crate) mod members;
pub(crate) mod options;
pub(crate) mod pairs;
pub(crate) mod spool;
pub(crate) mod unions;
