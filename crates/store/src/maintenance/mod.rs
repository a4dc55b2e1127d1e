//! Work on a store as a whole.
//!
//! - [`stats`]: counts and costs
//! - [`verify`]: reading and checking everything
//! - [`compact`]: flush, merges, one file
//! - [`backup`]: backups and checkpoints, consistent copies; [`copying`] copies their files
//! - [`ingest`]: adding a file that was built elsewhere
//! - [`purge`]: removed pairs leave the disk
//! - [`repair`]: salvaging a damaged store
//! - [`inspect`]: the parts of a store, whatever its width
//! - [`pinned`]: the files of one moment, kept for long reads; [`stale_files`]: files that wait for such reads to end

pub(crate) mod backup;
mod compact;
mod copying;
mod ingest;
pub(crate) mod inspect;
pub(crate) mod pinned;
pub(crate) mod purge;
pub(crate) mod repair;
pub(crate) mod stale_files;
pub(crate) mod stats;
pub(crate) mod verify;
