//! Reading: snapshots and their queries.
//!
//! - [`snapshot`]: an immutable view of the set
//! - [`batch`]: many queries at once
//! - [`searcher`]: queries with reusable buffers, and a pool of them
//! - [`reader`]: reading a store that another process may write to, and how its view is refreshed
//! - [`pairs`]: all pairs of fingerprint and id, in order
//! - [`fingerprint_set`]: the interface that a snapshot shares with indexes and shards; the shingles of documents
//! - [`similar`]: documents similar to a set of shingles
//! - [`lookups`]: names by id, pairs by id, ids by name

mod batch;
mod fingerprint_set;
mod lookups;
pub(crate) mod pairs;
pub(crate) mod reader;
pub(crate) mod searcher;
mod similar;
pub(crate) mod snapshot;
