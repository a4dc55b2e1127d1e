//! What is done to a store as a whole.
//!
//! - [`stats`]: what it holds, and what that costs
//! - [`verify`]: reading everything
//! - [`maintain`]: flush, merges, one file
//! - [`backup`]: a consistent copy
//! - [`ingest`]: taking in a file that was built elsewhere
//! - [`purge`]: what has been removed leaves the disk
//! - [`inspect`]: what it is made of, whatever its width

pub(crate) mod backup;
mod ingest;
pub(crate) mod inspect;
mod maintain;
pub(crate) mod purge;
pub(crate) mod stats;
pub(crate) mod verify;
