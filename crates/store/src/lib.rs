//! A set of fingerprints that grows and shrinks, durably, and is queried exactly meanwhile.
//!
//! A store is a directory of immutable hamdex files (*segments*), recent writes in memory and in a log, and
//! removals beside the files. `store-spec.md` describes every byte of it.

pub mod disk;
mod durability;
mod error;
mod operation;

pub use disk::{Disk, RealDisk};
pub use durability::Durability;
pub use error::Error;
pub use hamdex::Fingerprint;
pub use operation::Operation;
