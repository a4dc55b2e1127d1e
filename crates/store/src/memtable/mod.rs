//! The memtable: recent pairs in memory, which are never changed in place.
//!
//! - [`groups`]: the groups of bits by which fingerprints are bucketed; [`tables`]: the buckets
//! - [`run`]: sorted pairs with such tables, and which of them are removed
//! - [`consolidate`]: merging runs concurrently with writes; [`background`]: the thread that does it
//! - [`documents`]: the names of ids, and the shingles of their documents; [`shingle_filter`]: of all of them together
//!
//! The newest pairs are a short unsorted list, the tail, which every write copies. A full tail becomes a run; runs of
//! about equal size are merged, as digits of a binary counter carry. So a pair is moved a logarithmic number of times,
//! a query searches a logarithmic number of runs, and a clone is a snapshot.
//!
//! In a store that is open for writing, writers merge short runs only. Longer ones are merged in the background by the
//! same rule, and the merged run replaces them at the end. So the cost of a write does not grow with memory.

mod background;
pub(crate) mod consolidate;
mod documents;
mod groups;
pub(crate) mod run;
mod shingle_filter;
mod tables;

use std::collections::HashSet;
use std::sync::Arc;

use hamdex::set::StoredId;
use hamdex::{Compiled, Fingerprint, Match, Stopped};

use crate::log::MAX_OPERATIONS;
use crate::memtable::consolidate::merge_at_once;
use crate::memtable::documents::MemtableDocuments;
use crate::memtable::run::LiveRun;
use crate::memtable::tables::Buckets;
use crate::segment::removed_places::IdList;
use crate::write::Pair;

/// Maximum number of pairs in the tail, which queries scan and every write copies.
const MAX_TAIL: usize = 256;

/// Maximum number of pairs in a run that a writer merges, if longer ones are merged in the background.
const MAX_SHORT: usize = 1 << 13;

/// Maximum number of pairs in a run, whose places have 32 bits. A log may have more pairs than one run takes.
pub(crate) const MAX_RUN_PAIRS: u64 = u32::MAX as u64;

const _: () = assert!(2 * MAX_OPERATIONS as u64 <= MAX_RUN_PAIRS, "the pairs of an insertion are one run");

/// Number of longer runs above which a writer merges some of them, since the background is behind.
const MAX_RUNS: usize = 48;

/// Maximum number of pairs that a writer moves then.
const MAX_BACKLOG_PAIRS: u64 = 1 << 16;

/// Minimum number of runs that it merges then.
const MIN_BACKLOG_RUNS: usize = 4;

/// Memtable pairs, some of them perhaps more than once. Cloning is cheap, and a clone never changes.
#[derive(Debug, Clone)]
pub(crate) struct Memtable<F> {
    distance: u32,
    /// Maximum number of pairs in a run that an insertion merges.
    max_short: usize,
    /// Maximum number of pairs in a merged run.
    max_run_pairs: u64,
    /// The number of insertions.
    insertions: u64,
    tail: Arc<Vec<Pair<F>>>,
    /// From the oldest to the newest; from the longest to the shortest, unless some are due to be merged.
    runs: Arc<Vec<LiveRun<F>>>,
    /// The names of all inserted ids, including removed ones.
    pub(crate) documents: MemtableDocuments,
}

impl<F: Fingerprint> Memtable<F> {
    /// Returns an empty memtable for searches up to `distance`. Every insertion merges all runs that are due.
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            distance,
            max_short: usize::MAX,
            max_run_pairs: MAX_RUN_PAIRS,
            insertions: 0,
            tail: Arc::default(),
            runs: Arc::default(),
            documents: MemtableDocuments::default(),
        }
    }

    /// Leaves long runs to background merges: see [`Memtable::consolidation`].
    pub(crate) fn with_background_merges(self) -> Self {
        Self { max_short: MAX_SHORT, ..self }
    }

    /// Returns the pairs that were inserted after an earlier clone, perhaps with a few of its own; `None` if there are
    /// none.
    pub(crate) fn since(&self, earlier: &Self) -> Option<Self> {
        if self.insertions == earlier.insertions {
            return None;
        }
        let runs = self.runs.iter().filter(|live| live.last_insertion > earlier.insertions);
        Some(Self { runs: Arc::new(runs.cloned().collect()), ..self.clone() })
    }

    /// Returns the number of pairs, including duplicates.
    pub(crate) fn len(&self) -> u64 {
        self.tail.len() as u64 + self.runs.iter().map(LiveRun::len).sum::<u64>()
    }

    /// Returns the memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|live| live.run.bytes()).sum();
        size_of_val(&**self.tail) + runs + self.documents.bytes()
    }

    /// Inserts pairs.
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
            self.merge_backlog();
        }
    }

    /// Adds a run of these pairs, merged with the short runs before it until each is more than twice as long as the
    /// next, as far as one run takes them.
    fn carry(&mut self, mut pairs: Vec<Pair<F>>) {
        let (mut first, mut length) = (self.runs.len(), pairs.len() as u64);
        while let Some(before) = self.runs[..first].last()
            && self.is_due(before, length)
            && before.run.len().max(length as usize) <= self.max_short
        {
            first -= 1;
            length += before.len();
        }
        let runs = Arc::make_mut(&mut self.runs);
        if first < runs.len() {
            pairs.reserve_exact(length as usize - pairs.len());
            runs[first..].iter().for_each(|live| live.append_all(&mut pairs));
            // A stable sort merges sorted runs.
            pairs.sort();
            pairs.dedup();
            runs.truncate(first);
        }
        runs.push(LiveRun::of(&pairs, self.distance, self.insertions));
    }

    /// Merges as many long neighbouring runs as a writer may.
    fn merge_backlog(&mut self) {
        let mut best = 0..0;
        let mut first = 0;
        let mut length = 0;
        for end in 1..=self.long_runs() {
            let last = &self.runs[end - 1];
            length += last.len();
            while first < end && (length > MAX_BACKLOG_PAIRS.min(self.max_run_pairs) || last.run.is_held()) {
                length -= self.runs[first].len();
                first += 1;
            }
            if end - first > best.len() {
                best = first..end;
            }
        }
        if best.len() >= MIN_BACKLOG_RUNS {
            let merged = merge_at_once(&self.runs[best.clone()], self.distance);
            Arc::make_mut(&mut self.runs).splice(best, [merged]);
        }
    }

    /// Removes a pair and its duplicates. Returns whether it was present.
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

    /// Whether a fingerprint is present.
    pub(crate) fn contains_fingerprint(&self, value: F) -> bool {
        let is_in = |LiveRun { run, removed, .. }: &LiveRun<F>| removed.leaves_any_of(run.places(value));
        self.tail.iter().any(|pair| pair.0 == value) || self.runs.iter().any(is_in)
    }

    /// Calls `visit` with each fingerprint within `distance` of the query, in no particular order, perhaps with
    /// duplicates.
    pub(crate) fn for_each(
        &self,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        hamdex::run_compiled(Search { memtable: self, query, distance, visit })
    }

    /// Returns the nearest fingerprint within `distance` of the query; the least of several.
    pub(crate) fn nearest(&self, query: F, distance: u32) -> Option<Match<F>> {
        let mut nearest: Option<Match<F>> = None;
        let _ = self.for_each(query, distance, &mut |value| {
            let found = Match::new(query, value);
            nearest = Some(nearest.map_or(found, |nearest| nearest.min(found)));
            Ok(())
        });
        nearest
    }

    /// Appends the ids of a fingerprint, in no particular order, perhaps with duplicates.
    pub(crate) fn append_ids(&self, value: F, ids: &mut Vec<u64>) {
        ids.extend(self.tail.iter().filter(|pair| pair.0 == value).map(|pair| pair.1));
        for LiveRun { run, removed, .. } in &*self.runs {
            ids.extend(removed.left_of(run.places(value)).map(|place| run.id(place)));
        }
    }

    /// Adds the lists of the ids of a fingerprint, each ascending, and their lengths; an id may be in several.
    pub(crate) fn add_id_lists<'a>(&'a self, value: F, lists: &mut Vec<IdList<'a>>, counts: &mut Vec<u64>) {
        let mut tail: Vec<u64> = self.tail.iter().filter(|pair| pair.0 == value).map(|pair| pair.1).collect();
        if !tail.is_empty() {
            tail.sort_unstable();
            tail.dedup();
            counts.push(tail.len() as u64);
            lists.push(Box::new(tail.into_iter().map(|id| StoredId { part: 0, id })));
        }
        for LiveRun { run, removed, .. } in &*self.runs {
            let places = run.places(value);
            if !places.is_empty() {
                counts.push(removed.count_left(&places));
                lists.push(removed.list(places, |place| Some(run.id(place))));
            }
        }
    }

    /// Appends the pairs with one of these ids, in no particular order, perhaps with duplicates.
    pub(crate) fn append_pairs_with_ids(&self, ids: &HashSet<u64>, pairs: &mut Vec<Pair<F>>) {
        pairs.extend(self.tail.iter().filter(|pair| ids.contains(&pair.1)));
        for LiveRun { run, removed, .. } in &*self.runs {
            let places = ids.iter().flat_map(|&id| run.places_of_id(id));
            pairs.extend(places.filter(|&place| !removed.contains(place)).map(|place| run.pair(place)));
        }
    }

    /// Whether a pair with this id is present.
    pub(crate) fn has_id(&self, id: u64) -> bool {
        let is_in = |live: &LiveRun<F>| {
            live.run.places_of_id(id).into_iter().any(|place| !live.removed.contains(place))
        };
        self.tail.iter().any(|pair| pair.1 == id) || self.runs.iter().any(is_in)
    }

    /// Returns all pairs whose fingerprints are at least `from`, as sorted sequences.
    pub(crate) fn sequences_from(&self, from: F) -> Vec<Box<dyn Iterator<Item = Pair<F>> + Send + '_>> {
        let mut tail: Vec<Pair<F>> = self.tail.iter().copied().filter(|pair| pair.0 >= from).collect();
        tail.sort_unstable();
        tail.dedup();
        let mut sequences: Vec<Box<dyn Iterator<Item = Pair<F>> + Send + '_>> =
            vec![Box::new(tail.into_iter())];
        sequences.extend(self.runs.iter().map(|live| Box::new(live.pairs_from(from)) as Box<_>));
        sequences
    }

    /// Returns the distinct pairs in order.
    pub(crate) fn to_sorted(&self) -> Vec<Pair<F>> {
        let mut pairs: Vec<Pair<F>> = Vec::with_capacity(self.len() as usize);
        self.runs.iter().for_each(|live| live.append_all(&mut pairs));
        pairs.extend_from_slice(&self.tail);
        // A stable sort merges sorted sequences.
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

/// Number of runs whose buckets are found and prefetched before the first is read, so that waits for memory overlap.
const RUNS_AHEAD: usize = 8;

/// A search for the fingerprints within a distance of a query.
struct Search<'m, F> {
    memtable: &'m Memtable<F>,
    query: F,
    distance: u32,
    visit: &'m mut dyn FnMut(F) -> Result<(), Stopped>,
}

impl<F: Fingerprint> Compiled for Search<'_, F> {
    type Output = Result<(), Stopped>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { memtable, query, distance, visit } = self;
        // First, since a hit there may end the search.
        for &(value, _) in &*memtable.tail {
            if value.distance(query) <= distance {
                visit(value)?;
            }
        }
        for runs in memtable.runs.chunks(RUNS_AHEAD) {
            let mut buckets = [Buckets::default(); RUNS_AHEAD];
            for (live, buckets) in runs.iter().zip(&mut buckets) {
                *buckets = live.run.find_buckets(query, distance);
            }
            for (live, buckets) in runs.iter().zip(&buckets) {
                live.run.prefetch(buckets);
            }
            for (LiveRun { run, removed, .. }, buckets) in runs.iter().zip(&buckets) {
                run.for_each_in(buckets, query, distance, |value| {
                    let is_left = removed.is_empty() || removed.leaves_any_of(run.places(value));
                    if is_left { visit(value) } else { Ok(()) }
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
