//! Random operations of all kinds, against the model.

use hamdex_store::{Operation, Store, StoreOptions, When};

use crate::common::{Chance, Model, assert_same, assert_same_batches, seeds, shape, step, tiny};

struct Pair {
    store: Store<u64>,
    model: Model<u64>,
}

fn history(seed: u64, steps: u64, has_ids: bool, options: StoreOptions) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut chance = Chance(seed);
    let store = Store::create(&path, &shape(has_ids), options).unwrap();
    let mut both = Pair { store, model: Model::default() };
    let mut held = Vec::new();
    for step in 0..steps {
        let Pair { store, model } = &mut both;
        match chance.below(12) {
            0..=4 => {
                let count = 1 + chance.below(200);
                let operations = chance.operations(count, has_ids);
                model.apply(&operations);
                store.write(operations).unwrap();
            }
            5 => {
                let pair = (chance.fingerprint(), if has_ids { chance.below(5) } else { 0 });
                assert_eq!(store.remove(pair.0, pair.1).unwrap(), model.0.remove(&pair), "step {step}");
            }
            6 => {
                let fingerprint = chance.fingerprint();
                let ids = model.ids(fingerprint);
                assert_eq!(store.remove_fingerprint(fingerprint).unwrap(), ids.len() as u64);
                model.0.retain(|pair| pair.0 != fingerprint);
            }
            7 => {
                // A few are searched for one by one, many together.
                let most = [1, 20, 200][chance.below(3) as usize];
                let pairs: Vec<(u64, u64)> = (0..1 + chance.below(most))
                    .map(|_| (chance.fingerprint(), if has_ids { chance.below(5) } else { 0 }))
                    .collect();
                let distance = chance.below(4) as u32;
                let outcomes = store.put(&pairs, When::unless_near(distance)).unwrap().outcomes;
                for (pair, outcome) in pairs.iter().zip(outcomes) {
                    let expected = model.within(pair.0, distance).first().map(|&(distance, near)| {
                        (distance, near, if has_ids { model.ids(near) } else { Vec::new() })
                    });
                    let near = outcome.near().map(|near| (near.distance, near.fingerprint, near.ids.clone()));
                    assert_eq!(near, expected, "step {step}");
                    assert_eq!(outcome.id(), expected.is_none().then_some(pair.1));
                    if expected.is_none() {
                        model.0.insert(*pair);
                    }
                }
            }
            8 if chance.below(3) == 0 => store.settle().unwrap(),
            8 => store.flush().unwrap(),
            9 if chance.below(3) == 0 => store.compact().unwrap(),
            10 => {
                // Reopened, cleanly.
                let Pair { store, model } = both;
                drop(held);
                if chance.below(2) == 0 {
                    store.close().unwrap();
                } else {
                    drop(store);
                }
                held = Vec::new();
                both = Pair { store: Store::open(&path, options).unwrap(), model };
            }
            _ => held.push((store.snapshot(), model.clone())),
        }
        let queries: Vec<u64> = (0..4).map(|_| chance.fingerprint()).collect();
        assert_same(&both.store.snapshot(), &both.model, &queries, has_ids);
        if step % 8 == 0 {
            let queries: Vec<u64> = (0..100).map(|_| chance.fingerprint()).collect();
            assert_same_batches(&both.store.snapshot(), &both.model, &queries);
        }
        if held.len() > 3 {
            let (snapshot, model) = held.remove(0);
            assert_same(&snapshot, &model, &queries, has_ids);
        }
    }
}

#[test]
fn a_store_with_ids_is_the_set_that_its_writes_left() {
    seeds(0..6).for_each(|seed| history(seed, 60, true, tiny()));
    let last = seeds(0..6).end;
    println!("{last} histories of 60 steps with ids agree with the model");
}

#[test]
fn a_store_in_memory_of_the_process_is_the_set_that_its_writes_left() {
    (50..52).for_each(|seed| history(seed, 60, true, tiny().in_memory(true)));
}

#[test]
fn a_store_without_ids_is_the_set_that_its_writes_left() {
    seeds(100_000..100_004).for_each(|seed| history(seed, 60, false, tiny()));
}

#[test]
fn removing_and_inserting_again_in_any_order_across_flushes() {
    // Each digit of a number is a step: insert, remove, flush, compact, reopen.
    for number in 0..5u32.pow(5) {
        if number % step(7) as u32 != 0 {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let options = tiny().durability(hamdex_store::Durability::None);
        let mut store = Store::<u64>::create(directory.path().join("s"), &shape(true), options).unwrap();
        let mut model = Model::default();
        let mut rest = number;
        for _ in 0..5 {
            match rest % 5 {
                0 => {
                    let operation = [Operation::Insert(7, 1)];
                    model.apply(&operation);
                    store.write(operation.to_vec()).unwrap();
                }
                1 => {
                    let operation = [Operation::Remove(7, 1)];
                    model.apply(&operation);
                    store.write(operation.to_vec()).unwrap();
                }
                2 => store.flush().unwrap(),
                3 => store.compact().unwrap(),
                _ => {
                    drop(store);
                    store = Store::open(directory.path().join("s"), options).unwrap();
                }
            }
            rest /= 5;
        }
        assert_same(&store.snapshot(), &model, &[7, 8], true);
    }
}
