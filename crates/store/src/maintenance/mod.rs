//! Work on a store as a whole.
//!
//! - [`verify`]: reading and checking everything
//! - [`compact`]: flush, merges, one file; removed pairs leave the disk
//! - [`backup`]: backups and checkpoints, consistent copies
//! - [`ingest`]: adding a file that was built elsewhere
//! - [`repair`]: salvaging a damaged store
//! - [`inspect`]: the parts of a store, whatever its width; counts and costs

pub(crate) mod backup;
pub(crate) mod compact;
mod ingest;
pub(crate) mod inspect;
pub(crate) mod repair;
pub(crate) mod verify;
