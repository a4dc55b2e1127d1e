//! What happens beside reading and writing: who waits for whom, and what has gone wrong.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;

/// Signals between writers and the threads that write files.
#[derive(Debug, Default)]
pub(crate) struct Background {
    signals: Mutex<Signals>,
    /// There may be something to do.
    work: Condvar,
    /// There may be room in memory. Goes with the mutex of the writer.
    room: Condvar,
}

#[derive(Debug, Default)]
struct Signals {
    /// Counts calls for work.
    calls: u64,
    is_stopping: bool,
    is_paused: bool,
    /// Why the last attempt to write a file failed.
    failure: Option<Arc<Error>>,
}

impl Background {
    /// Calls for work.
    pub(crate) fn wake(&self) {
        self.signals().calls += 1;
        self.work.notify_all();
    }

    /// Waits for a call after the one that `seen` counts, or for some time. Returns whether to go on.
    pub(crate) fn wait_for_work(&self, seen: &mut u64, at_most: Duration) -> bool {
        let is_idle = |signals: &mut Signals| signals.calls == *seen && !signals.is_stopping;
        let waited = self.work.wait_timeout_while(self.signals(), at_most, is_idle);
        let (signals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *seen = signals.calls;
        !signals.is_stopping
    }

    /// Ends all threads, as soon as they are done with what they do.
    pub(crate) fn stop(&self) {
        self.signals().is_stopping = true;
        self.work.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.signals().is_stopping
    }

    /// Whether merges wait.
    pub(crate) fn is_paused(&self) -> bool {
        self.signals().is_paused
    }

    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.signals().is_paused = is_paused;
        self.wake();
    }

    /// Takes note of what an attempt to write a file has come to, and lets those who wait for room look again.
    pub(crate) fn report(&self, failure: Option<Error>) {
        self.signals().failure = failure.map(Arc::new);
        self.room.notify_all();
    }

    /// Why the last attempt to write a file failed, if it did.
    pub(crate) fn failure(&self) -> Option<Arc<Error>> {
        self.signals().failure.clone()
    }

    /// Waits until there may be room in memory.
    pub(crate) fn wait_for_room<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.room.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        // Each field is whole by itself.
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
