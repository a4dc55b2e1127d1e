//! Claims of merges on segments, so that several merges can run concurrently.
//!
//! A *foreground* merge (`compact`, `settle`, `purge`) covers the segments that exist when it is called. Background
//! merges leave these alone until it ends, and merge newer ones. So it ends even if writes go on, and the newer
//! segments stay few meanwhile.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The segments that are being merged.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    inner: Mutex<Inner>,
    /// A claim or a foreground merge has ended.
    released: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    /// The segments of running merges, each with the number of pairs of its merge.
    busy: HashMap<u64, u64>,
    /// The foreground merge has all segments that are older than this.
    foreground: Option<u64>,
    /// Damaged segments, which cannot be merged.
    damaged: Vec<u64>,
    /// After a failure, the time when the next background merge may begin, and the length of the pause.
    pause: Option<(Instant, Duration)>,
}

/// Pauses of background merges after the first failure and at most after several: the pause doubles with each failure,
/// since a failed merge has written much.
const AFTER_FAILURE: Duration = Duration::from_millis(200);
const MAX_PAUSE: Duration = Duration::from_secs(10);

impl Inner {
    /// Whether a background merge may take a segment.
    pub(crate) fn is_free(&self, number: u64, since: u64) -> bool {
        self.foreground.is_none_or(|limit| since >= limit)
            && !self.busy.contains_key(&number)
            && !self.damaged.contains(&number)
    }

    /// Returns the number of pairs of the smallest running merge.
    pub(crate) fn smallest(&self) -> Option<u64> {
        self.busy.values().copied().min()
    }
}

/// The segments of one merge.
#[derive(Debug)]
pub(crate) struct Claim<'c> {
    claims: &'c Claims,
    pub(crate) numbers: Vec<u64>,
}

/// The right to run a foreground merge.
#[derive(Debug)]
pub(crate) struct Foreground<'c> {
    claims: &'c Claims,
    /// It covers the segments that are older than this.
    pub(crate) limit: u64,
}

impl Claims {
    /// Begins a foreground merge, after others have ended.
    pub(crate) fn begin_foreground(&self, limit: impl FnOnce() -> u64) -> Foreground<'_> {
        let is_taken = |inner: &mut Inner| inner.foreground.is_some();
        let waited = self.released.wait_while(self.lock(), is_taken);
        let mut inner = waited.unwrap_or_else(PoisonError::into_inner);
        let limit = limit();
        inner.foreground = Some(limit);
        Foreground { claims: self, limit }
    }

    /// Claims the segments that `choose` returns, with the number of their pairs, for a background merge; none during
    /// the pause after a failure.
    pub(crate) fn claim(&self, choose: impl FnOnce(&Inner) -> Option<(Vec<u64>, u64)>) -> Option<Claim<'_>> {
        let mut inner = self.lock();
        if inner.pause.is_some_and(|(end, _)| Instant::now() < end) {
            return None;
        }
        let chosen = choose(&inner)?;
        Some(self.take(&mut inner, chosen))
    }

    /// Records the outcome of a background merge.
    pub(crate) fn record(&self, is_ok: bool) {
        let mut inner = self.lock();
        let pause = inner.pause.map_or(AFTER_FAILURE, |(_, pause)| (2 * pause).min(MAX_PAUSE));
        inner.pause = (!is_ok).then(|| (Instant::now() + pause, pause));
    }

    /// Claims segments for a foreground merge, as soon as no running merge has a segment that `is_wanted`.
    pub(crate) fn claim_when_free(
        &self,
        mut is_wanted: impl FnMut(u64) -> bool,
        choose: impl FnOnce(&Inner) -> Option<(Vec<u64>, u64)>,
    ) -> Option<Claim<'_>> {
        let is_waiting = |inner: &mut Inner| inner.busy.keys().any(|&number| is_wanted(number));
        let waited = self.released.wait_while(self.lock(), is_waiting);
        let mut inner = waited.unwrap_or_else(PoisonError::into_inner);
        let chosen = choose(&inner)?;
        Some(self.take(&mut inner, chosen))
    }

    fn take(&self, inner: &mut Inner, (numbers, pairs): (Vec<u64>, u64)) -> Claim<'_> {
        inner.busy.extend(numbers.iter().map(|&number| (number, pairs)));
        Claim { claims: self, numbers }
    }

    /// Excludes damaged segments from background merges until the store is opened again.
    pub(crate) fn exclude(&self, numbers: impl IntoIterator<Item = u64>) {
        self.lock().damaged.extend(numbers);
    }

    /// Whether damaged segments are excluded.
    pub(crate) fn has_damage(&self) -> bool {
        !self.lock().damaged.is_empty()
    }

    /// Forgets which segments are damaged, after they have been read again.
    pub(crate) fn forget_damage(&self) {
        self.lock().damaged.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No critical section can leave a partial change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut inner = self.claims.lock();
        inner.busy.retain(|number, _| !self.numbers.contains(number));
        drop(inner);
        self.claims.released.notify_all();
    }
}

impl Drop for Foreground<'_> {
    fn drop(&mut self) {
        self.claims.lock().foreground = None;
        self.claims.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_segment_is_in_one_merge_at_a_time() {
        let claims = Claims::default();
        let free = |number| claims.claim(|inner| inner.is_free(number, number).then(|| (vec![number], 7)));
        let claim = free(1).unwrap();
        assert!(free(1).is_none());
        assert_eq!(claims.lock().smallest(), Some(7));
        drop(claim);
        drop(free(1).unwrap());
        claims.exclude([1]);
        assert!(free(1).is_none(), "it is damaged");
        claims.forget_damage();
        drop(free(1).unwrap());
        assert_eq!(claims.lock().smallest(), None);
    }

    #[test]
    fn merges_in_the_background_pause_after_a_failure() {
        let claims = Claims::default();
        let free = || claims.claim(|_| Some((vec![1], 1)));
        claims.record(false);
        assert!(free().is_none());
        claims.record(false);
        assert_eq!(claims.lock().pause.unwrap().1, 2 * AFTER_FAILURE);
        assert!(
            claims.claim_when_free(|_| true, |_| Some((vec![1], 1))).is_some(),
            "in the foreground they do not"
        );
        claims.record(true);
        assert!(free().is_some());
    }

    #[test]
    fn a_foreground_merge_waits_for_running_ones_and_keeps_others_from_what_was_there() {
        let claims = Claims::default();
        let running = claims.claim(|_| Some((vec![1, 2], 5))).unwrap();
        let foreground = claims.begin_foreground(|| 4);
        assert!(claims.claim(|inner| inner.is_free(3, 3).then(|| (vec![3], 1))).is_none());
        assert!(claims.claim(|inner| inner.is_free(5, 5).then(|| (vec![5], 1))).is_some());
        let is_released = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let claim = claims.claim_when_free(|number| number < 4, |_| Some((vec![3], 1)));
                assert!(is_released.load(Ordering::SeqCst));
                drop(claim);
            });
            thread::yield_now();
            is_released.store(true, Ordering::SeqCst);
            drop(running);
            waiting.join().unwrap();
        });
        drop(foreground);
        assert!(claims.claim(|inner| inner.is_free(3, 3).then(|| (vec![3], 1))).is_some());
        assert_eq!(claims.begin_foreground(|| 9).limit, 9);
    }
}
