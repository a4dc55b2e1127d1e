//! The file formats of a store: logs, manifests, removals and the lock, each by itself.
//!
//! - [`copy`]: copies of files, whole or not there
//! - [`golden`], [`golden_named`]: files of released versions, and the examples of store-spec.md
//! - [`log`]: round trips, and reports of damage
//! - [`log_crash`]: a crash after every operation, and every operation failing, against a model
//! - [`manifest`], [`removals`]: the same for these
//! - [`real`]: the file system, and concurrent processes
//! - [`refusals`]: every row of the table in store-spec.md
//! - [`repair_logs`]: repair of damaged logs, and leftovers of a crash

mod common;
mod copy;
mod golden;
mod golden_named;
mod log;
mod log_crash;
mod manifest;
mod real;
mod refusals;
mod removals;
mod repair_logs;
