//! Consolidation: merging runs of a memtable concurrently with writes.
//!
//! A consolidation holds some neighbouring runs and merges them without any lock. Meanwhile the memtable may get more
//! runs after these, lose some of their pairs, or be frozen. So the merged run first catches up with the removals, and
//! then replaces exactly the runs that it was merged from, if all of them are still in place.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use hamdex::Fingerprint;

use crate::memtable::Memtable;
use crate::memtable::run::LiveRun;
use crate::memtable::tables::BETWEEN_PAUSES;
use crate::write::Pair;

/// Neighbouring runs that are to be merged.
#[derive(Debug)]
pub(crate) struct Consolidation<F> {
    distance: u32,
    runs: Held<F>,
}

/// The run that was merged from them.
#[derive(Debug)]
pub(crate) struct Consolidated<F> {
    /// The runs that it was merged from, with the removals that it reflects.
    runs: Held<F>,
    merged: LiveRun<F>,
}

/// Runs that writers do not merge while they are held.
#[derive(Debug)]
struct Held<F>(Vec<LiveRun<F>>);

impl<F> Held<F> {
    fn new(runs: Vec<LiveRun<F>>) -> Self {
        runs.iter().for_each(|live| live.run.hold(true));
        Self(runs)
    }
}

impl<F> Drop for Held<F> {
    fn drop(&mut self) {
        self.0.iter().for_each(|live| live.run.hold(false));
    }
}

impl<F: Fingerprint> Memtable<F> {
    /// Returns the number of long runs that are due to be merged with the next.
    pub(crate) fn overdue_runs(&self) -> usize {
        let long = &self.runs[..self.long_runs()];
        long.windows(2).filter(|pair| self.is_due(&pair[0], pair[1].len())).count()
    }

    /// Returns the newest long runs that are due to be merged, among the runs of insertions after one.
    pub(crate) fn consolidation(&self, insertion: u64) -> Option<Consolidation<F>> {
        let due = self.due(insertion)?;
        Some(Consolidation { distance: self.distance, runs: Held::new(self.runs[due].to_vec()) })
    }

    /// Returns long neighbours of which each is due to be merged with the ones after it.
    fn due(&self, insertion: u64) -> Option<Range<usize>> {
        let first = self.runs.partition_point(|live| live.last_insertion <= insertion);
        let mut end = self.long_runs();
        while end > first + 1 {
            let mut start = end - 1;
            let mut length = self.runs[start].len();
            while start > first && self.is_due(&self.runs[start - 1], length) {
                start -= 1;
                length += self.runs[start].len();
            }
            if start + 1 < end {
                return Some(start..end);
            }
            end = start;
        }
        None
    }

    /// Whether a run is due to be merged with pairs after it: it is not more than twice as long, and one run takes both.
    pub(super) fn is_due(&self, run: &LiveRun<F>, length: u64) -> bool {
        run.len() <= length.saturating_mul(2) && run.len().saturating_add(length) <= self.max_run_pairs
    }

    /// Returns the number of runs that insertions do not merge: each is too long, or followed by one that is.
    pub(super) fn long_runs(&self) -> usize {
        self.runs.iter().rposition(|live| live.run.len() > self.max_short).map_or(0, |last| last + 1)
    }

    /// Replaces runs by the run that was merged from them, without the pairs that were removed since. Returns false,
    /// and changes nothing, if not all of them are in place.
    pub(crate) fn adopt(&mut self, consolidated: &mut Consolidated<F>) -> bool {
        if consolidated.catch_up(self).is_none() {
            return false;
        }
        let Some(places) = consolidated.places(self) else { return false };
        let merged = Some(consolidated.merged.clone()).filter(|merged| merged.len() > 0);
        Arc::make_mut(&mut self.runs).splice(places, merged);
        true
    }
}

impl<F: Fingerprint> Consolidation<F> {
    /// Returns the number of the insertion of its newest pair.
    pub(crate) fn last_insertion(&self) -> u64 {
        last_insertion(&self.runs.0)
    }

    /// Returns the number of pairs that it moves, at most.
    pub(crate) fn len(&self) -> u64 {
        self.runs.0.iter().map(LiveRun::len).sum()
    }

    /// Merges the runs. `pause` is called at intervals, and may break.
    pub(crate) fn run<B>(self, pause: &mut dyn FnMut() -> Result<(), B>) -> Result<Consolidated<F>, B> {
        let merged = merge(&self.runs.0, self.distance, pause)?;
        Ok(Consolidated { runs: self.runs, merged })
    }
}

impl<F: Fingerprint> Consolidated<F> {
    /// Applies the removals from the original runs since they were read. Returns their number; `None` if these runs are
    /// no longer in place.
    pub(crate) fn catch_up(&mut self, memtable: &Memtable<F>) -> Option<u64> {
        let places = self.places(memtable)?;
        let mut removals = 0;
        for (known, now) in self.runs.0.iter_mut().zip(&memtable.runs[places]) {
            for place in now.removed.since(&known.removed) {
                removals += 1;
                if let Some(place) = self.merged.run.find(known.run.pair(place)) {
                    self.merged.removed.insert(place);
                }
            }
            known.removed = now.removed.clone();
        }
        Some(removals)
    }

    /// Returns the range of its runs, if all of them are in place.
    fn places(&self, memtable: &Memtable<F>) -> Option<Range<usize>> {
        let is_same = |a: &LiveRun<F>, b: &LiveRun<F>| Arc::ptr_eq(&a.run, &b.run);
        let first = memtable.runs.iter().position(|live| is_same(live, &self.runs.0[0]))?;
        let places = first..first + self.runs.0.len();
        let there = memtable.runs.get(places.clone())?;
        there.iter().zip(&self.runs.0).all(|(there, own)| is_same(there, own)).then_some(places)
    }
}

/// Merges runs without pauses.
pub(super) fn merge_at_once<F: Fingerprint>(runs: &[LiveRun<F>], distance: u32) -> LiveRun<F> {
    let Ok(merged) = merge::<F, Infallible>(runs, distance, &mut || Ok(()));
    merged
}

fn merge<F: Fingerprint, B>(
    runs: &[LiveRun<F>],
    distance: u32,
    pause: &mut dyn FnMut() -> Result<(), B>,
) -> Result<LiveRun<F>, B> {
    let pairs = merged_pairs(runs, pause)?;
    LiveRun::try_of(&pairs, distance, last_insertion(runs), pause)
}

/// Returns the distinct pairs of runs in order. They are merged slice by slice, so that each slice fits in the cache.
fn merged_pairs<F: Fingerprint, B>(
    runs: &[LiveRun<F>],
    pause: &mut dyn FnMut() -> Result<(), B>,
) -> Result<Vec<Pair<F>>, B> {
    let length: u64 = runs.iter().map(LiveRun::len).sum();
    let mut pairs: Vec<Pair<F>> = Vec::with_capacity(length as usize);
    let values =
        runs.iter().map(|live| live.run.values()).max_by_key(|values| values.len()).unwrap_or_default();
    let mut done = vec![0; runs.len()];
    // A slice has about as many pairs of all runs.
    let step = (values.len() as u64 * BETWEEN_PAUSES as u64 / length.max(1)).max(1) as usize;
    for slice in 1..=values.len().div_ceil(step) {
        pause()?;
        let begun = pairs.len();
        for (live, done) in runs.iter().zip(&mut done) {
            let left = &live.run.values()[*done..];
            let behind = values.get(slice * step);
            let count = behind.map_or(left.len(), |behind| left.partition_point(|value| value < behind));
            live.append(*done..*done + count, &mut pairs);
            *done += count;
        }
        // A stable sort merges sorted parts.
        pairs[begun..].sort();
    }
    pairs.dedup();
    Ok(pairs)
}

fn last_insertion<F>(runs: &[LiveRun<F>]) -> u64 {
    runs.last().map_or(0, |live| live.last_insertion)
}
