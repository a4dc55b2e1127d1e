//! The write-ahead log: the writes since the last flush, one record per batch.
//!
//! - [`format`](mod@format): the bytes, as `store-spec.md` describes them
//! - [`checksums`]: of its parts
//! - [`scan`]: the records of one log, and the files that have them
//! - [`replay`]: reads all logs of a store, and distinguishes a torn tail from damage; or reads the intact records
//!   of damaged logs, from whichever files have them; `recovery.rs` of the crate applies them to a view
//! - [`writer`]: appends, syncs, also concurrently with appends, and rotates

mod checksums;
mod format;
mod replay;
mod scan;
mod writer;

pub(crate) use format::{HEADER_BYTES, Header, operation_bytes, units};
pub use format::{MAX_OPERATIONS, MAX_SEQUENCE};
pub use replay::{Position, Replayed, Salvaged, Sealed, TornTail, replay, salvage};
pub(crate) use replay::{check_width, replay_by_log};
pub use scan::Lost;
pub(crate) use scan::{check_names, is_unused_log, log_files, read_header};
pub(crate) use writer::is_out_of_space;
pub use writer::{LogWriter, PendingSync};
