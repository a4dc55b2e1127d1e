//! Building a set: fingerprints in any order, one directory of shards out.
//!
//! - [`builder`]: what is pushed, and what becomes of it
//! - [`records`]: records on their way, in memory or in temporary files
//! - [`output`]: the files, and the directory that they appear in

mod builder;
mod output;
mod records;

pub use builder::{SealedShards, ShardsBuilder, ShardsSummary};
pub(crate) use output::Target;
