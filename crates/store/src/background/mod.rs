//! Background threads of a store: their signals, failures and cancellation.
//!
//! - [`workers`]: the main loops of the threads, and their low priority
//! - [`pressure`]: back-pressure on writers while flushes or merges are behind

pub(crate) mod pressure;
pub(crate) mod workers;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hamdex::{Progress, ProgressCallback};

use crate::error::Error;
use crate::health::{Event, Failure, Failures, Observer, Pressure, Work};

/// Maximum time that a writer waits for a signal before it checks for room.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Signals between writers and background threads.
#[derive(Default)]
pub(crate) struct Background {
    signals: Mutex<Signals>,
    /// Signals work.
    work: Condvar,
    /// Signals room in memory. Used with the mutex of the writer.
    room: Condvar,
    /// Signals overdue runs of the memtable.
    consolidation: Condvar,
}

#[derive(Default)]
struct Signals {
    /// The number of signals for work.
    calls: u64,
    is_consolidation_due: bool,
    is_stopping: bool,
    is_paused: bool,
    failures: Failures,
    pressure: Pressure,
    observer: Option<Observer>,
    cancellation: Cancellation,
}

/// A flag that cancels running work.
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

    /// Returns a progress callback that breaks after a cancellation, and otherwise calls another one.
    pub(crate) fn or_report(self, report: ProgressCallback) -> impl Fn(Progress) -> ControlFlow<()> {
        move |progress| {
            self.check()?;
            report(progress)
        }
    }
}

impl Background {
    /// Signals work to the threads.
    pub(crate) fn signal_work(&self) {
        self.signals().calls += 1;
        self.work.notify_all();
    }

    /// Waits for a signal after the one that `seen` counts, or for a time. Returns whether to go on.
    pub(crate) fn wait_for_work(&self, seen: &mut u64, at_most: Duration) -> bool {
        let is_idle = |signals: &mut Signals| signals.calls == *seen && !signals.is_stopping;
        let waited = self.work.wait_timeout_while(self.signals(), at_most, is_idle);
        let (signals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *seen = signals.calls;
        !signals.is_stopping
    }

    /// Signals overdue runs to the thread of consolidations only.
    pub(crate) fn signal_consolidation(&self) {
        let was_due = std::mem::replace(&mut self.signals().is_consolidation_due, true);
        if !was_due {
            self.consolidation.notify_one();
        }
    }

    /// Waits for overdue runs. Returns whether to go on.
    pub(crate) fn wait_for_consolidation(&self) -> bool {
        let is_idle = |signals: &mut Signals| !signals.is_consolidation_due && !signals.is_stopping;
        let waited = self.consolidation.wait_while(self.signals(), is_idle);
        let mut signals = waited.unwrap_or_else(PoisonError::into_inner);
        signals.is_consolidation_due = false;
        !signals.is_stopping
    }

    /// Waits for a time, regardless of signals. Returns whether to go on.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let waited = self.work.wait_timeout_while(self.signals(), time, |signals| !signals.is_stopping);
        let (signals, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !signals.is_stopping
    }

    /// Ends all threads, and cancels their work.
    pub(crate) fn stop(&self) {
        {
            let mut signals = self.signals();
            signals.is_stopping = true;
            // Later work is cancelled at once.
            signals.cancellation.0.store(true, Ordering::Relaxed);
        }
        self.work.notify_all();
        self.room.notify_all();
        self.consolidation.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.signals().is_stopping
    }

    /// Cancels running flushes, merges and consolidations.
    pub(crate) fn cancel_running(&self) {
        let cancellation = std::mem::take(&mut self.signals().cancellation);
        cancellation.0.store(true, Ordering::Relaxed);
    }

    /// Returns the cancellation flag for new work.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.signals().cancellation.clone()
    }

    /// Whether merges are paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.signals().is_paused
    }

    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.signals().is_paused = is_paused;
        self.signal_work();
        self.room.notify_all();
    }

    /// Records the outcome of work, and wakes writers that wait for room.
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
            self.notify(&event);
        }
    }

    /// Clears all failures, after the store has been read again.
    pub(crate) fn forget_failures(&self) {
        for work in [Work::Flush, Work::Merge, Work::Sync, Work::Log] {
            self.report(work, Ok(()));
        }
    }

    /// Returns the failure of a kind of work, if its last attempt failed.
    pub(crate) fn failure(&self, work: Work) -> Option<Failure> {
        self.signals().failures.of(work).cloned()
    }

    /// Returns all current failures.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        self.signals().failures.all().to_vec()
    }

    pub(crate) fn pressure(&self) -> Pressure {
        self.signals().pressure
    }

    /// Sets the pressure on writers.
    pub(crate) fn set_pressure(&self, pressure: Pressure) {
        let before = std::mem::replace(&mut self.signals().pressure, pressure);
        if before != pressure {
            self.notify(&Event::Pressure(pressure));
        }
    }

    /// Sets the callback for events.
    pub(crate) fn observe(&self, observer: Option<Observer>) {
        self.signals().observer = observer;
    }

    /// Passes an event to the observer. The caller may hold locks of the store.
    pub(crate) fn notify(&self, event: &Event) {
        let observer = self.signals().observer.clone();
        if let Some(observer) = observer {
            observer(event);
        }
    }

    /// Signals room to writers.
    pub(crate) fn signal_room(&self) {
        self.room.notify_all();
    }

    /// Waits until there may be room in memory, or the deadline has passed; at most for a moment, since signals are
    /// sent without the lock of the guard.
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
        // No critical section can leave a partial change.
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
