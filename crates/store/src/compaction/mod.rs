//! Flushes, from memory to segments, and merges, from many segments to few without removed pairs.
//!
//! - [`policy`]: which segments to merge next, and those that each running merge has
//! - [`publish`]: changes of the manifest and of the view of readers

pub(crate) mod policy;
pub(crate) mod publish;

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use hamdex::{BuildError, Fingerprint, MAX_MERGED, Merger, Report, VerifyOptions};

use crate::background::{self, MAX_FROZEN, workers};
use crate::compaction::policy::{Claim, Foreground, Size};
use crate::compaction::publish::{Added, Change};
use crate::error::Error;
use crate::health::{Event, Remedy, Work};
use crate::inner::StoreInner;
use crate::manifest::SegmentEntry;
use crate::segment::{LiveSegment, Segment};
use crate::view::View;
use crate::write::Pair;

/// Interval at which a thread that waits for merges checks for their failure.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl<F: Fingerprint> StoreInner<F> {
    /// Flushes the oldest frozen memtable. Returns whether there was one.
    ///
    /// # Errors
    /// When the disk refuses an operation. The pairs stay in memory and in the log then.
    pub(crate) fn flush_oldest(&self) -> Result<bool, Error> {
        self.flush_first_if(|_| true, self.begin_flush())
    }

    /// Flushes the oldest frozen memtable, if `concerns` is true for the number of its next log.
    fn flush_first_if(
        &self,
        concerns: impl FnOnce(u64) -> bool,
        _flushing: MutexGuard<'_, ()>,
    ) -> Result<bool, Error> {
        let oldest = |view: &crate::view::View<F>| view.frozen.first().cloned();
        let Some(first) = oldest(&self.view.load()) else { return Ok(false) };
        if !concerns(first.next_log) {
            return Ok(false);
        }
        if first.memtable.len() > 0 {
            self.wait_for_fewer_segments()?;
        }
        let mut writer = self.writer();
        let Some(frozen) = oldest(&self.view.load()) else { return Ok(false) };
        let reader = writer.open_journal();
        drop(writer);
        let started = Instant::now();
        let pairs = frozen.memtable.to_sorted();
        if pairs.is_empty() {
            // All its pairs have been removed.
            drop(reader);
            self.publish(Change { added: None, dropped: Vec::new(), is_flush: true })?;
            return Ok(true);
        }
        let (segment, entry) = self.build_segment(&frozen.memtable, &pairs)?;
        let added = Added::new(segment, entry, Some(reader));
        self.publish(Change { added: Some(added), dropped: Vec::new(), is_flush: true })?;
        self.throttle.record_flush(pairs.len() as u64, started.elapsed());
        self.background.notify(&Event::Done(Work::Flush, started.elapsed()));
        Ok(true)
    }

    /// Waits until another segment may be added: while merges run, there are at most [`MAX_SEGMENTS`](background::MAX_SEGMENTS).
    ///
    /// # Errors
    /// When merges fail, or the store is being closed.
    pub(crate) fn wait_for_fewer_segments(&self) -> Result<(), Error> {
        let mut seen = 0;
        loop {
            let (segments, young) = self.segment_counts();
            if !self.is_merging() || background::has_room_for_segment(segments, young) {
                return Ok(());
            }
            // Merges of other segments go on if one is damaged.
            let failure = self.background.failure(Work::Merge);
            if let Some(failure) = failure.filter(|failure| failure.remedy != Remedy::Repair) {
                return Err(Error::Full { path: self.disk.path(""), source: failure.source() });
            }
            if !self.background.wait_for_work(&mut seen, POLL_INTERVAL) {
                return Err(Error::Closed { path: self.disk.path("") });
            }
        }
    }

    /// Flushes all pairs and removals that are in memory at the time of this call, so that no log is needed for them.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        // Keeps the number of frozen memtables within its bound, except for a moment if other writers fill one meanwhile.
        let first = self.view.load().frozen.first().map(|frozen| frozen.next_log);
        if let Some(first) = first.filter(|_| self.view.load().frozen.len() >= MAX_FROZEN) {
            self.flush_up_to(first)?;
        }
        self.sync_concurrently()?;
        self.freeze(&mut self.writer())?;
        self.flush_frozen()
    }

    /// Flushes the memtables that are frozen at the time of this call.
    pub(crate) fn flush_frozen(&self) -> Result<(), Error> {
        // Memtables that are frozen later are not waited for.
        let last = self.view.load().frozen.last().map_or(0, |frozen| frozen.next_log);
        self.flush_up_to(last)
    }

    /// Flushes the memtables of logs before one, or waits until other threads have.
    fn flush_up_to(&self, last: u64) -> Result<(), Error> {
        let mut seen = 0;
        while self.view.load().frozen.first().is_some_and(|frozen| frozen.next_log <= last) {
            // The flush thread takes the lock again and again, so a thread that blocks on it might starve.
            let flushing = match self.flushing.try_lock() {
                Ok(flushing) => flushing,
                Err(TryLockError::Poisoned(flushing)) => flushing.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    self.background.wait_for_work(&mut seen, POLL_INTERVAL);
                    continue;
                }
            };
            self.flush_first_if(|next_log| next_log <= last, flushing)?;
        }
        Ok(())
    }
}

/// Minimum ratio of the smallest running merge to another one that begins: so small merges never wait for large ones.
const MIN_SIZE_RATIO: u64 = 4;

impl<F: Fingerprint> StoreInner<F> {
    /// Runs a background merge of unclaimed segments, if one is due. Returns whether there was one.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a segment is damaged. The segments stay unchanged then.
    pub(crate) fn merge_due(&self) -> Result<bool, Error> {
        let claim = self.claims.claim(|inner| {
            let view = self.view.load();
            let mut free: Vec<&LiveSegment<F>> = view.segments.iter().collect();
            free.retain(|live| inner.is_free(live.segment.number, live.segment.oldest_input()));
            let most = inner.smallest().map_or(u64::MAX, |pairs| pairs / MIN_SIZE_RATIO);
            chosen(&free, &policy::choose(&sizes(&free), most)?)
        });
        let Some(claim) = claim else { return Ok(false) };
        self.merge(&claim, None).inspect_err(|error| self.exclude_damaged(&claim, error))?;
        Ok(true)
    }

    /// Merges the segments of the time of this call until no merge of them is due.
    pub(crate) fn merge_until_settled(&self) -> Result<(), Error> {
        let foreground = self.begin_foreground();
        while let Some(claim) =
            self.claim_in_foreground(&foreground, |candidates| policy::choose(&sizes(candidates), u64::MAX))
        {
            self.merge(&claim, None)?;
        }
        Ok(())
    }

    /// Merges the segments of the time of this call into one, without the removed pairs; in steps, the smallest first,
    /// if they are too many for one merge.
    pub(crate) fn merge_all(&self, report: &Report) -> Result<(), Error> {
        let foreground = self.begin_foreground();
        let choose = |candidates: &[&LiveSegment<F>]| match candidates {
            [] => None,
            // Pairs that are removed later need no further merge.
            [one] => {
                let is_done = one.removed.is_empty() || one.segment.number >= foreground.limit;
                (!is_done).then(|| vec![0])
            }
            many => Some(policy::smallest(&sizes(many), policy::first_step(many.len(), MAX_MERGED))),
        };
        while let Some(claim) = self.claim_in_foreground(&foreground, choose) {
            self.merge(&claim, Some(report))?;
        }
        Ok(())
    }

    /// Rewrites the segments with removed pairs without these. Returns the number of these pairs.
    pub(crate) fn rewrite_removed(&self, report: &Report) -> Result<u64, Error> {
        let foreground = self.begin_foreground();
        let mut pairs = 0;
        let choose = |candidates: &[&LiveSegment<F>]| {
            let is_due =
                |live: &&LiveSegment<F>| !live.removed.is_empty() && live.segment.number < foreground.limit;
            candidates.iter().position(is_due).map(|at| vec![at])
        };
        while let Some(claim) = self.claim_in_foreground(&foreground, choose) {
            pairs += self.merge(&claim, Some(report))?;
        }
        Ok(pairs)
    }

    /// Waits until no merge runs, and blocks new ones as long as the result is held.
    pub(crate) fn block_merges(&self) -> Foreground<'_> {
        let foreground = self.claims.begin_foreground(|| u64::MAX);
        drop(self.claims.claim_when_free(|_| true, |_| None));
        foreground
    }

    fn begin_foreground(&self) -> Foreground<'_> {
        self.claims.begin_foreground(|| self.peek_next_segment())
    }

    /// Claims some of the segments that a foreground merge covers, or that were merged from these.
    fn claim_in_foreground(
        &self,
        foreground: &Foreground<'_>,
        choose: impl FnOnce(&[&LiveSegment<F>]) -> Option<Vec<usize>>,
    ) -> Option<Claim<'_>> {
        let is_wanted = |live: &LiveSegment<F>| live.segment.oldest_input() < foreground.limit;
        let has_wanted = |number: u64| {
            self.view.load().segments.iter().any(|live| live.segment.number == number && is_wanted(live))
        };
        self.claims.claim_when_free(has_wanted, |_| {
            let view = self.view.load();
            let candidates: Vec<&LiveSegment<F>> =
                view.segments.iter().filter(|live| is_wanted(live)).collect();
            chosen(&candidates, &choose(&candidates)?)
        })
    }

    /// Merges claimed segments into one. Returns the number of removed pairs that it drops.
    fn merge(&self, claim: &Claim<'_>, report: Option<&Report>) -> Result<u64, Error> {
        let (inputs, reader) = {
            let mut writer = self.writer();
            (inputs(&self.view.load(), claim), writer.open_journal())
        };
        let started = Instant::now();
        let removed = inputs.iter().map(|live| live.removed.len()).sum();
        let dropped = claim.numbers.clone();
        if inputs.iter().all(|live| live.len() == 0) {
            drop(reader);
            self.publish(Change { added: None, dropped, is_flush: false })?;
            return Ok(removed);
        }
        let level = self.level_above(claim);
        let (segment, entry) = self.merge_into_segment(&inputs, level, report)?;
        let since = inputs.iter().map(|live| live.segment.oldest_input()).min();
        segment.set_oldest_input(since.expect("a merge has inputs"));
        let added = Added::new(segment, entry, Some(reader));
        self.publish(Change { added: Some(added), dropped, is_flush: false })?;
        self.background.notify(&Event::Done(Work::Merge, started.elapsed()));
        Ok(removed)
    }

    /// Writes the remaining pairs of the inputs to a new segment. Inputs of one design are merged without sorting.
    fn merge_into_segment(
        &self,
        inputs: &[LiveSegment<F>],
        level: u32,
        report: Option<&Report>,
    ) -> Result<(Arc<Segment<F>>, SegmentEntry), Error> {
        let until_closed = self.until_closed(&report.cloned().unwrap_or_default());
        let removed_of = |live| RemovedFilter::of(live, &until_closed);
        let removed = inputs.iter().map(removed_of).collect::<Result<Vec<_>, _>>()?;
        self.new_segment(level, |mut options, mut output| {
            options = options.report_to(until_closed);
            if report.is_none() {
                // Threads of low priority, since no caller waits for it.
                options = options.threads(workers::threads(self.options.threads));
            }
            let mut merger = Merger::new(inputs.iter().map(|live| &**live.index()))?.options(options);
            if removed.iter().any(|removed| !removed.is_empty()) {
                merger = merger.filter(|input, fingerprint, id| {
                    !removed[input].contains((fingerprint, id.unwrap_or_default()))
                });
            }
            let written = merger.write_to(&mut output);
            // Nothing is made of what was read from a file that is lost, and any error is due to it.
            inputs.iter().try_for_each(|live| live.index().check_file())?;
            written?;
            Ok(output)
        })
    }

    /// Returns one more than the greatest level of claimed segments.
    fn level_above(&self, claim: &Claim<'_>) -> u32 {
        let manifest = self.manifest.load();
        let of_inputs = manifest.segments.iter().filter(|entry| claim.numbers.contains(&entry.number));
        of_inputs.map(|entry| entry.level).max().unwrap_or(0).saturating_add(1)
    }

    /// Excludes the damaged ones of claimed segments from background merges, so that merges of others go on.
    fn exclude_damaged(&self, claim: &Claim<'_>, error: &Error) {
        if !error.is_damage() {
            return;
        }
        let inputs = inputs(&self.view.load(), claim);
        let is_damaged =
            |live: &&LiveSegment<F>| live.index().verify_with(&VerifyOptions::new().threads(1)).is_err();
        self.claims.exclude(inputs.iter().filter(is_damaged).map(|live| live.segment.number));
    }

    /// Records the outcome of a background merge.
    pub(crate) fn report_merge(&self, outcome: Result<(), Error>) {
        self.claims.record(outcome.is_ok());
        // Merges of other segments succeed while a damaged one is excluded.
        if outcome.is_ok() && self.claims.has_damage() {
            return;
        }
        self.background.report(Work::Merge, outcome);
    }
}

/// Returns the claimed segments in their current state.
fn inputs<F: Fingerprint>(view: &View<F>, claim: &Claim<'_>) -> Vec<LiveSegment<F>> {
    let is_claimed = |live: &&LiveSegment<F>| claim.numbers.contains(&live.segment.number);
    view.segments.iter().filter(is_claimed).cloned().collect()
}

fn sizes<F: Fingerprint>(segments: &[&LiveSegment<F>]) -> Vec<Size> {
    let size = |live: &&LiveSegment<F>| Size { pairs: live.segment.pairs(), removed: live.removed.len() };
    segments.iter().map(size).collect()
}

/// Returns the numbers of the segments at these indices, and the number of their pairs.
fn chosen<F: Fingerprint>(segments: &[&LiveSegment<F>], places: &[usize]) -> Option<(Vec<u64>, u64)> {
    let numbers = places.iter().map(|&at| segments[at].segment.number).collect();
    Some((numbers, places.iter().map(|&at| segments[at].len()).sum()))
}

/// Minimum number of bits in the sieve per removed pair.
const SIEVE_BITS_PER_PAIR: usize = 8;

/// Pairs between two checks for cancellation.
const PAIRS_AT_ONCE: usize = 1 << 16;

/// The removed pairs of a segment.
struct RemovedFilter<F> {
    pairs: HashSet<Pair<F>>,
    /// A bit per hash of a removed fingerprint, which rules out nearly all pairs without a search in the set.
    sieve: Vec<u64>,
}

impl<F: Fingerprint> RemovedFilter<F> {
    /// Collects the removed pairs of a segment. It reads the whole segment, unless there are none.
    fn of(live: &LiveSegment<F>, report: &Report) -> Result<Self, Error> {
        let mut pairs = HashSet::new();
        if !live.removed.is_empty() {
            for (number, placed) in live.placed_pairs_from(F::ZERO)?.enumerate() {
                if number.is_multiple_of(PAIRS_AT_ONCE) {
                    report.check().map_err(BuildError::from)?;
                }
                let (place, pair) = placed?;
                if live.removed.contains(place) {
                    pairs.insert(pair);
                }
            }
        }
        let words = (pairs.len() * SIEVE_BITS_PER_PAIR / 64 + 1).next_power_of_two();
        let mut removed = Self { pairs: HashSet::new(), sieve: vec![0; words] };
        for (fingerprint, _) in &pairs {
            let (word, bit) = removed.sieve_bit(*fingerprint);
            removed.sieve[word] |= bit;
        }
        removed.pairs = pairs;
        Ok(removed)
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn contains(&self, pair: Pair<F>) -> bool {
        let (word, bit) = self.sieve_bit(pair.0);
        self.sieve[word] & bit != 0 && self.pairs.contains(&pair)
    }

    /// Returns the word and the bit of a fingerprint.
    fn sieve_bit(&self, fingerprint: F) -> (usize, u64) {
        let folded = fingerprint.to_u128();
        // Fibonacci hashing (Knuth, TAOCP 3, 6.4): fingerprints of a cluster differ in few bits.
        let hash = ((folded >> 64) as u64 ^ folded as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        ((hash as usize / 64) & (self.sieve.len() - 1), 1 << (hash % 64))
    }
}
