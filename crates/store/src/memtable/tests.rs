//! The memtable against a model: steps in any order, merges meanwhile.

use std::collections::BTreeSet;

use hamdex::Fingerprint;
use proptest::prelude::*;

use super::*;
use crate::memtable::consolidate::{Consolidated, Consolidation};

fn near<F: Fingerprint>(memtable: &Memtable<F>, query: F, distance: u32) -> Vec<F> {
    let mut found = Vec::new();
    let outcome = memtable.for_each(query, distance, &mut |value| {
        found.push(value);
        Ok(())
    });
    assert!(outcome.is_ok());
    found.sort_unstable();
    found.dedup();
    found
}

fn assert_holds(memtable: &Memtable<u64>, model: &BTreeSet<Pair<u64>>, queries: &[u64]) {
    assert_eq!(memtable.to_sorted(), model.iter().copied().collect::<Vec<_>>());
    for &query in queries {
        for distance in [0, 3, 5] {
            let mut expected: Vec<u64> =
                model.iter().map(|pair| pair.0).filter(|f| f.distance(query) <= distance).collect();
            expected.dedup();
            assert_eq!(near(memtable, query, distance), expected);
        }
        let mut ids = Vec::new();
        memtable.append_ids(query, &mut ids);
        ids.sort_unstable();
        ids.dedup();
        let expected: Vec<u64> = model.iter().filter(|pair| pair.0 == query).map(|pair| pair.1).collect();
        assert_eq!(ids, expected);
    }
}

fn merged(consolidation: Consolidation<u64>) -> Consolidated<u64> {
    match consolidation.run(&mut || Ok::<_, Stopped>(())) {
        Ok(merged) => merged,
        Err(Stopped) => unreachable!("nothing breaks"),
    }
}

/// Merges all that is due.
fn settle(memtable: &mut Memtable<u64>) {
    while let Some(due) = memtable.consolidation(0) {
        assert!(memtable.adopt(&mut merged(due)));
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
        let new = || Memtable { max_short, ..Memtable::new(3) };
        let (mut memtable, mut model) = (new(), BTreeSet::new());
        let (mut snapshots, mut pending) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Insert(pairs) => {
                    let pairs: Vec<Pair<u64>> = all(pairs).collect();
                    memtable.insert(&pairs);
                    model.extend(pairs);
                }
                Step::Remove(pairs) => {
                    for pair in all(pairs) {
                        prop_assert_eq!(memtable.remove(pair), model.remove(&pair));
                    }
                }
                Step::Snapshot => snapshots.push((memtable.clone(), model.clone())),
                Step::Merge(insertion) => pending.extend(memtable.consolidation(insertion).map(merged)),
                Step::Adopt(_) if pending.is_empty() => {}
                Step::Adopt(newest) => {
                    let mut merged = pending.remove(if newest { pending.len() - 1 } else { 0 });
                    let before = memtable.runs.len();
                    let is_adopted = memtable.adopt(&mut merged);
                    prop_assert_eq!(is_adopted, memtable.runs.len() < before);
                }
                Step::Flush => {
                    snapshots.push((memtable.clone(), model.clone()));
                    (memtable, model) = (new(), BTreeSet::new());
                }
            }
            assert_holds(&memtable, &model, &queries);
        }
        settle(&mut memtable);
        assert_holds(&memtable, &model, &queries);
        for (memtable, model) in &snapshots {
            assert_holds(memtable, model, &queries);
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
        let (mut memtable, mut model) = (Memtable::new(3), BTreeSet::new());
        let mut snapshot = (memtable.clone(), model.clone());
        for (number, (is_insert, pairs)) in steps.into_iter().enumerate() {
            let pairs: Vec<Pair<u64>> = pairs.into_iter().map(|(low, id)| (spread(low), id)).collect();
            if is_insert {
                memtable.insert(&pairs);
                model.extend(&pairs);
            } else {
                for pair in pairs {
                    prop_assert_eq!(memtable.remove(pair), model.remove(&pair));
                }
            }
            if number == snapshot_after {
                snapshot = (memtable.clone(), model.clone());
            }
            assert_holds(&memtable, &model, &queries);
        }
        assert_holds(&snapshot.0, &snapshot.1, &queries);
    }
}

#[test]
fn there_are_few_runs() {
    let mut memtable = Memtable::<u64>::new(3);
    for number in 0..100_000u64 {
        memtable.insert(&[(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number)]);
    }
    assert_eq!(memtable.len(), 100_000);
    assert!(memtable.runs.len() <= 10, "{}", memtable.runs.len());
    assert!(memtable.runs.windows(2).all(|pair| pair[0].len() > 2 * pair[1].len()));
}

#[test]
fn no_run_gets_more_pairs_than_its_places_can_number() {
    let max_run_pairs = 3_000;
    for max_short in [0, 500, usize::MAX] {
        let mut memtable = Memtable { max_short, max_run_pairs, ..Memtable::<u64>::new(3) };
        let mut all: Vec<Pair<u64>> = (0..40_000).map(pair).collect();
        for batch in all.chunks(300) {
            memtable.insert(batch);
            assert!(memtable.runs.iter().all(|live| live.run.len() as u64 <= max_run_pairs), "{max_short}");
        }
        settle(&mut memtable);
        assert!(memtable.runs.iter().all(|live| live.run.len() as u64 <= max_run_pairs), "{max_short}");
        assert_eq!(memtable.overdue_runs(), 0, "{max_short}");
        all.sort_unstable();
        assert_eq!(memtable.to_sorted(), all, "{max_short}");
        assert!(all.iter().all(|&pair| memtable.remove(pair)) && memtable.len() == 0, "{max_short}");
    }
}

#[test]
fn an_insertion_moves_few_pairs_however_many_there_are() {
    for batch in [1, 100, 1000, 6000] {
        let mut memtable = Memtable::<u64>::new(3).with_background_merges();
        let count = 300 * batch.max(1000);
        let (mut moved_by_all, mut most_runs) = (0, 0);
        for first in (0..count).step_by(batch) {
            let before = memtable.clone();
            memtable.insert(&(first as u64..).take(batch).map(pair).collect::<Vec<_>>());
            let is_new =
                |live: &&LiveRun<u64>| !before.runs.iter().any(|other| Arc::ptr_eq(&other.run, &live.run));
            let moved: usize = memtable.runs.iter().filter(is_new).map(|live| live.run.len()).sum();
            assert!(moved <= 2 * MAX_SHORT, "{moved} pairs by a batch of {batch}");
            moved_by_all += moved;
            // The thread comes now and then.
            if first / batch % (count / batch / 8) == 0 {
                settle(&mut memtable);
            }
            most_runs = most_runs.max(memtable.long_runs());
        }
        assert_eq!(memtable.len(), count as u64);
        assert!(moved_by_all <= 8 * count, "{moved_by_all} moved for {count} by batches of {batch}");
        assert!(most_runs <= MAX_RUNS, "{most_runs}");
        settle(&mut memtable);
        assert!(memtable.runs.len() <= 16, "{}", memtable.runs.len());
        let long = memtable.runs.iter().take_while(|live| live.run.len() > MAX_SHORT).count();
        assert!(memtable.runs[..long].windows(2).all(|pair| pair[0].len() > 2 * pair[1].len()));
    }
}

#[test]
fn writers_help_where_nothing_is_merged_in_the_background() {
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    for number in 0..150 {
        let before = memtable.clone();
        // Too long for an insertion to merge.
        memtable.insert(&(10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>());
        let is_new =
            |live: &&LiveRun<u64>| !before.runs.iter().any(|other| Arc::ptr_eq(&other.run, &live.run));
        let moved: u64 = memtable.runs.iter().filter(is_new).map(LiveRun::len).sum();
        assert!(
            moved <= 10_000 + MAX_BACKLOG_PAIRS && memtable.runs.len() <= MAX_RUNS,
            "{}",
            memtable.runs.len()
        );
    }
    assert_eq!(memtable.to_sorted().len(), 1_500_000);

    // Runs that a background merge holds are left to it.
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    let batch = |number: u64| (10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>();
    (0..20).for_each(|number| memtable.insert(&batch(number)));
    let due = memtable.consolidation(0).expect("20 long runs");
    (20..80).for_each(|number| memtable.insert(&batch(number)));
    assert!(memtable.runs.len() <= MAX_RUNS, "{}", memtable.runs.len());
    assert!(memtable.adopt(&mut merged(due)));
    assert_eq!(memtable.runs[0].run.len(), 200_000);
}

#[test]
fn removals_meanwhile_are_carried_over() {
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    let long: Vec<Pair<u64>> = (0..20_000).map(pair).collect();
    memtable.insert(&long[..10_000]);
    memtable.insert(&long[10_000..]);
    assert!(memtable.remove(long[5]));
    let mut of_two = merged(memtable.consolidation(0).expect("two long runs"));
    let mut of_none = merged(memtable.consolidation(0).expect("two long runs"));
    let before = memtable.clone();
    // More than are kept apart for a short time, then a few.
    (0..15_000).for_each(|number| assert_eq!(memtable.remove(long[number]), number != 5));
    assert_eq!(of_two.catch_up(&memtable), Some(14_999));
    assert!(memtable.remove(long[19_999]));
    assert!(memtable.adopt(&mut of_two));
    assert_eq!((memtable.runs.len(), memtable.len(), before.len()), (1, 4999, 19_999));
    assert_eq!(memtable.runs[0].run.len(), 19_999);
    assert!(!memtable.remove(long[14_999]) && memtable.remove(long[15_000]));
    assert!(!memtable.adopt(&mut of_none), "its runs have gone");
    // A merged run without remaining pairs.
    let mut gone = merged(before.consolidation(0).expect("the same as before"));
    let mut memtable = before;
    long.iter().for_each(|&pair| assert!(memtable.remove(pair) || pair == long[5]));
    assert!(memtable.adopt(&mut gone) && memtable.runs.is_empty());
    // After a flush, nothing happens.
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    assert!(!memtable.adopt(&mut gone) && memtable.runs.is_empty());
}

#[test]
fn a_merge_can_be_cancelled_at_each_pause() {
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    (0..3u64).for_each(|part| {
        memtable.insert(&(50_000 * part..50_000 * (part + 1)).map(pair).collect::<Vec<_>>());
    });
    let run = |pauses: usize| {
        let mut left = pauses;
        let outcome = memtable.consolidation(0).expect("three long runs").run(&mut || {
            let next = left.checked_sub(1);
            left = next.unwrap_or(0);
            next.map_or(Err(Stopped), |_| Ok(()))
        });
        (outcome.is_err(), pauses - left)
    };
    let (is_break, pauses) = run(1000);
    assert!(!is_break && pauses > 10, "{pauses}");
    assert!((0..pauses).all(|pauses| run(pauses).0));
}

#[test]
fn what_has_come_since_is_found_whatever_has_been_merged() {
    let mut memtable = Memtable::<u64>::new(3).with_background_merges();
    let batch = |number: u64| (10_000 * number..10_000 * (number + 1)).map(pair).collect::<Vec<_>>();
    (0..5).for_each(|number| memtable.insert(&batch(number)));
    let before = memtable.clone();
    settle(&mut memtable);
    assert!(memtable.remove(pair(1)) && memtable.since(&before).is_none());
    memtable.insert(&batch(5));
    memtable.insert(&[pair(60_000)]);
    let mut expected = batch(5);
    expected.push(pair(60_000));
    expected.sort_unstable();
    assert_eq!(memtable.since(&before).map(|since| since.to_sorted()), Some(expected));
    settle(&mut memtable);
    let since = memtable.since(&before).expect("two insertions");
    assert!((50_000..60_001).all(|number| since.contains_fingerprint(pair(number).0)));
}
