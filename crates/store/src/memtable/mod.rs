//! Memtable writes, in memory: found at once, and never changed in place.
//!
//! - [`groups`]: the groups of bits by which fingerprints are bucketed
//! - [`run`]: many pairs in buckets
//! - [`live_run`]: the same, of which pairs can be removed
//! - [`consolidate`]: merging runs beside further writes; [`background`]: when and by which thread
//! - [`names`]: the names of ids
//!
//! The newest pairs are a short unsorted list, the tail, which every write copies. A full tail becomes a run; runs
//! of about equal size become one, as digits of a binary counter carry. So a pair is moved a logarithmic number of
//! times, a query looks into a logarithmic number of runs, and whoever holds a copy sees what was there when it was
//! taken.
//!
//! In a store that is written to, a writer merges short runs only. Longer ones are merged in the background, by the same
//! rule, and take the place of the merged ones when that is done. So the work of a write does not grow with memory.

mod background;
pub(crate) mod consolidate;
mod groups;
mod live_run;
mod names;
pub(crate) mod run;

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Match};

use crate::memtable::consolidate::merge_at_once;
use crate::memtable::live_run::LiveRun;
use crate::memtable::names::MemtableNames;
use crate::write::batch::Pair;

/// Pairs of the tail, at most: few enough to be compared one by one, and copied by every write.
const MAX_TAIL: usize = 256;

/// Pairs of a run that a writer merges with others, at most, where longer ones are merged in the background.
const MAX_SHORT: usize = 1 << 13;

/// Longer runs beyond which a writer merges such ones, too, since the background is behind.
const MAX_RUNS: usize = 48;

/// Pairs that a writer moves then, at most.
const MAX_HELP: u64 = 1 << 16;

/// Runs that it merges then, at least: to merge fewer is not worth the time.
const MIN_HELP: usize = 4;

/// Memtable pairs, some of them perhaps more than once. Cloning is cheap, and a clone never changes.
#[derive(Debug)]
pub(crate) struct Memtable<F> {
    distance: u32,
    /// Pairs of a run that an insertion merges with others, at most.
    max_short: usize,
    /// Counts insertions.
    insertions: u64,
    tail: Arc<Vec<Pair<F>>>,
    /// From the oldest to the newest; from the longest to the shortest, unless some are to be merged.
    runs: Arc<Vec<LiveRun<F>>>,
    /// Of all ids that have been inserted, also of those that have gone since.
    pub(crate) names: MemtableNames,
}

impl<F> Clone for Memtable<F> {
    fn clone(&self) -> Self {
        Self {
            distance: self.distance,
            max_short: self.max_short,
            insertions: self.insertions,
            tail: Arc::clone(&self.tail),
            runs: Arc::clone(&self.runs),
            names: self.names.clone(),
        }
    }
}

impl<F: Fingerprint> Memtable<F> {
    /// Nothing yet; to be searched at up to `distance`. Every insertion merges all runs that are due.
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            distance,
            max_short: usize::MAX,
            insertions: 0,
            tail: Arc::default(),
            runs: Arc::default(),
            names: MemtableNames::default(),
        }
    }

    /// Leaves long runs to be merged in the background from now on: see [`Memtable::consolidation`].
    pub(crate) fn deferring(self) -> Self {
        Self { max_short: MAX_SHORT, ..self }
    }

    /// The pairs that have been inserted since an earlier copy, and perhaps a few of its own; `None` if none have.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        if self.insertions == earlier.insertions {
            return None;
        }
        let runs = self.runs.iter().filter(|live| live.last_insertion > earlier.insertions);
        Some(Self { runs: Arc::new(runs.cloned().collect()), ..self.clone() })
    }

    /// How many pairs, counting each as often as it is held.
    pub(crate) fn len(&self) -> u64 {
        self.tail.len() as u64 + self.runs.iter().map(LiveRun::len).sum::<u64>()
    }

    /// Bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|live| live.run.bytes()).sum();
        size_of_val(&**self.tail) + runs + self.names.bytes()
    }

    /// Adds pairs.
    pub(crate) fn insert(&mut self, pairs: &[Pair<F>]) {
        if pairs.is_empty() {
            return;
        }
        self.insertions += 1;
        if self.tail.len() + pairs.len() <= MAX_TAIL {
            Arc::make_mut(&mut self.tail).extend_from_slice(pairs);
            return;
        }
        let mut sorted = Vec::with_capacity(self.tail.len() + pairs.len());
        sorted.extend_from_slice(&self.tail);
        sorted.extend_from_slice(pairs);
        sorted.sort_unstable();
        sorted.dedup();
        self.tail = Arc::default();
        self.carry(sorted);
        if self.long_runs() > MAX_RUNS {
            self.help();
        }
    }

    /// Adds a run of these pairs, merged with those before it until each is more than twice as long as the next, as far
    /// as they are short.
    fn carry(&mut self, mut pairs: Vec<Pair<F>>) {
        let runs = Arc::make_mut(&mut self.runs);
        let (mut first, mut length) = (runs.len(), pairs.len() as u64);
        while let Some(before) = runs[..first].last()
            && before.len() <= length.saturating_mul(2)
            && before.run.len().max(length as usize) <= self.max_short
        {
            first -= 1;
            length += before.len();
        }
        if first < runs.len() {
            pairs.reserve_exact(length as usize - pairs.len());
            runs[first..].iter().for_each(|live| live.append_all(&mut pairs));
            // Runs are in order, and are merged, not sorted anew.
            pairs.sort();
            pairs.dedup();
            runs.truncate(first);
        }
        runs.push(LiveRun::of(&pairs, self.distance, self.insertions));
    }

    /// Merges long neighbours, as many as it may.
    fn help(&mut self) {
        let mut best = 0..0;
        let mut first = 0;
        let mut length = 0;
        for end in 1..=self.long_runs() {
            let last = &self.runs[end - 1];
            length += last.len();
            while first < end && (length > MAX_HELP || last.run.is_held()) {
                length -= self.runs[first].len();
                first += 1;
            }
            if end - first > best.len() {
                best = first..end;
            }
        }
        if best.len() >= MIN_HELP {
            let merged = merge_at_once(&self.runs[best.clone()], self.distance);
            Arc::make_mut(&mut self.runs).splice(best, [merged]);
        }
    }

    /// Removes a pair, wherever it is held. Returns whether it was there.
    pub(crate) fn remove(&mut self, pair: Pair<F>) -> bool {
        let mut was_there = false;
        if self.tail.contains(&pair) {
            Arc::make_mut(&mut self.tail).retain(|&other| other != pair);
            was_there = true;
        }
        for number in 0..self.runs.len() {
            let LiveRun { run, removed, .. } = &self.runs[number];
            if let Some(place) = run.find(pair).filter(|&place| !removed.contains(place)) {
                Arc::make_mut(&mut self.runs)[number].removed.insert(place);
                was_there = true;
            }
        }
        was_there
    }

    /// Whether a pair is there.
    pub(crate) fn contains(&self, pair: Pair<F>) -> bool {
        let is_in =
            |live: &LiveRun<F>| live.run.find(pair).is_some_and(|place| !live.removed.contains(place));
        self.tail.contains(&pair) || self.runs.iter().any(is_in)
    }

    /// Whether a fingerprint is there.
    pub(crate) fn contains_fingerprint(&self, value: F) -> bool {
        let is_in = |LiveRun { run, removed, .. }: &LiveRun<F>| removed.leaves_some_of(run.places(value));
        self.tail.iter().any(|pair| pair.0 == value) || self.runs.iter().any(is_in)
    }

    /// Calls `visit` with each fingerprint within `distance` of the query, in no particular order, some perhaps
    /// more than once.
    pub(crate) fn for_each(
        &self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(F) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for &(value, _) in &*self.tail {
            if value.distance(query) <= distance {
                visit(value)?;
            }
        }
        self.runs.iter().try_for_each(|LiveRun { run, removed, .. }| {
            run.for_each(query, distance, |value| {
                let is_left = removed.is_empty() || removed.leaves_some_of(run.places(value));
                if is_left { visit(value) } else { ControlFlow::Continue(()) }
            })
        })
    }

    /// The nearest fingerprint within `distance` of the query; the least of several.
    pub(crate) fn nearest(&self, query: F, distance: u32) -> Option<Match<F>> {
        let mut nearest: Option<Match<F>> = None;
        let _ = self.for_each(query, distance, |value| {
            let found = Match::of(query, value);
            nearest = Some(nearest.map_or(found, |nearest| nearest.min(found)));
            ControlFlow::Continue(())
        });
        nearest
    }

    /// Appends the ids of a fingerprint, in no particular order, some perhaps more than once.
    pub(crate) fn append_ids(&self, value: F, ids: &mut Vec<u64>) {
        ids.extend(self.tail.iter().filter(|pair| pair.0 == value).map(|pair| pair.1));
        for LiveRun { run, removed, .. } in &*self.runs {
            ids.extend(
                run.places(value).filter(|&place| !removed.contains(place)).map(|place| run.id(place)),
            );
        }
    }

    /// All pairs from the first whose fingerprint is not below `from` on, as sequences in order.
    pub(crate) fn sequences_from(&self, from: F) -> Vec<Box<dyn Iterator<Item = Pair<F>> + Send + '_>> {
        let mut tail: Vec<Pair<F>> = self.tail.iter().copied().filter(|pair| pair.0 >= from).collect();
        tail.sort_unstable();
        tail.dedup();
        let mut sequences: Vec<Box<dyn Iterator<Item = Pair<F>> + Send + '_>> =
            vec![Box::new(tail.into_iter())];
        sequences.extend(self.runs.iter().map(|live| Box::new(live.pairs_from(from)) as Box<_>));
        sequences
    }

    /// Everything as pairs in order, each once.
    pub(crate) fn to_sorted(&self) -> Vec<Pair<F>> {
        let mut pairs: Vec<Pair<F>> = Vec::with_capacity(self.len() as usize);
        self.runs.iter().for_each(|live| live.append_all(&mut pairs));
        pairs.extend_from_slice(&self.tail);
        // Sequences in order are merged, not sorted anew.
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

#[cfg(test)]
mod tests;
