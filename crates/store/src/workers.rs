//! The threads of an open store: their work, and when they do it.

use std::time::Duration;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::durability::Durability;
use crate::error::Error;
use crate::health::Work;
use crate::priority;
use crate::shared::Shared;

/// How long a thread in the background waits before it looks for work by itself.
const IDLE: Duration = Duration::from_secs(1);

/// How long the thread of flushes waits after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Merges that run at the same time, at most, each much smaller than the one before.
pub(crate) const MERGE_THREADS: usize = 4;

/// Writes full memtables to files.
pub(crate) fn flush<F: Fingerprint, D: Disk>(shared: &Shared<F, D>) {
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, IDLE) {
        loop {
            match shared.flush_oldest() {
                Ok(is_done) => {
                    shared.background.report(Work::Flush, Ok(()));
                    if !is_done {
                        break;
                    }
                }
                Err(error) if is_cancelled(&error) => break,
                Err(error) => {
                    shared.background.report(Work::Flush, Err(error));
                    shared.background.pause(AFTER_FAILURE);
                    break;
                }
            }
        }
    }
}

/// Merges files as they are due, with what queries and writes leave of the processors.
pub(crate) fn merge<F: Fingerprint, D: Disk>(shared: &Shared<F, D>) {
    priority::give_way();
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, IDLE) {
        while !shared.background.is_paused() && !shared.background.is_stopping() {
            match shared.merge_due() {
                Ok(true) => shared.report_merge(Ok(())),
                Ok(false) => break,
                Err(error) if is_cancelled(&error) => break,
                // The files are as they were.
                Err(error) => shared.report_merge(Err(error)),
            }
        }
    }
}

/// Merges the runs of the memtable as they are due: queries look into few of them, and writers merge short ones only.
pub(crate) fn memory<F: Fingerprint, D: Disk>(shared: &Shared<F, D>) {
    while shared.background.wait_for_consolidation() {
        // What is cancelled, or of a memtable that has been frozen, begins anew with the next one.
        while shared.consolidate().is_break() && !shared.background.is_stopping() {}
    }
}

/// Freezes full memtables, and syncs the log at the interval of its durability.
pub(crate) fn log<F: Fingerprint, D: Disk>(shared: &Shared<F, D>) {
    let at_most = match shared.options.durability {
        Durability::Interval(interval) => interval.min(IDLE),
        Durability::Sync | Durability::None => IDLE,
    };
    let (mut seen, mut shown) = (0, String::new());
    while shared.background.wait_for_work(&mut seen, at_most) {
        shared.show_health(&mut shown);
        let outcome = shared.freeze_if_due().and_then(|()| shared.sync_if_due());
        if outcome.is_err() || shared.background.failure(Work::Sync).is_some() {
            shared.background.report(Work::Sync, outcome);
        }
    }
}

/// Serves writes whose outcome goes to a callback.
pub(crate) fn write<F: Fingerprint, D: Disk>(shared: &Shared<F, D>) {
    shared.serve_submitted();
}

/// Whether work has ended because it was to end.
fn is_cancelled(error: &Error) -> bool {
    matches!(error, Error::Build(hamdex::BuildError::Stopped) | Error::Closed { .. })
}
