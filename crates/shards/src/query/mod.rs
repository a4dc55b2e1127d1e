//! Queries of a set.
//!
//! - [`searcher`]: one query at a time
//! - [`batch`]: many queries at once
//! - [`pairs`]: the self-join
//! - [`fingerprint_set`]: the interface that it shares with indexes and stores
//! - [`ids`]: the ids of a fingerprint, and their names

mod batch;
mod fingerprint_set;
mod ids;
mod pairs;
pub(crate) mod searcher;
