//! Panics that are caught on purpose say nothing, and those of a target end the process.
//!
//! The library that reads Parquet panics on some damaged files, which the reader of documents catches. libFuzzer's own
//! hook would end the process at each of them, and the standard one would print a line for each.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

/// The message of the latest panic.
static LATEST: Mutex<String> = Mutex::new(String::new());

/// From now on, panics are kept instead of printed.
pub fn keep_panics() {
    panic::set_hook(Box::new(|panic| {
        if let Ok(mut latest) = LATEST.lock() {
            *latest = panic.to_string();
        }
    }));
}

/// Runs a target. If it panics, prints what was said and ends the process, which libFuzzer takes for a finding.
pub fn or_abort(target: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(target)).is_err() {
        eprintln!("{}", LATEST.lock().map_or_else(|_| String::new(), |latest| latest.clone()));
        std::process::abort();
    }
}
