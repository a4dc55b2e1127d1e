//! The threads of an open store: what they do, and when.

use std::thread;
use std::time::{Duration, Instant};

use hamdex::Engine;

use crate::disk::Disk;
use crate::durability::Durability;
use crate::priority;
use crate::shared::Shared;

/// How long a thread in the background waits before it looks for work by itself.
const IDLE: Duration = Duration::from_secs(1);

/// How long it waits after a failure; after several of merges in a row, at most.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Writes full memories to files.
pub(crate) fn flush<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, IDLE) {
        loop {
            match shared.flush_oldest() {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    shared.background.report(Some(error));
                    thread::sleep(AFTER_FAILURE);
                    break;
                }
            }
        }
    }
}

/// Merges files as they are due, with what queries and writes leave of the processors.
pub(crate) fn merge<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    priority::give_way();
    let mut seen = 0;
    // A merge that fails has written much for nothing: each time it waits twice as long for the next.
    let mut pause = AFTER_FAILURE;
    let mut not_before = Instant::now();
    while shared.background.wait_for_work(&mut seen, IDLE) {
        while !shared.background.is_paused()
            && !shared.background.is_stopping()
            && Instant::now() >= not_before
        {
            match shared.merge_due() {
                Ok(true) => pause = AFTER_FAILURE,
                Ok(false) => break,
                // The files are as they were.
                Err(_) => {
                    not_before = Instant::now() + pause;
                    pause = (2 * pause).min(MAX_PAUSE);
                }
            }
        }
    }
}

/// Syncs the log at the interval of its durability.
pub(crate) fn sync<F: Engine, D: Disk>(shared: &Shared<F, D>) {
    let Durability::Interval(interval) = shared.options.durability else { return };
    let mut seen = 0;
    while shared.background.wait_for_work(&mut seen, interval.min(IDLE)) {
        // The log knows if it has failed, and refuses further writes.
        let _ = shared.sync_if_due();
    }
}
