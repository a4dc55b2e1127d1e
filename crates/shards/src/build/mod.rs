//! Making a set: from fingerprints in any order, or from index files that were built before.
//!
//! - [`builder`]: fingerprints in, one directory of shards out
//! - [`import`]: sets of index files that were built one by one
//! - [`spool`]: records spooled for a shard, in memory or in temporary files
//! - [`target`]: the directory of a set until it has its name

mod builder;
mod import;
mod spool;
mod target;

pub use builder::{SealedShards, ShardsBuilder, ShardsSummary};
pub use import::{add, create};
