//! Reading: a snapshot, and what it can be asked.
//!
//! - [`snapshot`]: one moment of the set, for as long as it is held
//! - [`searcher`]: queries, one at a time
//! - [`pool`]: searchers that wait to be used again
//! - [`reader`]: a store that another process may be writing to; [`seen`]: what it has seen of it
//! - [`pairs`]: all pairs of fingerprint and id, in order
//! - [`fingerprint_set`]: the face that a snapshot shares with indexes and shards
//! - [`names`]: the names of ids

mod fingerprint_set;
mod names;
pub(crate) mod pairs;
pub(crate) mod pool;
pub(crate) mod reader;
pub(crate) mod searcher;
mod seen;
pub(crate) mod snapshot;
