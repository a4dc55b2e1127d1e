//! Signals between writers and the threads of a store, and what these report.
//!
//! - [`workers`]: the threads, their work, and when they do it
//! - [`pressure`]: how writers are slowed down while flushes or merges are behind
//! - [`priority`]: work in the background gives way to queries and writes

pub(crate) mod pressure;
pub(crate) mod priority;
pub(crate) mod workers;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::health::{Event, Failure, Failures, Observer, Pressure, Work};

/// How long a writer waits for room before it looks again.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Signals between writers and the threads that write files.
#[derive(Default)]
pub(crate) struct Background {
    signals: Mutex<Signals>,
    /// There may be something to do.
    work: Condvar,
    /// There may be room in memory. Goes with the mutex of the writer.
    room: Condvar,
    /// Runs of the memtable may be due to be merged.
    consolidation: Condvar,
}

#[derive(Default)]
struct Signals {
    /// Counts calls for work.
    calls: u64,
    is_consolidation_due: bool,
    is_stopping: bool,
    is_paused: bool,
    failures: Failures,
    pressure: Pressure,
    observer: Option<Observer>,
    cancellation: Cancellation,
}

/// Whether work has been cancelled, for that work to look at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Breaks if the work has been cancelled.
    pub(crate) fn check(&self) -> ControlFlow<()> {
        if self.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
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

    /// Calls for the consolidation of the memtable, and wakes nothing else.
    pub(crate) fn call_for_consolidation(&self) {
        let was_due = std::mem::replace(&mut self.signals().is_consolidation_due, true);
        if !was_due {
            self.consolidation.notify_one();
        }
    }

    /// Waits for a call for consolidation. Returns whether to go on.
    pub(crate) fn wait_for_consolidation(&self) -> bool {
        let is_idle = |signals: &mut Signals| !signals.is_consolidation_due && !signals.is_stopping;
        let waited = self.consolidation.wait_while(self.signals(), is_idle);
        let mut signals = waited.unwrap_or_else(PoisonError::into_inner);
        signals.is_consolidation_due = false;
        !signals.is_stopping
    }

    /// Waits for some time, whatever calls come. Returns whether to go on.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let waited = self.work.wait_timeout_while(self.signals(), time, |signals| !signals.is_stopping);
        let (signals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !signals.is_stopping
    }

    /// Ends all threads, and cancels the work that they are at.
    pub(crate) fn stop(&self) {
        {
            let mut signals = self.signals();
            signals.is_stopping = true;
            // What begins from now on is cancelled at once.
            signals.cancellation.0.store(true, Ordering::Relaxed);
        }
        self.work.notify_all();
        self.room.notify_all();
        self.consolidation.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.signals().is_stopping
    }

    /// Cancels the flushes, merges and consolidations that run now.
    pub(crate) fn cancel_running(&self) {
        let cancellation = std::mem::take(&mut self.signals().cancellation);
        cancellation.0.store(true, Ordering::Relaxed);
    }

    /// The cancellation of work that begins now.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.signals().cancellation.clone()
    }

    /// Whether merges wait.
    pub(crate) fn is_paused(&self) -> bool {
        self.signals().is_paused
    }

    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.signals().is_paused = is_paused;
        self.wake();
        self.room.notify_all();
    }

    /// Records the outcome of work, and lets writers that wait for room look again.
    pub(crate) fn report(&self, work: Work, outcome: Result<(), Error>) {
        let event = {
            let mut signals = self.signals();
            match outcome {
                Ok(()) => signals.failures.clear(work).then_some(Event::Recovered(work)),
                Err(error) => Some(Event::Failed(signals.failures.record(work, error))),
            }
        };
        self.room.notify_all();
        if let Some(event) = event {
            self.tell(&event);
        }
    }

    /// Forgets all failures, after what they were about has been read again.
    pub(crate) fn forget_failures(&self) {
        for work in [Work::Flush, Work::Merge, Work::Sync, Work::Log] {
            self.report(work, Ok(()));
        }
    }

    /// The failure of a kind of work, if its last attempt failed.
    pub(crate) fn failure(&self, work: Work) -> Option<Failure> {
        self.signals().failures.of(work).cloned()
    }

    /// All failures that last.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.signals().failures.all().to_vec()
    }

    pub(crate) fn pressure(&self) -> Pressure {
        self.signals().pressure
    }

    /// Records the pressure on writers.
    pub(crate) fn set_pressure(&self, pressure: Pressure) {
        let before = std::mem::replace(&mut self.signals().pressure, pressure);
        if before != pressure {
            self.tell(&Event::Pressure(pressure));
        }
    }

    /// Sets the function that receives events.
    pub(crate) fn observe(&self, observer: Option<Observer>) {
        self.signals().observer = observer;
    }

    /// Hands an event to the observer. The caller may hold locks of the store.
    fn tell(&self, event: &Event) {
        let observer = self.signals().observer.clone();
        if let Some(observer) = observer {
            observer(event);
        }
    }

    /// Tells writers that there may be room.
    pub(crate) fn announce_room(&self) {
        self.room.notify_all();
    }

    /// Waits until there may be room in memory, or the deadline has passed; at most for a moment, since a call may come
    /// without the lock that the guard holds.
    pub(crate) fn wait_for_room<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let time = left.map_or(MAX_WAIT, |left| left.min(MAX_WAIT));
        self.room.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        // Each field is whole by itself.
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
