//! A durable set of fingerprints with insertions, removals and exact similarity queries.
//!
//! A store is a directory of immutable hamdex files (*segments*) with removal marks, a write-ahead log, and a manifest.
//! Recent writes are in a memtable. `store-spec.md` describes every byte of it.
//!
//! - [`Store`] is open for writing: [put](Store::put) records, always or [unless something is near](When), and
//!   remove them, in atomic batches, with a choice of [`Durability`]. Only one process at a time can have it open.
//! - [`Snapshot`] is an immutable view of the set; a [`Searcher`] queries it. Readers never wait for writers.
//! - [`StoreReader`] reads a store while another process writes to it.
//! - [`AnyStore`] is of either width.
//!
//! ```
//! use hamdex_store::{CreateOptions, Inserted, Store, StoreOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::<u64>::create(directory.path().join("news.store"), &CreateOptions::new(), StoreOptions::new())?;
//! assert!(store.insert_unless_near(0x0123_4567_89ab_cdef, 1, 3)?.is_new());
//! // A page that differs in one bit is a near-duplicate.
//! let outcome = store.insert_unless_near(0x0123_4567_89ab_cdee, 2, 3)?;
//! let near = outcome.near().expect("it is");
//! assert_eq!((near.distance, &near.ids[..]), (1, &[1][..]));
//!
//! let mut searcher = store.snapshot().searcher();
//! assert_eq!(searcher.within(0x0123_4567_89ab_cdef, 3)?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! A write becomes visible once it is in the log. The memtable keeps recent pairs in buckets by groups of bits; when it
//! is full, it is flushed to a segment. Compaction merges segments without sorting. A removed pair is marked next to
//! its segment until that is merged. Everything that a reader sees is immutable: a writer changes a copy and publishes
//! it.
//!
//! # Assumptions
//!
//! The file system keeps synced bytes, and renames atomically. Files are mapped, so no other program may change the
//! files of a store; on a network file system neither this nor the lock may be guaranteed. After a fork, the child must
//! open the store again.

#![cfg_attr(
    not(feature = "unstable"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "what tests and benches turn is used with that feature only"
    )
)]

mod background;
mod compaction;
#[cfg(feature = "unstable")]
pub mod disk;
#[cfg(not(feature = "unstable"))]
mod disk;
mod error;
pub mod health;
mod inner;
mod log;
mod maintenance;
mod manifest;
mod memtable;
mod open;
mod options;
mod read;
mod recovery;
mod segment;
mod store;
mod view;
mod write;

pub use error::Error;
pub use maintenance::Purged;
pub use maintenance::backup::{backup, backup_with, checkpoint};
pub use maintenance::inspect::inspect;
pub use maintenance::repair::{repair, repair_with};
pub use open::{AnyStore, width};
pub use options::{CreateOptions, StoreOptions};
pub use read::reader::{ReadOptions, StoreReader};
pub use read::searcher::Searcher;
pub use read::{Count, Snapshot};
pub use store::Store;
pub use view::Written;
pub use write::request::{Inserted, Near, Put, Similar};
pub use write::writer::Durability;
pub use write::{Batch, Operation, Record, When};

/// The files of a store and their sizes, for tools.
pub mod inspect {
    pub use crate::log::Sealed;
    pub use crate::maintenance::inspect::{Inspected, LogFile, SegmentStats, StoreStats, foreign_file};
    pub use crate::manifest::identity::{Identity, StoreId};
    pub use crate::manifest::{Manifest, RemovalsEntry, SegmentEntry, WrittenBytes};
}

/// The result of a repair.
pub mod repair {
    pub use crate::maintenance::repair::{Repaired, RepairedFile};
}

/// The file formats of a store, for tests and benches.
///
/// Only with the feature `unstable`, for the use of this project: it may change at any time.
#[cfg(feature = "unstable")]
pub mod internals {
    pub use crate::disk::copy::{clone_or_copy, copy, link_or_copy};
    pub use crate::disk::lock::StoreLock;
    pub use crate::maintenance::backup::backup_on;
    pub use crate::maintenance::repair::{repair_and_tell, repair_on};
    pub use crate::write::{Document, Name};

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
        pub use crate::segment::removals_file::*;
    }
}
