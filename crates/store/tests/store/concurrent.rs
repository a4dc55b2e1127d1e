//! Concurrent threads.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex::Fingerprint;
use hamdex_store::{Inserted, Operation, Store, When};

use crate::common::{Chance, Model, assert_same, shape, tiny};

#[test]
fn writers_readers_and_merges_do_not_disturb_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), tiny()).unwrap();
    let is_over = AtomicBool::new(false);
    let models: Vec<Model<u64>> = thread::scope(|scope| {
        for reader in 0..2 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let mut chance = Chance(1000 + reader);
                while !is_over.load(Ordering::Relaxed) {
                    // A snapshot answers all questions as one and the same set.
                    let snapshot = store.snapshot();
                    let model = Model(snapshot.pairs_in_order().collect::<Result<_, _>>().unwrap());
                    assert_same(&snapshot, &model, &[chance.fingerprint()], true);
                }
            });
        }
        let writers: Vec<_> = (0..4u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    // Each has ids of its own, so that the end does not depend on the order.
                    let (mut chance, mut model) = (Chance(writer), Model::default());
                    for _ in 0..60 {
                        let count = 1 + chance.below(100);
                        let own = |operation| match operation {
                            Operation::Insert(fingerprint, id) => {
                                Operation::Insert(fingerprint, id * 4 + writer)
                            }
                            Operation::Remove(fingerprint, id) => {
                                Operation::Remove(fingerprint, id * 4 + writer)
                            }
                        };
                        let operations: Vec<_> =
                            chance.operations(count, true).into_iter().map(own).collect();
                        model.apply(&operations);
                        store.write(operations).unwrap();
                    }
                    model
                })
            })
            .collect();
        let models = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        models
    });
    let all = Model(models.into_iter().flat_map(|model| model.0).collect());
    assert_same(&store.snapshot(), &all, &[0, u64::MAX], true);
    drop(store);
    let store = Store::<u64>::open(directory.path().join("s"), tiny()).unwrap();
    assert_same(&store.snapshot(), &all, &[0, u64::MAX], true);
}

#[test]
fn writers_who_wait_for_room_go_on_whoever_makes_it() {
    let directory = tempfile::tempdir().unwrap();
    let options = tiny().durability(hamdex_store::Durability::None);
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), options).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_over, flusher) = (&is_over, &store);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                flusher.flush().unwrap();
            }
        });
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    let mut chance = Chance(writer);
                    for number in 0..60 {
                        let batch = (0..400).map(|_| Operation::Insert(chance.next(), number)).collect();
                        store.write(batch).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.snapshot().pairs_in_order().count(), 2 * 60 * 400);
}

#[test]
fn of_those_that_are_near_to_each_other_exactly_one_is_inserted() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), tiny()).unwrap();
    let inserted: Vec<u64> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    let (mut chance, mut inserted) = (Chance(writer), Vec::new());
                    let mut batches = [1, 1, 90, 1, 20].into_iter().cycle();
                    let mut number = 0;
                    while number < 800 {
                        let batch: Vec<(u64, u64)> = (number..number + batches.next().unwrap())
                            .map(|id| (chance.fingerprint() ^ chance.below(256) << 52, id * 4 + writer))
                            .collect();
                        number += batch.len() as u64;
                        let outcomes = store.put(&batch, When::unless_near(3)).unwrap().outcomes;
                        for (pair, outcome) in batch.iter().zip(outcomes) {
                            match outcome {
                                Inserted::New { .. } => inserted.push(pair.0),
                                Inserted::Near(near) => assert!(near.distance <= 3 && !near.ids.is_empty()),
                                Inserted::Similar(_) => unreachable!("no texts are compared"),
                            }
                        }
                    }
                    inserted
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    for (at, a) in inserted.iter().enumerate() {
        assert!(inserted[at + 1..].iter().all(|b| a.distance(*b) > 3), "two that are near are both there");
    }
    let there: BTreeSet<u64> = store.snapshot().pairs_in_order().map(|pair| pair.unwrap().0).collect();
    assert_eq!(there, inserted.into_iter().collect());
}

#[test]
fn what_is_near_is_named_by_its_ids_while_others_remove_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), tiny()).unwrap();
    let is_over = AtomicBool::new(false);
    let centres: Vec<u64> = (0..8).map(|number| Chance(number).next()).collect();
    thread::scope(|scope| {
        for seed in 0..2 {
            let (store, is_over, centres) = (&store, &is_over, &centres);
            scope.spawn(move || {
                let mut chance = Chance(seed);
                while !is_over.load(Ordering::Relaxed) {
                    let centre = centres[chance.below(8) as usize];
                    if chance.below(4) == 0 {
                        store.flush().unwrap();
                    }
                    store.remove_fingerprint(centre).unwrap();
                }
            });
        }
        let mut near = 0;
        for id in 0..8000u64 {
            let centre = centres[(id % 8) as usize];
            match store.insert_unless_near(centre, id, 3).unwrap() {
                Inserted::New { id: given } => assert_eq!(given, id),
                // As long as it is there it has the id with which it was inserted last.
                Inserted::Near(found) => {
                    assert_eq!((found.fingerprint, found.distance, found.ids.len()), (centre, 0, 1));
                    assert!(found.ids[0] < id && found.ids[0] % 8 == id % 8);
                    near += 1;
                }
                Inserted::Similar(_) => unreachable!("no texts are compared"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(near > 0, "the others were always first");
    });
}

#[test]
fn a_named_pair_has_the_id_and_the_near_one_the_name_that_it_was_given() {
    let directory = tempfile::tempdir().unwrap();
    let create = shape(true).names(true);
    let store = Store::<u64>::create(directory.path().join("s"), &create, tiny()).unwrap();
    let outcomes =
        store.put([(0xff, "a"), (0xfe, "b"), (0xff00, "c")], When::unless_near(1)).unwrap().outcomes;
    assert_eq!(outcomes.iter().map(Inserted::id).collect::<Vec<_>>(), [Some(0), None, Some(1)]);
    let near = outcomes[1].near().unwrap();
    assert_eq!((&near.ids[..], &*near.names[0]), (&[0][..], &b"a"[..]));
    store.flush().unwrap();
    store.put([(0xff, "again")], When::always()).unwrap();
    for outcome in store.put([(0xfd, "d"), (0xff00_0000, "e")], When::unless_near(1)).unwrap().outcomes {
        match outcome {
            Inserted::New { id } => assert_eq!(store.snapshot().name(id).unwrap(), Some(&b"e"[..])),
            Inserted::Near(near) => {
                assert_eq!(near.ids, [0, 2]);
                assert_eq!(near.names.iter().map(|name| &**name).collect::<Vec<_>>(), [&b"a"[..], b"again"]);
            }
            Inserted::Similar(_) => unreachable!("no texts are compared"),
        }
    }
}
