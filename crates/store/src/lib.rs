//! A set of fingerprints that grows and shrinks, durably, and is queried exactly meanwhile.
//!
//! A store is a directory of immutable hamdex files (*segments*), recent writes in memory and in a log, and
//! removals beside the files. `store-spec.md` describes every byte of it.

#![cfg_attr(
    not(feature = "unstable"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "what tests and benches turn is used with that feature only"
    )
)]

mod checksum;
pub mod disk;
mod durability;
mod error;
mod identity;
mod layout;
mod lock;
mod log;
mod manifest;
mod operation;
mod removals;
mod repair;

pub use disk::{Disk, RealDisk};
pub use durability::{Durability, UnknownDurability};
pub use error::Error;
pub use hamdex::Fingerprint;
pub use identity::{Identity, StoreId};
pub use operation::Operation;

/// The files of a store by themselves, for tests and benches.
///
/// Only with the feature `unstable`, for the project's own use: nothing here is promised to stay.
#[cfg(feature = "unstable")]
pub mod internals {
    pub use crate::lock::StoreLock;
    pub use crate::repair::{RepairedLogs, RepairedManifest, keep_aside, repair_logs, repair_manifest};

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
