//! The log: what has been written since the last flush, one record per batch.
//!
//! - [`header`], [`record`]: the bytes, as `store-spec.md` describes them
//! - [`scan`]: the records of one log
//! - [`replay`]: all logs of a store, and what a bad record means
//! - [`salvage`]: what can be had of damaged logs
//! - [`writer`]: appending, syncing, also while it is written on, and beginning the next log

mod header;
mod record;
mod replay;
mod salvage;
mod scan;
mod writer;

pub(crate) use header::HEADER_BYTES;
pub(crate) use record::operation_bytes;
pub use record::{MAX_OPERATIONS, MAX_SEQUENCE};
pub(crate) use replay::replay_by_log;
pub use replay::{Position, Replayed, Sealed, TornTail, replay};
pub use salvage::{Lost, Salvaged, salvage};
pub(crate) use writer::is_lack_of_space;
pub use writer::{LogWriter, PendingSync};
