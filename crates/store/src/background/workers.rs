//! The main loops of the threads of an open store.

use std::time::Duration;

use hamdex::Fingerprint;

use crate::background::priority;
use crate::error::Error;
use crate::health::Work;
use crate::inner::StoreInner;
use crate::write::durability::Durability;

/// Time after which a thread looks for work without a signal.
const IDLE: Duration = Duration::from_secs(1);

/// Pause of the flush thread after a failure.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Maximum number of concurrent merges, each much smaller than the one before.
pub(crate) const MERGE_THREADS: usize = 4;

/// Flushes frozen memtables.
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

/// Merges segments that are due, at a low priority.
pub(crate) fn merge<F: Fingerprint>(inner: &StoreInner<F>) {
    priority::lower();
    let mut seen = 0;
    while inner.background.wait_for_work(&mut seen, IDLE) {
        while !inner.background.is_paused() && !inner.background.is_stopping() {
            match inner.merge_due() {
                Ok(true) => inner.report_merge(Ok(())),
                Ok(false) => break,
                Err(error) if is_cancelled(&error) => break,
                // The segments are unchanged.
                Err(error) => inner.report_merge(Err(error)),
            }
        }
    }
}

/// Merges overdue runs of the memtable, so that queries search few of them and writers merge short ones only.
pub(crate) fn memory<F: Fingerprint>(inner: &StoreInner<F>) {
    while inner.background.wait_for_consolidation() {
        // After a cancellation or a freeze it begins again with the current memtable.
        while inner.consolidate().is_break() && !inner.background.is_stopping() {}
    }
}

/// Freezes full memtables, and syncs the log at its interval.
pub(crate) fn log<F: Fingerprint>(inner: &StoreInner<F>) {
    let at_most = match inner.options.durability {
        Durability::Interval(interval) => interval.min(IDLE),
        Durability::Sync | Durability::None => IDLE,
    };
    let (mut seen, mut shown) = (0, String::new());
    while inner.background.wait_for_work(&mut seen, at_most) {
        inner.publish_health(&mut shown);
        let outcome = inner.freeze_if_due().and_then(|()| inner.sync_if_due());
        if outcome.is_err() || inner.background.failure(Work::Sync).is_some() {
            inner.background.report(Work::Sync, outcome);
        }
    }
}

/// Whether work was cancelled.
fn is_cancelled(error: &Error) -> bool {
    matches!(error, Error::Build(hamdex::BuildError::Stopped) | Error::Closed { .. })
}
