//! What is done to a store as a whole.
//!
//! - [`stats`]: what it holds, and what that costs
//! - [`verify`]: reading everything
//! - [`maintain`]: flush, merges, one file
//! - [`backup`]: a consistent copy
//! - [`ingest`]: taking in a file that was built elsewhere
//! - [`purge`]: what has been removed leaves the disk
//! - [`inspect`]: what it is made of, whatever its width
//! - [`repair`]: saving what can be had of a damaged one; [`readable`]: what that is of a segment

pub(crate) mod backup;
mod ingest;
pub(crate) mod inspect;
mod maintain;
pub(crate) mod purge;
mod readable;
pub(crate) mod repair;
pub(crate) mod stats;
pub(crate) mod verify;
