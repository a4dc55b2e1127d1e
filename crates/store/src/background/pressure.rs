//! Back-pressure: writers are slowed down before they have to wait.
//!
//! Two things grow while flushes and merges are behind: memory and the number of segments. Each has a *load*, 1 at its
//! bound. Up to half of the bound writers are as fast as they can be. Beyond it they are held to a rate that falls with
//! the square of what is left, from the rate of the last flush to nothing: where flushes or merges keep up with a part of
//! what writers could do, the rate settles at that part, and no write waits for a whole flush or merge. At the bound
//! itself writers wait.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Memtables that may wait to be flushed, at most. With the one that is written to, three are in memory.
pub(crate) const MAX_FROZEN: usize = 2;

/// Segments, at most, while merges run.
pub(crate) const MAX_SEGMENTS: usize = 20;

/// Of these, segments that have come since merges began to run, however many older ones there are: a store that is found
/// with thousands of segments can be written to while it merges its way back.
pub(crate) const MAX_YOUNG_SEGMENTS: usize = 10;

/// Runs of a memtable that are due to be merged, at which writers are the slowest.
const MAX_OVERDUE_RUNS: usize = 6;

/// How long a write is held back at most. A rate that a stalled disk has left behind is thus forgotten soon; the bounds
/// hold all the same, as writers wait there.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// The load from which on writers are slowed down.
const SLOW_FROM: f64 = 0.5;

/// The least rate, as a part of that of the last flush: slower means to wait.
const MIN_RATE: f64 = 1.0 / 256.0;

/// A write is let through ahead of its time by this much, since short pauses are not worth their cost.
const SLACK: Duration = Duration::from_millis(1);

/// The load of memory: `frozen` memtables that wait to be flushed, and the part of the next one that is used.
pub(crate) fn memory_load(frozen: usize, fill: f64) -> f64 {
    (frozen as f64 + fill.min(1.0)) / (MAX_FROZEN + 1) as f64
}

/// The load of segments: how many there are, and how many of them are young.
pub(crate) fn segment_load(segments: usize, young: usize) -> f64 {
    let all = segments as f64 / MAX_SEGMENTS as f64;
    all.min(young as f64 / MAX_YOUNG_SEGMENTS as f64)
}

/// The load of a memtable: how many of its runs are due to be merged. Queries look into all of them.
pub(crate) fn run_load(overdue: usize) -> f64 {
    (overdue as f64 / MAX_OVERDUE_RUNS as f64).min(1.0)
}

/// Whether one more segment may be added.
pub(crate) fn has_room_for_segment(segments: usize, young: usize) -> bool {
    segments < MAX_SEGMENTS || young < MAX_YOUNG_SEGMENTS
}

/// Gives each write its time by the rate of flushes, or of what else it is to wait for.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Pairs per second of the last flushes; 0 before the first one.
    flush_rate: f64,
    /// When the next write is due.
    next: Option<Instant>,
}

impl Throttle {
    /// Records a flush of so many pairs.
    pub(crate) fn record_flush(&self, pairs: u64, time: Duration) {
        let rate = pairs as f64 / time.as_secs_f64().max(1e-6);
        let mut inner = self.lock();
        inner.flush_rate = if inner.flush_rate == 0.0 { rate } else { (inner.flush_rate + rate) / 2.0 };
    }

    /// Whether writers are slowed down at a load.
    pub(crate) fn is_slow(&self, load: f64) -> bool {
        load > SLOW_FROM && self.lock().flush_rate > 0.0
    }

    /// How long a write of so many pairs has to wait at a load. The next one comes after it.
    pub(crate) fn delay(&self, pairs: u64, load: f64, now: Instant) -> Duration {
        let mut inner = self.lock();
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

    /// Gives back the time of a write that does not take place.
    pub(crate) fn give_back(&self) {
        self.lock().next = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
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
