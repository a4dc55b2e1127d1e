//! Recent writes, in memory: found at once, and never changed in place.
//!
//! - [`groups`]: the groups of bits by which fingerprints are bucketed
//! - [`run`]: many pairs in buckets
//! - [`live_run`]: the same, of which pairs can be removed
//! - [`consolidate`]: merging runs beside further writes
//! - [`names`]: what ids are called
//!
//! The newest pairs are a short unsorted list, the tail, which every write copies. A full tail becomes a run; runs
//! of about equal size become one, as digits of a binary counter carry. So a pair is moved a logarithmic number of
//! times, a query looks into a logarithmic number of runs, and whoever holds a copy sees what was there when it was
//! taken.
//!
//! In a store that is written to, a writer merges short runs only. Longer ones are merged in the background, by the same
//! rule, and take the place of the merged ones when that is done. So the work of a write does not grow with memory.

pub(crate) mod consolidate;
mod groups;
mod live_run;
mod names;
pub(crate) mod run;

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{Fingerprint, Match};

use crate::pair::Pair;
use crate::recent::consolidate::merge_at_once;
use crate::recent::live_run::LiveRun;
use crate::recent::names::RecentNames;

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

/// Recent pairs, some of them perhaps more than once. Cloning is cheap, and a clone never changes.
#[derive(Debug)]
pub(crate) struct Recent<F> {
    distance: u32,
    /// Pairs of a run that an insertion merges with others, at most.
    max_short: usize,
    /// Counts insertions.
    insertions: u64,
    tail: Arc<Vec<Pair<F>>>,
    /// From the oldest to the newest; from the longest to the shortest, unless some are to be merged.
    runs: Arc<Vec<LiveRun<F>>>,
    /// Of all ids that have been inserted, also of those that have gone since.
    pub(crate) names: RecentNames,
}

impl<F> Clone for Recent<F> {
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

impl<F: Fingerprint> Recent<F> {
    /// Nothing yet; to be searched at up to `distance`. Every insertion merges all runs that are due.
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            distance,
            max_short: usize::MAX,
            insertions: 0,
            tail: Arc::default(),
            runs: Arc::default(),
            names: RecentNames::default(),
        }
    }

    /// Leaves long runs to be merged in the background from now on: see [`Recent::consolidation`].
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
mod tests {
    use std::collections::BTreeSet;

    use hamdex::Fingerprint;
    use proptest::prelude::*;

    use super::*;
    use crate::recent::consolidate::{Consolidated, Consolidation};

    fn near<F: Fingerprint>(recent: &Recent<F>, query: F, distance: u32) -> Vec<F> {
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

    fn merged(consolidation: Consolidation<u64>) -> Consolidated<u64> {
        match consolidation.run(&mut || ControlFlow::<()>::Continue(())) {
            ControlFlow::Continue(merged) => merged,
            ControlFlow::Break(()) => unreachable!("nothing breaks"),
        }
    }

    /// Merges all that is due.
    fn settle(recent: &mut Recent<u64>) {
        while let Some(due) = recent.consolidation(0) {
            assert!(recent.adopt(&mut merged(due)));
        }
    }

    /// Different numbers, spread over the width.
    fn pair(number: u64) -> Pair<u64> {
        (number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number)
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(Vec<(u64, u64)>),
        Remove(Vec<(u64, u64)>),
        Snapshot,
        /// Merges runs that are due after an insertion, while other steps come.
        Merge(u64),
        /// Adopts what has been merged, the newest or the oldest of it first.
        Adopt(bool),
        Flush,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let pairs = |most| prop::collection::vec((0u64..512, 0u64..3), 1..most);
        let step = prop_oneof![
            6 => pairs(700).prop_map(Step::Insert),
            2 => pairs(300).prop_map(Step::Remove),
            1 => Just(Step::Snapshot),
            3 => (0u64..10).prop_map(Step::Merge),
            3 => any::<bool>().prop_map(Step::Adopt),
            1 => Just(Step::Flush),
        ];
        prop::collection::vec(step, 1..40)
    }

    proptest! {
        #[test]
        fn merging_beside_other_steps_changes_nothing_but_the_runs(
            steps in steps(),
            max_short in 0usize..1000,
            queries in prop::collection::vec(0u64..512, 1..3),
        ) {
            let spread = |low: u64| low << 55 | low;
            let all = |pairs: Vec<(u64, u64)>| pairs.into_iter().map(move |(low, id)| (spread(low), id));
            let queries: Vec<u64> = queries.into_iter().map(spread).collect();
            let new = || Recent { max_short, ..Recent::new(3) };
            let (mut recent, mut model) = (new(), BTreeSet::new());
            let (mut snapshots, mut pending) = (Vec::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Insert(pairs) => {
                        let pairs: Vec<Pair<u64>> = all(pairs).collect();
                        recent.insert(&pairs);
                        model.extend(pairs);
                    }
                    Step::Remove(pairs) => {
                        for pair in all(pairs) {
                            prop_assert_eq!(recent.remove(pair), model.remove(&pair));
                        }
                    }
                    Step::Snapshot => snapshots.push((recent.clone(), model.clone())),
                    Step::Merge(insertion) => pending.extend(recent.consolidation(insertion).map(merged)),
                    Step::Adopt(_) if pending.is_empty() => {}
                    Step::Adopt(newest) => {
                        let mut merged = pending.remove(if newest { pending.len() - 1 } else { 0 });
                        let before = recent.runs.len();
                        let is_adopted = recent.adopt(&mut merged);
                        prop_assert_eq!(is_adopted, recent.runs.len() < before);
                    }
                    Step::Flush => {
                        snapshots.push((recent.clone(), model.clone()));
                        (recent, model) = (new(), BTreeSet::new());
                    }
                }
                assert_holds(&recent, &model, &queries);
            }
            settle(&mut recent);
            assert_holds(&recent, &model, &queries);
            for (recent, model) in &snapshots {
                assert_holds(recent, model, &queries);
            }
        }

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
    #[test]
    fn an_insertion_moves_few_pairs_however_many_there_are() {
        for batch in [1, 100, 1000, 6000] {
            let mut recent = Recent::<u64>::new(3).deferring();
            let count = 300 * batch.max(1000);
            let (mut moved_by_all, mut most_runs) = (0, 0);
            for first in (0..count).step_by(batch) {
                let before = recent.clone();
                recent.insert(&(first as u64..).take(batch).map(pair).collect::<Vec<_>>());
                let is_new = |live: &&LiveRun<u64>| {
                    !before.runs.iter().any(|other| Arc::ptr_eq(&other.run, &live.run))
                };
                let moved: usize = recent.runs.iter().filter(is_new).map(|live| live.run.len()).sum();
                assert!(moved <= 2 * MAX_SHORT, "{moved} pairs by a batch of {batch}");
                moved_by_all += moved;
                // The thread comes now and then.
                if first / batch % (count / batch / 8) == 0 {
                    settle(&mut recent);
                }
                most_runs = most_runs.max(recent.long_runs());
            }
            assert_eq!(recent.len(), count as u64);
            assert!(moved_by_all <= 8 * count, "{moved_by_all} moved for {count} by batches of {batch}");
            assert!(most_runs <= MAX_RUNS, "{most_runs}");
            settle(&mut recent);
            assert!(recent.runs.len() <= 16, "{}", recent.runs.len());
            let long = recent.runs.iter().take_while(|live| live.run.len() > MAX_SHORT).count();
            assert!(recent.runs[..long].windows(2).all(|pair| pair[0].len() > 2 * pair[1].len()));
        }
    }

    #[test]
    fn writers_help_where_nothing_is_merged_in_the_background() {
        let mut recent = Recent::<u64>::new(3).deferring();
        for number in 0..150 {
            let before = recent.clone();
            // Too long for an insertion to merge.
            recent.insert(&(10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>());
            let is_new =
                |live: &&LiveRun<u64>| !before.runs.iter().any(|other| Arc::ptr_eq(&other.run, &live.run));
            let moved: u64 = recent.runs.iter().filter(is_new).map(LiveRun::len).sum();
            assert!(moved <= 10_000 + MAX_HELP && recent.runs.len() <= MAX_RUNS, "{}", recent.runs.len());
        }
        assert_eq!(recent.to_sorted().len(), 1_500_000);

        // What the background has in hand is left to it.
        let mut recent = Recent::<u64>::new(3).deferring();
        let batch = |number: u64| (10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>();
        (0..20).for_each(|number| recent.insert(&batch(number)));
        let due = recent.consolidation(0).expect("20 long runs");
        (20..80).for_each(|number| recent.insert(&batch(number)));
        assert!(recent.runs.len() <= MAX_RUNS, "{}", recent.runs.len());
        assert!(recent.adopt(&mut merged(due)));
        assert_eq!(recent.runs[0].run.len(), 200_000);
    }

    #[test]
    fn removals_meanwhile_are_carried_over() {
        let mut recent = Recent::<u64>::new(3).deferring();
        let long: Vec<Pair<u64>> = (0..20_000).map(pair).collect();
        recent.insert(&long[..10_000]);
        recent.insert(&long[10_000..]);
        assert!(recent.remove(long[5]));
        let mut of_two = merged(recent.consolidation(0).expect("two long runs"));
        let mut of_none = merged(recent.consolidation(0).expect("two long runs"));
        let before = recent.clone();
        // More than are kept apart for a short time, then a few.
        (0..15_000).for_each(|number| assert_eq!(recent.remove(long[number]), number != 5));
        assert_eq!(of_two.catch_up(&recent), Some(14_999));
        assert!(recent.remove(long[19_999]));
        assert!(recent.adopt(&mut of_two));
        assert_eq!((recent.runs.len(), recent.len(), before.len()), (1, 4999, 19_999));
        assert_eq!(recent.runs[0].run.len(), 19_999);
        assert!(!recent.remove(long[14_999]) && recent.remove(long[15_000]));
        assert!(!recent.adopt(&mut of_none), "its runs have gone");
        // Nothing is left of what is adopted now.
        let mut gone = merged(before.consolidation(0).expect("the same as before"));
        let mut recent = before;
        long.iter().for_each(|&pair| assert!(recent.remove(pair) || pair == long[5]));
        assert!(recent.adopt(&mut gone) && recent.runs.is_empty());
        // After a flush, nothing happens.
        let mut recent = Recent::<u64>::new(3).deferring();
        assert!(!recent.adopt(&mut gone) && recent.runs.is_empty());
    }

    #[test]
    fn a_merge_can_be_cancelled_at_each_pause() {
        let mut recent = Recent::<u64>::new(3).deferring();
        (0..3u64).for_each(|part| {
            recent.insert(&(50_000 * part..50_000 * (part + 1)).map(pair).collect::<Vec<_>>());
        });
        let run = |pauses: usize| {
            let mut left = pauses;
            let outcome = recent.consolidation(0).expect("three long runs").run(&mut || {
                let next = left.checked_sub(1);
                left = next.unwrap_or(0);
                next.map_or(ControlFlow::Break(()), |_| ControlFlow::Continue(()))
            });
            (outcome.is_break(), pauses - left)
        };
        let (is_break, pauses) = run(1000);
        assert!(!is_break && pauses > 10, "{pauses}");
        assert!((0..pauses).all(|pauses| run(pauses).0));
    }

    #[test]
    fn what_has_come_since_is_found_whatever_has_been_merged() {
        let mut recent = Recent::<u64>::new(3).deferring();
        let batch = |number: u64| (10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>();
        (0..5).for_each(|number| recent.insert(&batch(number)));
        let before = recent.clone();
        settle(&mut recent);
        assert!(recent.remove(pair(1)) && recent.since(&before).is_none());
        recent.insert(&batch(5));
        recent.insert(&[pair(60_000)]);
        let mut expected = batch(5);
        expected.push(pair(60_000));
        expected.sort_unstable();
        assert_eq!(recent.since(&before).map(|since| since.to_sorted()), Some(expected));
        settle(&mut recent);
        let since = recent.since(&before).expect("two insertions");
        assert!((50_000..60_001).all(|number| since.contains_fingerprint(pair(number).0)));
    }
}
