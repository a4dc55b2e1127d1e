//! What is done to a store as a whole.
//!
//! - [`stats`]: what it holds, and what that costs
//! - [`verify`]: reading everything
//! - [`backup`]: a consistent copy
//! - [`ingest`]: taking in a file that was built elsewhere
//! - [`purge`]: what has been removed leaves the disk

mod backup;
mod ingest;
pub(crate) mod purge;
pub(crate) mod stats;
pub(crate) mod verify;
