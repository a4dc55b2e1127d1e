//! A set of fingerprints in many index files, queried exactly as one.
//!
//! A set is a directory of index files, its *shards*, and a manifest, as `shards-spec.md` describes them. It is for sets that are too large for one file or one machine, and for files that come from several.
//!
//! - [`Layout::Families`]: k + 1 families of shards, each with every fingerprint, split by a hash of one of k + 1 groups of
//!   bits. Two fingerprints within k bits agree in a group, so a query asks one shard of each family, however many
//!   there are.
//! - [`Layout::Hash`]: every fingerprint once, in any shard; a query asks all of them.
//!
//! [`ShardsBuilder`] writes either; [`Shards`] is an open set, with queries ([`ShardsSearcher`]), batches, the self-join
//! ([`ShardsPairs`]), entries and verification; [`create`] and [`add`] make a set of layout `hash` of index files that
//! were built one by one.

mod any;
mod build;
mod error;
mod manifest;
mod partition;
mod query;
mod set;
mod verify;

pub use any::{AnyShards, width};
pub use build::{SealedShards, ShardsBuilder, ShardsSummary, add, create};
pub use error::Error;
pub use manifest::{
    IdType, Layout, MANIFEST, MAX_SHARDS, Manifest, ShardEntry, VERSION, is_set, read as read_manifest,
};
pub use query::entries::{SetEntries, SetEntry};
pub use query::pairs::ShardsPairs;
pub use query::searcher::ShardsSearcher;
pub use set::Shards;
