//! Queries of a set.
//!
//! - [`searcher`]: one query at a time
//! - [`batch`]: many queries at once
//! - [`pairs`]: the self-join
//! - [`entries`]: all stored fingerprints, in order
//! - [`ids`]: the ids of a fingerprint, and their names

mod batch;
pub(crate) mod entries;
pub(crate) mod ids;
pub(crate) mod pairs;
pub(crate) mod searcher;
