//! The near-duplicates of a corpus, as clusters.
//!
//! - [`options`]: what is wanted, and the steps in their order
//! - [`corpus`]: what is remembered of each document
//! - [`keep`], [`spool`]: what is needed again, on disk
//! - [`pairs`]: the search
//! - [`check`]: confirming candidates by their texts
//! - [`unions`]: which documents belong together
//! - [`members`]: the sets of two or more, and which document of each is kept
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
