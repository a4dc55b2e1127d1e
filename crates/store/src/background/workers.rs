//! The main loops of the threads of an open store, and their low priority.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use hamdex::{Category, Fingerprint};

use crate::error::Error;
use crate::health::Work;
use crate::inner::StoreInner;
use crate::write::writer::Durability;

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
    lower_priority();
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
        while inner.consolidate().is_err() && !inner.background.is_stopping() {}
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
    error.category() == Category::Stopped || matches!(error, Error::Closed { .. })
}

/// Lowers the priority of this thread and of the threads it starts: on a busy processor they get about a tenth of the
/// share of others. It has no effect on systems without priorities of threads.
pub(crate) fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // POSIX means the process; on Linux it is the thread. A lower priority is never refused.
        let _ = rustix::process::nice(10);
    }
}

/// Returns the number of threads that a thread of low priority starts for its work. The pool of the process has normal
/// priority, so 0, which means this pool, becomes a number.
pub(crate) fn threads(option: usize) -> usize {
    match option {
        0 => available_parallelism().map_or(1, NonZeroUsize::get),
        threads => threads,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::process::getpriority_process;

    use super::*;

    #[test]
    fn a_thread_gives_way_with_the_threads_that_it_starts_and_no_other_does() {
        let of_this_thread = || getpriority_process(None).unwrap();
        let before = of_this_thread();
        let inherited = thread::spawn(move || {
            lower_priority();
            thread::spawn(of_this_thread).join().unwrap()
        });
        assert_eq!(inherited.join().unwrap(), (before + 10).min(19));
        assert_eq!(of_this_thread(), before);
        assert!(threads(0) > 0 && threads(3) == 3);
    }
}
