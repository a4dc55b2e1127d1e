//! Replacement unless something else is near, as a plain list does it one record after the other: crowded in few
//! fingerprints, few ids and few names.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::{CreateOptions, Durability, Error, Inserted, Near, Operation, Store, StoreOptions, When};

use crate::common::{Chance, seeds, shape, tiny};

const DISTANCE: u32 = 3;

/// A fingerprint near one of a few centres.
fn crowded(chance: &mut Chance) -> u64 {
    let centre = [0, u64::MAX, 0x0123_4567_89ab_cdef][chance.below(3) as usize];
    (0..chance.below(4)).fold(centre, |value, _| value ^ 1 << chance.below(16))
}

/// A record that was refused: the nearest fingerprint, and the labels of it that are not its own.
type Refused<L> = Option<(u32, u64, Vec<L>)>;

/// Replaces by the definition. A fingerprint can have a label several times.
fn replace<L: Ord + Clone>(model: &mut Vec<(u64, L)>, batch: &[(u64, L)]) -> Vec<Refused<L>> {
    let mut outcomes = Vec::new();
    for (value, label) in batch {
        let others = || model.iter().filter(|(_, other)| other != label);
        let nearest = others().map(|(other, _)| (other.distance(*value), *other)).min();
        let nearest = nearest.filter(|(distance, _)| *distance <= DISTANCE);
        outcomes.push(nearest.map(|(distance, found)| {
            let mut labels: Vec<L> =
                others().filter(|(other, _)| *other == found).map(|(_, label)| label.clone()).collect();
            labels.sort();
            (distance, found, labels)
        }));
        if nearest.is_none() {
            model.retain(|(_, other)| other != label);
            model.push((*value, label.clone()));
        }
    }
    outcomes
}

/// Writes and maintenance that happen between replacements.
fn maintain(store: Store<u64>, disk: &SimulatedDisk, chance: &mut Chance) -> Store<u64> {
    match chance.below(8) {
        0 => store.flush().unwrap(),
        1 => store.compact().unwrap(),
        2 => {
            store.close().unwrap();
            return Store::open_on(disk.clone(), tiny()).unwrap();
        }
        _ => {}
    }
    store
}

fn run_with_ids(seed: u64) {
    let mut chance = Chance(seed);
    let disk = SimulatedDisk::new();
    let mut store = Store::create_on(disk.clone(), &shape(true).lookups(true), tiny()).unwrap();
    let mut model: Vec<(u64, u64)> = Vec::new();
    for _ in 0..60 {
        let most = if chance.below(4) == 0 { 150 } else { 12 };
        let length = 1 + chance.below(most);
        let uniform = chance.below(2) == 0;
        let batch: Vec<(u64, u64)> = (0..length)
            .map(|_| {
                let value = if uniform { chance.next() } else { crowded(&mut chance) };
                (value, chance.below(if uniform { 200 } else { 6 }))
            })
            .collect();
        if chance.below(4) == 0 {
            store.write(batch.iter().map(|&(value, id)| Operation::Insert(value, id)).collect()).unwrap();
            model.extend(&batch);
            model.sort_unstable();
            model.dedup();
        } else {
            let before: BTreeSet<(u64, u64)> = model.iter().copied().collect();
            let expected = replace(&mut model, &batch);
            let written = store.put(&batch, When::unless_near(DISTANCE).replacing()).unwrap();
            let outcomes = &written.outcomes;
            for ((outcome, expected), &(_, id)) in outcomes.iter().zip(expected).zip(&batch) {
                match (outcome, expected) {
                    (Inserted::New { id: given }, None) => assert_eq!(*given, id),
                    (Inserted::Near(near), Some(expected)) => {
                        let (distance, fingerprint, mut ids) = expected;
                        assert_eq!(near.all_ids, ids.len() as u64);
                        ids.truncate(Near::<u64>::MAX_IDS);
                        assert_eq!(
                            (near.distance, near.fingerprint, &near.ids),
                            (distance, fingerprint, &ids)
                        );
                    }
                    (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
                }
            }
            assert_eq!(outcomes.len(), batch.len());
            let change = model.len() as i64 - before.len() as i64;
            assert_eq!(written.inserted as i64 - written.removed as i64, change);
        }
        store = maintain(store, &disk, &mut chance);
        let stored: Vec<(u64, u64)> = store.snapshot().pairs_in_order().map(Result::unwrap).collect();
        model.sort_unstable();
        assert_eq!(stored, model);
    }
}

#[test]
fn a_pair_is_not_near_to_the_pairs_that_it_replaces() {
    seeds(0..8).for_each(run_with_ids);
}

fn run_with_names(seed: u64) {
    let mut chance = Chance(seed);
    let disk = SimulatedDisk::new();
    let mut store = Store::create_on(disk.clone(), &shape(true).names(true).lookups(true), tiny()).unwrap();
    let mut model: Vec<(u64, Vec<u8>)> = Vec::new();
    for _ in 0..50 {
        let most = if chance.below(4) == 0 { 120 } else { 12 };
        let length = 1 + chance.below(most);
        let names = 1 + chance.below(6);
        let batch: Vec<(u64, Vec<u8>)> = (0..length)
            .map(|_| (crowded(&mut chance), format!("page {}", chance.below(names)).into_bytes()))
            .collect();
        if chance.below(4) == 0 {
            store.put(&batch, When::always()).unwrap();
            model.extend(batch);
        } else {
            let expected = replace(&mut model, &batch);
            let outcomes = store.put(&batch, When::unless_near(DISTANCE).replacing()).unwrap().outcomes;
            assert_eq!(outcomes.len(), expected.len());
            for (outcome, expected) in outcomes.iter().zip(expected) {
                let Some((distance, fingerprint, mut left)) = expected else {
                    assert!(outcome.is_new());
                    continue;
                };
                let near = outcome.near().unwrap();
                assert_eq!((near.distance, near.fingerprint), (distance, fingerprint));
                // The first ids have names; the model does not know which these are.
                assert_eq!(near.all_ids, left.len() as u64);
                assert_eq!(near.names.len(), left.len().min(Near::<u64>::MAX_IDS));
                for name in &near.names {
                    let place = left.iter().position(|other| **other == **name);
                    left.swap_remove(place.expect("a name of another record"));
                }
            }
        }
        store = maintain(store, &disk, &mut chance);
        let snapshot = store.snapshot();
        let mut stored: Vec<(u64, Vec<u8>)> = snapshot
            .pairs_in_order()
            .map(Result::unwrap)
            .map(|(value, id)| (value, snapshot.name(id).unwrap().unwrap().to_vec()))
            .collect();
        stored.sort();
        model.sort();
        assert_eq!(stored, model);
    }
}

#[test]
fn a_page_that_is_crawled_again_is_not_near_to_itself() {
    seeds(0..8).for_each(run_with_names);
}

#[test]
fn one_name_with_many_records_is_replaced_twice_in_one_batch() {
    let disk = SimulatedDisk::new();
    let create = shape(true).names(true).lookups(true);
    let store = Store::<u64>::create_on(disk.clone(), &create, tiny()).unwrap();
    let many: Vec<(u64, &str)> = (0..3000).map(|number| (number % 64, "404")).collect();
    store.put(&many, When::always()).unwrap();
    store.compact().unwrap();
    store.put(&many, When::always()).unwrap();
    // Alone among others nothing is near to it; "home" is near to what is left.
    let written = store
        .put([(1, "404"), (2, "404"), (3, "home"), (1 << 20, "404")], When::unless_near(3).replacing())
        .unwrap();
    let outcomes = &written.outcomes;
    let new: Vec<bool> = outcomes.iter().map(Inserted::is_new).collect();
    assert_eq!(new, [true, true, false, true]);
    let near = outcomes[2].near().unwrap();
    assert_eq!((near.fingerprint, near.names.len(), &*near.names[0]), (2, 1, &b"404"[..]));
    assert_eq!((written.inserted, written.removed), (3, 6002));
    drop(store);
    let store = Store::<u64>::open_on(disk, tiny()).unwrap();
    let left: Vec<u64> = store.snapshot().pairs_in_order().map(|pair| pair.unwrap().0).collect();
    assert_eq!(left, [1 << 20]);
}

#[test]
fn concurrent_replacements_leave_no_two_ids_near_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions::new().durability(Durability::None);
    let create = CreateOptions::new().lookups(true);
    let store = Store::<u64>::create(directory.path().join("s"), &create, options).unwrap();
    thread::scope(|scope| {
        for thread in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                let mut chance = Chance(thread);
                for round in 0..150 {
                    let batch: Vec<(u64, u64)> =
                        (0..1 + chance.below(20)).map(|_| (crowded(&mut chance), chance.below(12))).collect();
                    store.put(&batch, When::unless_near(DISTANCE).replacing()).unwrap();
                    if round % 40 == thread {
                        store.flush().unwrap();
                    }
                }
            });
        }
    });
    let pairs: Vec<(u64, u64)> = store.snapshot().pairs_in_order().map(Result::unwrap).collect();
    let mut of_id = BTreeMap::new();
    for &(value, id) in &pairs {
        assert_eq!(of_id.insert(id, value), None, "{id} has two fingerprints");
        let near = pairs.iter().find(|&&(other, by)| by != id && other.distance(value) <= DISTANCE);
        assert_eq!(near, None);
    }
    assert!(!pairs.is_empty());
}

#[test]
fn a_replacement_ends_at_its_deadline_without_effect() {
    let create = shape(true).lookups(true);
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &create, tiny()).unwrap();
    store.put([(1, 1)], When::always().replacing()).unwrap();
    store.flush().unwrap();
    for records in [1, 2, 500] {
        let batch: Vec<(u64, u64)> = (0..records).map(|number| (number << 40, number / 2)).collect();
        let outcome = store.with_deadline(Instant::now()).put(&batch, When::unless_near(3).replacing());
        assert!(matches!(outcome, Err(Error::TimedOut { .. })), "{outcome:?}");
        let pairs: Vec<_> = store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap();
        assert_eq!(pairs, [(1, 1)]);
    }
}

#[test]
fn a_store_without_look_ups_refuses() {
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true), tiny()).unwrap();
    assert!(matches!(store.put([(1, 1)], When::unless_near(3).replacing()), Err(Error::NoLookups { .. })));
    assert!(matches!(store.put([(1, "a")], When::unless_near(3).replacing()), Err(Error::Names { .. })));
}
