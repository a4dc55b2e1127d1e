//! Recent writes, in memory: found at once, and never changed in place.
//!
//! - [`groups`]: the groups of bits by which fingerprints are bucketed
//! - [`run`]: many pairs in buckets
//! - [`live_run`]: the same, of which pairs can be removed
//! - [`names`]: what ids are called
//!
//! The newest pairs are a short unsorted list, the tail, which every write copies. A full tail becomes a run; runs
//! of about equal size become one, as digits of a binary counter carry. So a pair is moved a logarithmic number of
//! times, a query looks into a logarithmic number of runs, and whoever holds a copy sees what was there when it was
//! taken.

mod groups;
mod live_run;
mod names;
pub(crate) mod run;

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Engine, Match};

use crate::pair::Pair;
use crate::recent::live_run::LiveRun;
use crate::recent::names::RecentNames;

/// Pairs of the tail, at most: few enough to be compared one by one, and copied by every write.
const MAX_TAIL: usize = 256;

/// Recent pairs, some of them perhaps more than once. Cloning is cheap, and a clone never changes.
#[derive(Debug)]
pub(crate) struct Recent<F> {
    distance: u32,
    tail: Arc<Vec<Pair<F>>>,
    /// From the oldest and longest to the newest.
    runs: Arc<Vec<LiveRun<F>>>,
    /// Of all ids that have been inserted, also of those that have gone since.
    pub(crate) names: RecentNames,
}

impl<F> Clone for Recent<F> {
    fn clone(&self) -> Self {
        Self {
            distance: self.distance,
            tail: Arc::clone(&self.tail),
            runs: Arc::clone(&self.runs),
            names: self.names.clone(),
        }
    }
}

impl<F: Engine> Recent<F> {
    /// Nothing yet; to be searched at up to `distance`.
    pub(crate) fn new(distance: u32) -> Self {
        Self { distance, tail: Arc::default(), runs: Arc::default(), names: RecentNames::default() }
    }

    /// Whether nothing has been inserted or removed between the two.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tail, &other.tail) && Arc::ptr_eq(&self.runs, &other.runs)
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
        let runs = Arc::make_mut(&mut self.runs);
        runs.push(LiveRun::of(&sorted, self.distance));
        carry(runs, self.distance);
    }

    /// Removes a pair, wherever it is held. Returns whether it was there.
    pub(crate) fn remove(&mut self, pair: Pair<F>) -> bool {
        let mut was_there = false;
        if self.tail.contains(&pair) {
            Arc::make_mut(&mut self.tail).retain(|&other| other != pair);
            was_there = true;
        }
        for number in 0..self.runs.len() {
            let LiveRun { run, removed } = &self.runs[number];
            if let Some(place) = run.find(pair).filter(|&place| !removed.contains(place)) {
                Arc::make_mut(&mut self.runs)[number].removed.insert(place);
                was_there = true;
            }
        }
        was_there
    }

    /// Whether a fingerprint is there.
    pub(crate) fn contains_fingerprint(&self, value: F) -> bool {
        let is_in = |LiveRun { run, removed }: &LiveRun<F>| removed.leaves_some_of(run.places(value));
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
        self.runs.iter().try_for_each(|LiveRun { run, removed }| {
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
        for LiveRun { run, removed } in &*self.runs {
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
        self.sequences_from(F::ZERO).into_iter().for_each(|sequence| pairs.extend(sequence));
        // Sequences in order are merged, not sorted anew.
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

/// Merges runs until each is more than twice as long as the next.
fn carry<F: Engine>(runs: &mut Vec<LiveRun<F>>, distance: u32) {
    let mut first = runs.len() - 1;
    let mut length = runs[first].len();
    while first > 0 && runs[first - 1].len() <= 2 * length {
        first -= 1;
        length += runs[first].len();
    }
    if first + 1 < runs.len() {
        let mut pairs: Vec<Pair<F>> = Vec::with_capacity(length as usize);
        runs[first..].iter().for_each(|live| pairs.extend(live.pairs_from(F::ZERO)));
        // Runs are in order, and are merged, not sorted anew.
        pairs.sort();
        pairs.dedup();
        runs.truncate(first);
        runs.push(LiveRun::of(&pairs, distance));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hamdex::Fingerprint;
    use proptest::prelude::*;

    use super::*;

    fn near<F: Engine>(recent: &Recent<F>, query: F, distance: u32) -> Vec<F> {
        let mut found = Vec::new();
        let outcome = recent.for_each(query, distance, |value| {
            found.push(value);
            ControlFlow::Continue(())
        });
        assert!(outcome.is_continue());
        found.sort_unstable();
        found.dedup();
        found
    }

    fn assert_holds(recent: &Recent<u64>, model: &BTreeSet<Pair<u64>>, queries: &[u64]) {
        assert_eq!(recent.to_sorted(), model.iter().copied().collect::<Vec<_>>());
        for &query in queries {
            for distance in [0, 3, 5] {
                let mut expected: Vec<u64> =
                    model.iter().map(|pair| pair.0).filter(|f| f.distance(query) <= distance).collect();
                expected.dedup();
                assert_eq!(near(recent, query, distance), expected);
            }
            let mut ids = Vec::new();
            recent.append_ids(query, &mut ids);
            ids.sort_unstable();
            ids.dedup();
            let expected: Vec<u64> = model.iter().filter(|pair| pair.0 == query).map(|pair| pair.1).collect();
            assert_eq!(ids, expected);
        }
    }

    proptest! {
        #[test]
        fn recent_pairs_are_a_set_of_which_copies_stay_as_they_are(
            steps in prop::collection::vec(
                (any::<bool>(), prop::collection::vec((0u64..512, 0u64..3), 1..200)), 1..12),
            snapshot_after in 0usize..12,
            queries in prop::collection::vec(0u64..512, 1..5),
        ) {
            // Spread over the width, and near to each other.
            let spread = |low: u64| low << 55 | low;
            let queries: Vec<u64> = queries.into_iter().map(spread).collect();
            let (mut recent, mut model) = (Recent::new(3), BTreeSet::new());
            let mut snapshot = (recent.clone(), model.clone());
            for (number, (is_insert, pairs)) in steps.into_iter().enumerate() {
                let pairs: Vec<Pair<u64>> = pairs.into_iter().map(|(low, id)| (spread(low), id)).collect();
                if is_insert {
                    recent.insert(&pairs);
                    model.extend(&pairs);
                } else {
                    for pair in pairs {
                        prop_assert_eq!(recent.remove(pair), model.remove(&pair));
                    }
                }
                if number == snapshot_after {
                    snapshot = (recent.clone(), model.clone());
                }
                assert_holds(&recent, &model, &queries);
            }
            assert_holds(&snapshot.0, &snapshot.1, &queries);
        }
    }

    #[test]
    fn there_are_few_runs() {
        let mut recent = Recent::<u64>::new(3);
        for number in 0..100_000u64 {
            recent.insert(&[(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number)]);
        }
        assert_eq!(recent.len(), 100_000);
        assert!(recent.runs.len() <= 10, "{}", recent.runs.len());
        assert!(recent.runs.windows(2).all(|pair| pair[0].len() > 2 * pair[1].len()));
    }
}
