//! A set of fingerprints in many index files, queried exactly as one.
//!
//! A set is a directory of index files, its *shards*, and a manifest, as specified in `shards-spec.md`. It is for
//! fingerprints that are too many for one file or one machine, and for files from several machines.
//!
//! - [`Layout::Families`]: k + 1 families of shards, each with every fingerprint, split by a hash of one of k + 1
//!   groups of bits. Two fingerprints within k bits agree in a group, so a query searches one shard of each family,
//!   however many shards there are.
//! - [`Layout::Hash`]: every fingerprint once, in any shard; a query searches all shards.
//!
//! [`ShardsBuilder`] writes either; [`Shards`] is an open set, with queries ([`ShardsSearcher`]), batches and
//! verification, and the self-join and entries of a [`FingerprintSet`](hamdex::FingerprintSet); [`create`] and [`add`]
//! make a set of layout `hash` from existing index files.

mod build;
mod error;
mod manifest;
mod partition;
mod query;
mod set;

pub use build::{SealedShards, ShardsBuilder, ShardsSummary, add, create};
pub use error::Error;
pub use manifest::{Layout, MANIFEST, MAX_SHARDS, is_set};
pub use query::ShardsSearcher;
pub use set::{Shards, width};

/// The manifest of a set, to be read and replaced by tools.
pub mod inspect {
    pub use crate::manifest::{
        IdType, Manifest, ShardEntry, VERSION, read as read_manifest, replace as replace_manifest,
    };
}
