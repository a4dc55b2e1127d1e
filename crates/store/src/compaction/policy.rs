//! The compaction policy: the choice of the segments to merge next.
//!
//! Every segment costs a query its probes, so a low number of segments matters more than in a key-value store. A
//! segment is merged with all smaller ones as soon as these together are half as large. So each segment is more than
//! twice as large as all smaller ones together. Segments of any age can be merged, since no pair depends on a younger
//! one.
//!
//! In a simulation of 25 and 256 flushes, there are at most 3 and 5 segments, and a pair is written 4.1 and 7.3 times
//! on average. With a ratio of 1 it would be written 3.2 and 5.5 times, with up to 4 and 8 segments.
//!
//! Merges claim their segments, so that several can run concurrently. A *foreground* merge (`compact`, `settle`,
//! `purge`) covers the segments that exist when it is called. Background merges leave these alone until it ends, and
//! merge newer ones. So it ends even if writes go on, and the newer segments stay few meanwhile.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use hamdex::MAX_MERGED;

use crate::error::Unpoisoned;

/// Maximum ratio of a segment to all smaller ones together at which they are merged.
const MAX_RATIO: u64 = 2;

/// A segment is rewritten when one in this many of its pairs has been removed.
const REMOVED_SHARE: u64 = 4;

/// The size of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Pairs in the file, including removed ones.
    pub(crate) pairs: u64,
    pub(crate) removed: u64,
}

impl Size {
    fn left(self) -> u64 {
        self.pairs.saturating_sub(self.removed)
    }

    fn has_many_removed(self) -> bool {
        self.removed > 0 && self.removed >= self.pairs / REMOVED_SHARE
    }
}

/// Returns the indices of the segments to merge into one, perhaps of a single one to rewrite; `None` if no merge is
/// due. They have at most `most` pairs together: larger merges wait.
pub(crate) fn choose(segments: &[Size], most: u64) -> Option<Vec<usize>> {
    let order = smallest(segments, segments.len());
    let mut smaller: u64 = segments.iter().map(|size| size.left()).sum();
    for (behind, &at) in order.iter().enumerate().rev() {
        let left = segments[at].left();
        smaller -= left;
        if left + smaller <= most && (left <= MAX_RATIO * smaller || (left == 0 && behind > 0)) {
            return Some(order[..=behind.min(MAX_MERGED - 1)].to_vec());
        }
    }
    let is_due = |at: &usize| segments[*at].has_many_removed() && segments[*at].left() <= most;
    order.into_iter().rev().find(is_due).map(|at| vec![at])
}

/// Returns the indices of the smallest segments, by ascending size.
pub(crate) fn smallest(segments: &[Size], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by_key(|&at| segments[at].left());
    order.truncate(count);
    order
}

/// Returns how many of `count` segments to merge first on the way to one, so that as few pairs as possible are merged
/// twice: all later merges have `most` inputs then (as in a Huffman code with `most` symbols).
pub(crate) fn first_step(count: usize, most: usize) -> usize {
    match count {
        0..=1 => count,
        count if count <= most => count,
        count => (count - 2) % (most - 1) + 2,
    }
}

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
        let mut inner = waited.unpoisoned();
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
        let mut inner = waited.unpoisoned();
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
        self.inner.lock().unpoisoned()
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

    use proptest::prelude::*;

    use super::*;

    fn whole(pairs: u64) -> Size {
        Size { pairs, removed: 0 }
    }

    /// Merges until no merge is due. Returns the number of written pairs.
    fn settle(segments: &mut Vec<Size>) -> u64 {
        let mut written = 0;
        while let Some(mut chosen) = choose(segments, u64::MAX) {
            let pairs = chosen.iter().map(|&at| segments[at].left()).sum();
            chosen.sort_unstable();
            chosen.into_iter().rev().for_each(|at| {
                let _ = segments.remove(at);
            });
            segments.extend((pairs > 0).then_some(whole(pairs)));
            written += pairs;
        }
        written
    }

    #[test]
    fn a_growing_store_has_few_segments_and_rewrites_a_pair_seldom() {
        let (mut segments, mut written, flush, flushes) = (Vec::new(), 0, 4_000_000, 256u64);
        let mut most = 0;
        for _ in 0..flushes {
            segments.push(whole(flush));
            written += settle(&mut segments);
            most = most.max(segments.len());
        }
        assert!(most <= 5, "{most} segments");
        assert!(written <= 8 * flush * flushes, "{written}");
        assert_eq!(segments.iter().map(|size| size.pairs).sum::<u64>(), flush * flushes);
    }

    #[test]
    fn a_segment_with_much_removed_is_rewritten_alone() {
        let segments = [whole(1000), Size { pairs: 400, removed: 100 }, whole(10)];
        assert_eq!(choose(&segments, u64::MAX), Some(vec![1]));
        assert_eq!(choose(&segments, 299), None, "a larger merge waits");
        let fewer = [whole(1000), Size { pairs: 400, removed: 99 }, whole(10)];
        assert_eq!(choose(&fewer, u64::MAX), None);
        assert_eq!(choose(&[Size { pairs: 5, removed: 5 }], u64::MAX), Some(vec![0]));
        assert_eq!(choose(&[], u64::MAX), None);
        assert_eq!(choose(&[whole(1)], u64::MAX), None);
    }

    #[test]
    fn small_merges_go_on_while_a_large_one_runs() {
        let segments = [whole(1000), whole(10), whole(900), whole(10), whole(7)];
        assert_eq!(choose(&segments, u64::MAX), Some(vec![4, 1, 3, 2, 0]));
        assert_eq!(choose(&segments, 1000), Some(vec![4, 1, 3]));
        assert_eq!(choose(&segments, 20), Some(vec![4, 1]));
        assert_eq!(choose(&segments, 10), None);
    }

    #[test]
    fn any_number_of_segments_is_merged_in_steps_of_which_only_the_first_is_small() {
        assert_eq!([0, 1, 2, 256].map(|count| first_step(count, 256)), [0, 1, 2, 256]);
        for start in [257, 300, 511, 512, 3000, 100_000] {
            let (mut count, mut steps) = (start, 0);
            while count > 1 {
                let step = first_step(count, 256);
                assert!((2..=256).contains(&step) && (steps == 0 || step == 256), "{count} of {start}");
                (count, steps) = (count - step + 1, steps + 1);
            }
        }
        let many = vec![whole(3); 1000];
        assert_eq!(choose(&many, u64::MAX).unwrap().len(), MAX_MERGED);
    }

    proptest! {
        #[test]
        fn merging_ends_and_leaves_each_segment_larger_than_twice_all_smaller_ones(
            sizes in prop::collection::vec((0u64..1000, 0u64..1000), 0..20),
        ) {
            let mut segments: Vec<Size> =
                sizes.iter().map(|&(a, b)| Size { pairs: a.max(b).max(1), removed: a.min(b) }).collect();
            let left: u64 = segments.iter().map(|size| size.left()).sum();
            settle(&mut segments);
            prop_assert_eq!(segments.iter().map(|size| size.left()).sum::<u64>(), left);
            let mut sizes: Vec<u64> = segments.iter().map(|size| size.left()).collect();
            sizes.sort_unstable();
            let mut smaller = 0;
            for size in sizes {
                prop_assert!(size > MAX_RATIO * smaller);
                smaller += size;
            }
        }
    }

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
