//! The threads of an open store: their work, and when they do it.

use std::time::Duration;

use hamdex::Fingerprint;

use crate::background::priority;
use crate::error::Error;
use crate::health::Work;
use crate::inner::StoreInner;
use crate::write::durability::Durability;

/// How long a thread in the background waits before it looks for work by itself.
const IDLE: Duration = Duration::from_secs(1);

/// How long the thread of flushes waits after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Merges that run at the same time, at most, each much smaller than the one before.
pub(crate) const MERGE_THREADS: usize = 4;

/// Writes full memtables to files.
pub(crate) fn flush<F: Fingerprint>(inner: &StoreInner<F>) {
    let mut seen = 0;
    while inner.background.wait_for_work(&mut seen, IDLE) {
        loop {
            match inner.flush_oldest() {
                Ok(is_done) => {
                    inner.background.report(Work::Flush, Ok(()));
                    if !is_done {
                        break;
                    }
                }
                Err(error) if is_cancelled(&error) => break,
                Err(error) => {
                    inner.background.report(Work::Flush, Err(error));
                    inner.background.pause(AFTER_FAILURE);
                    break;
                }
            }
        }
    }
}

/// Merges files as they are due, with what queries and writes leave of the processors.
pub(crate) fn merge<F: Fingerprint>(inner: &StoreInner<F>) {
    priority::give_way();
    let mut seen = 0;
    while inner.background.wait_for_work(&mut seen, IDLE) {
        while !inner.background.is_paused() && !inner.background.is_stopping() {
            match inner.merge_due() {
                Ok(true) => inner.report_merge(Ok(())),
                Ok(false) => break,
                Err(error) if is_cancelled(&error) => break,
                // The files are as they were.
                Err(error) => inner.report_merge(Err(error)),
            }
        }
    }
}

/// Merges the runs of the memtable as they are due: queries look into few of them, and writers merge short ones only.
pub(crate) fn memory<F: Fingerprint>(inner: &StoreInner<F>) {
    while inner.background.wait_for_consolidation() {
        // What is cancelled, or of a memtable that has been frozen, begins anew with the next one.
        while inner.consolidate().is_break() && !inner.background.is_stopping() {}
    }
}

/// Freezes full memtables, and syncs the log at the interval of its durability.
pub(crate) fn log<F: Fingerprint>(inner: &StoreInner<F>) {
    let at_most = match inner.options.durability {
        Durability::Interval(interval) => interval.min(IDLE),
        Durability::Sync | Durability::None => IDLE,
    };
    let (mut seen, mut shown) = (0, String::new());
    while inner.background.wait_for_work(&mut seen, at_most) {
        inner.show_health(&mut shown);
        let outcome = inner.freeze_if_due().and_then(|()| inner.sync_if_due());
        if outcome.is_err() || inner.background.failure(Work::Sync).is_some() {
            inner.background.report(Work::Sync, outcome);
        }
    }
}

/// Serves writes whose outcome goes to a callback.
pub(crate) fn write<F: Fingerprint>(inner: &StoreInner<F>) {
    inner.serve_submitted();
}

/// Whether work has ended because it was to end.
fn is_cancelled(error: &Error) -> bool {
    matches!(error, Error::Build(hamdex::BuildError::Stopped) | Error::Closed { .. })
}
