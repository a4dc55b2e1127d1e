//! Background threads of a store: their signals, failures and cancellation; and back-pressure: writers are slowed down
//! before they have to wait.
//!
//! - [`workers`]: the main loops of the threads, and their low priority
//!
//! Memory and the number of segments grow while flushes and merges are behind. Each has a *load*, which is 1 at its
//! bound. Below a load of one half, writers run at full speed. Above it their rate falls with the square of the
//! remaining part, from the rate of the last flush to zero. So the rate settles at the rate of flushes and merges, and
//! no write waits for a whole flush or merge. At the bound writers wait.

pub(crate) mod workers;

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hamdex::Cancellation;

use crate::error::{Error, Unpoisoned};
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
        let (signals, _) = waited.unpoisoned();
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
        let mut signals = waited.unpoisoned();
        signals.is_consolidation_due = false;
        !signals.is_stopping
    }

    /// Waits for a time, regardless of signals. Returns whether to go on.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let waited = self.work.wait_timeout_while(self.signals(), time, |signals| !signals.is_stopping);
        let (signals, _) = waited.unpoisoned();
        !signals.is_stopping
    }

    /// Ends all threads, and cancels their work.
    pub(crate) fn stop(&self) {
        {
            let mut signals = self.signals();
            signals.is_stopping = true;
            // Later work is cancelled at once.
            signals.cancellation.cancel();
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
        std::mem::take(&mut self.signals().cancellation).cancel();
    }

    /// Returns the cancellation of new work.
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
        self.room.wait_timeout(guard, time).unpoisoned().0
    }

    fn signals(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unpoisoned()
    }
}

/// Maximum number of frozen memtables. With the active one, three are in memory.
pub(crate) const MAX_FROZEN: usize = 2;

/// Maximum number of segments while merges run.
pub(crate) const MAX_SEGMENTS: usize = 20;

/// Number of young segments, added since merges began to run, that is always admitted: so a store with thousands of
/// older segments accepts writes while it merges them.
pub(crate) const MAX_YOUNG_SEGMENTS: usize = 10;

/// Number of overdue runs of a memtable at which writers are slowest.
const MAX_OVERDUE_RUNS: usize = 6;

/// Maximum delay of a write, so that the low rate of a stalled disk is soon forgotten. The bounds hold nevertheless, as
/// writers wait there.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The load above which writers are slowed down.
const SLOW_FROM: f64 = 0.5;

/// The minimum rate, as a fraction of the rate of the last flush.
const MIN_RATE: f64 = 1.0 / 256.0;

/// Delays below this are skipped, since short pauses are not worth their cost.
const SLACK: Duration = Duration::from_millis(1);

/// Returns the load of memory, from the number of frozen memtables and the fill of the active one.
pub(crate) fn memory_load(frozen: usize, fill: f64) -> f64 {
    (frozen as f64 + fill.min(1.0)) / (MAX_FROZEN + 1) as f64
}

/// Returns the load of segments, from their number and the number of young ones.
pub(crate) fn segment_load(segments: usize, young: usize) -> f64 {
    let all = segments as f64 / MAX_SEGMENTS as f64;
    all.min(young as f64 / MAX_YOUNG_SEGMENTS as f64)
}

/// Returns the load of the runs of a memtable, from the number of overdue ones, all of which queries search.
pub(crate) fn run_load(overdue: usize) -> f64 {
    (overdue as f64 / MAX_OVERDUE_RUNS as f64).min(1.0)
}

/// Whether another segment may be added.
pub(crate) fn has_room_for_segment(segments: usize, young: usize) -> bool {
    segments < MAX_SEGMENTS || young < MAX_YOUNG_SEGMENTS
}

/// Delays writes according to the rate of flushes, or of consolidations.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Pairs per second of the last flushes; 0 before the first one.
    flush_rate: f64,
    /// The time when the next write is due.
    next: Option<Instant>,
}

impl Throttle {
    /// Records a flush of `pairs` pairs.
    pub(crate) fn record_flush(&self, pairs: u64, time: Duration) {
        let rate = pairs as f64 / time.as_secs_f64().max(1e-6);
        let mut inner = self.inner.lock().unpoisoned();
        inner.flush_rate = if inner.flush_rate == 0.0 { rate } else { (inner.flush_rate + rate) / 2.0 };
    }

    /// Whether writers are slowed down at a load.
    pub(crate) fn is_slow(&self, load: f64) -> bool {
        load > SLOW_FROM && self.inner.lock().unpoisoned().flush_rate > 0.0
    }

    /// Returns the delay of a write of `pairs` pairs at a load, and schedules the next write after it.
    pub(crate) fn delay(&self, pairs: u64, load: f64, now: Instant) -> Duration {
        let mut inner = self.inner.lock().unpoisoned();
        if load <= SLOW_FROM || inner.flush_rate == 0.0 {
            inner.next = None;
            return Duration::ZERO;
        }
        let left = ((1.0 - load) / (1.0 - SLOW_FROM)).max(0.0);
        let rate = inner.flush_rate * (left * left).max(MIN_RATE);
        let due = inner.next.map_or(now, |next| next.max(now));
        let time = Duration::from_secs_f64((pairs as f64 / rate).min(MAX_DELAY.as_secs_f64()));
        inner.next = Some((due + time).min(now + MAX_DELAY));
        let wait = due - now;
        if wait < SLACK { Duration::ZERO } else { wait }
    }

    /// Cancels the schedule, after a write that does not take place.
    pub(crate) fn give_back(&self) {
        self.inner.lock().unpoisoned().next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_are_slowed_by_what_is_left_and_not_before() {
        let throttle = Throttle::default();
        let now = Instant::now();
        assert_eq!(throttle.delay(1_000_000, 0.99, now), Duration::ZERO, "no flush has been measured");
        throttle.record_flush(1_000_000, Duration::from_secs(1));
        assert_eq!(throttle.delay(1_000_000, SLOW_FROM, now), Duration::ZERO);
        assert!(!throttle.is_slow(SLOW_FROM) && throttle.is_slow(0.6));
        // A quarter of the rate of flushes at three quarters of the bound.
        assert_eq!(throttle.delay(1000, 0.75, now), Duration::ZERO, "the first one is due now");
        assert_eq!(throttle.delay(1000, 0.75, now), Duration::from_millis(4));
        assert_eq!(throttle.delay(1000, 0.75, now + Duration::from_millis(8)), Duration::ZERO);
        assert_eq!(throttle.delay(1000, 0.4, now), Duration::ZERO);
        // However full it is, writes are due some time.
        throttle.delay(1000, 1.0, now);
        assert_eq!(throttle.delay(1000, 1.0, now), Duration::from_millis(256));
    }

    #[test]
    fn loads_are_one_at_the_bounds() {
        assert_eq!(memory_load(MAX_FROZEN, 1.5), 1.0);
        assert_eq!(memory_load(0, 0.0), 0.0);
        assert_eq!((run_load(MAX_OVERDUE_RUNS / 2), run_load(2 * MAX_OVERDUE_RUNS)), (SLOW_FROM, 1.0));
        assert_eq!(segment_load(MAX_SEGMENTS, MAX_SEGMENTS), 1.0);
        assert!(has_room_for_segment(MAX_SEGMENTS - 1, MAX_SEGMENTS - 1));
        assert!(!has_room_for_segment(MAX_SEGMENTS, MAX_YOUNG_SEGMENTS));
        // Thousands that were there before count no further.
        assert_eq!(segment_load(3000, 0), 0.0);
        assert!(has_room_for_segment(3000, MAX_YOUNG_SEGMENTS - 1));
    }
}
