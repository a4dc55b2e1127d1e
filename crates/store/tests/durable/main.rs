//! What of a store is durable: logs, manifests, removals and the lock, by themselves.
//!
//! - [`golden`], [`golden_named`]: files of released versions, and the examples of store-spec.md
//! - [`log`]: what is written is read, and what is damaged is refused
//! - [`log_crash`]: a crash after every operation, and every operation failing, against a model
//! - [`manifest`], [`removals`]: the same for these
//! - [`real`]: the file system itself, and processes beside each other
//! - [`refusals`]: every row of the table in store-spec.md
//! - [`repair_logs`]: what can be had of damaged logs; what a crash left behind

mod common;
mod golden;
mod golden_named;
mod log;
mod log_crash;
mod manifest;
mod real;
mod refusals;
mod removals;
mod repair_logs;
