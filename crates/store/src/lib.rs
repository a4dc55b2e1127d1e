//! A set of fingerprints that grows and shrinks, durably, and is queried exactly meanwhile.
//!
//! A store is a directory of immutable hamdex files (*segments*), recent writes in memory and in a log, and
//! removals beside the files. `store-spec.md` describes every byte of it.
//!
//! - [`Store`] is open for writing: insert, remove, [insert unless something is near](Store::insert_unless_near),
//!   in batches that are whole or absent, as durable as [`Durability`] says. One process at a time has it.
//! - [`Snapshot`] is one moment of the set; a [`Searcher`] queries it. Readers wait for nobody.
//! - [`StoreReader`] reads what another process writes.
//! - [`AnyStore`] is of either width.
//!
//! ```
//! use hamdex_store::{CreateOptions, Inserted, Store, StoreOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::<u64>::create(directory.path().join("news.store"), &CreateOptions::new(), StoreOptions::new())?;
//! assert!(store.insert_unless_near(0x0123_4567_89ab_cdef, 1, 3)?.is_new());
//! // Another page that differs in one bit is known already.
//! match store.insert_unless_near(0x0123_4567_89ab_cdee, 2, 3)? {
//!     Inserted::New { .. } => unreachable!("something is near"),
//!     Inserted::Near(near) => assert_eq!((near.distance, near.ids), (1, vec![1])),
//! }
//!
//! let mut searcher = store.snapshot().searcher();
//! assert_eq!(searcher.within(0x0123_4567_89ab_cdef, 3)?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! A write goes to the log first, and is seen when the log has it. Recent pairs are in memory, in buckets by groups
//! of bits; when memory is full, they become a segment. Segments are merged as they become many, without sorting.
//! A removed pair is marked beside its segment until that is merged. Everything that a reader sees is immutable: a
//! writer changes a copy, and publishes it.
//!
//! # What it rests on
//!
//! The file system keeps what has been synced, and renames atomically. Files are mapped: nobody else may change
//! those of a store, and a network file system may not keep that promise, nor that of the lock. After a fork, the
//! child must open the store again.

#![cfg_attr(
    not(feature = "unstable"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "what tests and benches turn is used with that feature only"
    )
)]

mod admin;
mod any;
mod aside;
mod background;
mod batch;
mod build;
mod change;
mod checksum;
mod create;
pub mod disk;
mod durability;
mod error;
mod flush;
mod health;
mod identity;
mod inserted;
mod layout;
mod lock;
mod log;
mod manifest;
mod memory;
mod merge;
mod named;
mod open;
mod operation;
mod options;
mod pair;
mod pinned;
mod pins;
mod pressure;
mod priority;
mod publish;
mod publisher;
mod read;
mod recent;
mod removals;
mod removed;
mod repair;
mod segment;
mod shape;
mod shared;
mod state;
mod store;
mod unless_near;
mod workers;
mod write;

pub use admin::backup::{backup, backup_on};
pub use admin::inspect::{Inspected, LogFile, inspect};
pub use admin::purge::Purged;
pub use admin::stats::{SegmentStats, StoreStats};
pub use admin::verify::StoreVerified;
pub use any::{AnyStore, AnyStoreReader, width};
pub use batch::{Batch, Name};
pub use disk::{Disk, DiskLock, RealDisk};
pub use durability::{Durability, UnknownDurability};
pub use error::Error;
pub use hamdex::Fingerprint;
pub use health::{Event, Failure, Health, Merges, Pressure, Remedy, Work};
pub use identity::{Identity, StoreId};
pub use inserted::{Inserted, Near};
pub use log::Sealed;
pub use manifest::{Manifest, RemovalsEntry, SegmentEntry, Written as WrittenBytes};
pub use operation::Operation;
pub use options::{CreateOptions, StoreOptions};
pub use read::reader::{ReadOptions, StoreReader};
pub use read::searcher::Searcher;
pub use read::snapshot::{Count, Snapshot, SnapshotIndexes};
pub use repair::{Repaired, RepairedFile, repair, repair_on};
pub use state::Written;
pub use store::Store;

/// The files of a store by themselves, for tests and benches.
///
/// Only with the feature `unstable`, for the project's own use: nothing here is promised to stay.
#[cfg(feature = "unstable")]
pub mod internals {
    pub use crate::aside::keep_aside;
    pub use crate::lock::StoreLock;
    pub use crate::repair::{RepairedLogs, repair_logs};

    /// Logs.
    pub mod log {
        pub use crate::log::*;
    }

    /// Manifests.
    pub mod manifest {
        pub use crate::manifest::*;
    }

    /// Removals.
    pub mod removals {
        pub use crate::removals::*;
    }
}
