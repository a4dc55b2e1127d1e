//! Queries of a set.
//!
//! - [`searcher`]: one query at a time
//! - [`batch`]: many queries at once
//! - [`pairs`]: the self-join
//! - [`entries`]: all stored fingerprints, in order
//! - [`fingerprint_set`]: the interface that it shares with indexes and stores
//! - [`ids`]: the ids of a fingerprint, and their names

mod batch;
mod entries;
mod fingerprint_set;
pub(crate) mod ids;
mod pairs;
pub(crate) mod searcher;
