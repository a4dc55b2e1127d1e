//! Look-ups by id and by name, and what replaces and removes by them: as a plain set, through flushes, merges and
//! reopening.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use hamdex::{BuildOptions, Builder, FingerprintSet, VerifyOptions};
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::{CreateOptions, Durability, Error, Operation, Put, Store, StoreOptions, When};

use crate::common::{Chance, seeds, shape, tiny};

fn with_lookups() -> CreateOptions {
    shape(true).lookups(true)
}

/// Few ids, so that many are replaced.
fn pair(chance: &mut Chance) -> (u64, u64) {
    let id = if chance.below(4) == 0 { chance.next() } else { chance.below(40) };
    (chance.fingerprint(), id)
}

fn check(store: &Store<u64>, model: &BTreeSet<(u64, u64)>, chance: &mut Chance) {
    let snapshot = store.snapshot();
    let all: Vec<(u64, u64)> = snapshot.pairs_in_order().map(Result::unwrap).collect();
    assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
    let mut ids: BTreeSet<u64> = model.iter().map(|pair| pair.1).filter(|_| chance.below(3) == 0).collect();
    ids.extend([0, 7, u64::MAX]);
    for id in ids {
        let expected: Vec<u64> = model.iter().filter(|pair| pair.1 == id).map(|pair| pair.0).collect();
        assert_eq!(snapshot.fingerprints_of_ids(&[id]).unwrap(), [&expected[..]], "id {id}");
        for most in [0, 1, expected.len().saturating_sub(1), expected.len()] {
            let some = snapshot.some_pairs_of(&HashSet::from([id]), most).unwrap();
            let is_all = some.iter().map(|pair| pair.0).eq(expected.iter().copied());
            assert!(is_all || some.len() > most, "id {id}: {some:?} of {expected:?}");
        }
    }
}

/// Replaces by the definition.
fn upsert(model: &mut BTreeSet<(u64, u64)>, pairs: &[(u64, u64)]) -> (u64, u64) {
    let last: BTreeMap<u64, u64> = pairs.iter().map(|&(value, id)| (id, value)).collect();
    let before = model.clone();
    model.retain(|(value, id)| last.get(id).is_none_or(|new| new == value));
    model.extend(last.into_iter().map(|(id, value)| (value, id)));
    (model.difference(&before).count() as u64, before.difference(model).count() as u64)
}

fn run(seed: u64) {
    let mut chance = Chance(seed);
    let disk = SimulatedDisk::new();
    let mut store = Store::create_on(disk.clone(), &with_lookups(), tiny()).unwrap();
    let mut model = BTreeSet::new();
    for _ in 0..120 {
        match chance.below(9) {
            0..=2 => {
                let pairs: Vec<(u64, u64)> = (0..1 + chance.below(80)).map(|_| pair(&mut chance)).collect();
                let written = store.put(&pairs, When::always().replacing()).unwrap();
                assert_eq!((written.inserted, written.removed), upsert(&mut model, &pairs));
            }
            3 | 4 => {
                let pairs: Vec<(u64, u64)> = (0..1 + chance.below(80)).map(|_| pair(&mut chance)).collect();
                model.extend(pairs.iter().copied());
                store.write(pairs.into_iter().map(|(x, id)| Operation::Insert(x, id)).collect()).unwrap();
            }
            5 => {
                let ids: HashSet<u64> = (0..chance.below(9)).map(|_| pair(&mut chance).1).collect();
                let before = model.len();
                model.retain(|pair| !ids.contains(&pair.1));
                assert_eq!(store.remove_ids(&ids).unwrap(), (before - model.len()) as u64);
            }
            6 => store.flush().unwrap(),
            7 => store.compact().unwrap(),
            _ => {
                store.close().unwrap();
                store = Store::open_on(disk.clone(), tiny()).unwrap();
            }
        }
        check(&store, &model, &mut chance);
    }
    store.flush().unwrap();
    store.verify(&VerifyOptions::new()).unwrap();
    store.close().unwrap();
}

#[test]
fn pairs_are_found_replaced_and_removed_by_id() {
    seeds(0..6).for_each(run);
}

#[test]
fn names_are_found_replaced_and_removed_by_name() {
    let mut chance = Chance(5);
    let disk = SimulatedDisk::new();
    let mut store = Store::create_on(disk.clone(), &with_lookups().names(true), tiny()).unwrap();
    // The fingerprints of each name.
    let mut model: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
    for _ in 0..150 {
        let batch: Vec<(u64, Vec<u8>)> = (0..1 + chance.below(40))
            .map(|_| (chance.fingerprint(), format!("page {}", chance.below(60)).into_bytes()))
            .collect();
        match chance.below(7) {
            0 | 1 => {
                store.put(&batch, When::always()).unwrap();
                batch.into_iter().for_each(|(value, name)| model.entry(name).or_default().push(value));
            }
            2 | 3 => {
                let last: BTreeMap<Vec<u8>, u64> =
                    batch.iter().map(|(value, name)| (name.clone(), *value)).collect();
                let replaced: usize = last.keys().filter_map(|name| model.get(name)).map(Vec::len).sum();
                let written = store.put(&batch, When::always().replacing()).unwrap();
                assert_eq!((written.inserted, written.removed), (last.len() as u64, replaced as u64));
                model.extend(last.into_iter().map(|(name, value)| (name, vec![value])));
            }
            4 => {
                let names: HashSet<Vec<u8>> = batch.into_iter().take(5).map(|(_, name)| name).collect();
                let removed: usize =
                    names.iter().filter_map(|name| model.remove(name)).map(|all| all.len()).sum();
                assert_eq!(store.remove_names(&names).unwrap(), removed as u64);
            }
            5 => store.flush().unwrap(),
            _ => {
                store.compact().unwrap();
                store.close().unwrap();
                store = Store::open_on(disk.clone(), tiny()).unwrap();
            }
        }
        let snapshot = store.snapshot();
        let mut found: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
        for pair in snapshot.pairs_in_order() {
            let (value, id) = pair.unwrap();
            found.entry(snapshot.name(id).unwrap().unwrap().to_vec()).or_default().push(value);
        }
        model.values_mut().for_each(|values| values.sort_unstable());
        assert_eq!(found, model);
        let one = HashSet::from([format!("page {}", chance.below(60)).into_bytes()]);
        let ids = snapshot.ids_of_names(&one).unwrap();
        let mut by_name: Vec<u64> =
            ids.iter().flat_map(|&id| snapshot.fingerprints_of_ids(&[id]).unwrap().remove(0)).collect();
        by_name.sort_unstable();
        assert_eq!(by_name, one.iter().find_map(|name| model.get(name)).cloned().unwrap_or_default());
        let all = snapshot.pairs_of(&ids).unwrap();
        for most in [0, 1, all.len().saturating_sub(1), all.len(), usize::MAX] {
            let some = snapshot.some_pairs_of(&ids, most).unwrap();
            assert!(some.len() > most || some == all, "{most}: {some:?} of {all:?}");
            assert!(some.iter().all(|pair| all.contains(pair)), "{most}: {some:?} of {all:?}");
            let some = snapshot.some_ids_of_names(&one, most).unwrap();
            assert!(
                some.is_subset(&ids) && (some.len() > most || some == ids),
                "{most}: {some:?} of {ids:?}"
            );
        }
    }
}

#[test]
fn of_concurrent_replacements_of_an_id_one_stays() {
    let directory = tempfile::tempdir().unwrap();
    let options = StoreOptions::new().durability(Durability::None);
    let store = Store::<u64>::create(directory.path().join("s"), &with_lookups(), options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..300u64 {
                    store.put([(thread << 32 | number, number % 7)], When::always().replacing()).unwrap();
                }
            });
        }
    });
    let snapshot = store.snapshot();
    for id in 0..7 {
        assert_eq!(snapshot.fingerprints_of_ids(&[id]).unwrap()[0].len(), 1);
    }
    assert_eq!(snapshot.count().unwrap().pairs, 7);
}

#[test]
fn an_ingested_file_gets_look_ups_and_stores_without_them_replace_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file.hamdex");
    let mut builder = Builder::with_options(&file, BuildOptions::<u64>::new().ids(true)).unwrap();
    (0..100u64).for_each(|n| builder.push_with_id(n << 20, n / 2).unwrap());
    builder.finish().unwrap();
    let create = |name: &str, create: &CreateOptions| {
        Store::<u64>::create(directory.path().join(name), create, StoreOptions::new()).unwrap()
    };
    let store = create("with", &with_lookups());
    store.ingest(&file).unwrap();
    assert_eq!(store.snapshot().fingerprints_of_ids(&[7]).unwrap(), [[14 << 20, 15 << 20]]);
    assert_eq!(store.put([(1, 7)], When::always().replacing()).unwrap().removed, 2);
    store.verify(&VerifyOptions::new()).unwrap();
    store.close().unwrap();

    let without = create("without", &shape(true));
    without.ingest(&file).unwrap();
    assert!(matches!(without.put([(1, 7)], When::always().replacing()), Err(Error::NoLookups { .. })));
    assert_eq!(without.snapshot().fingerprints_of_ids(&[7]).unwrap(), [[14 << 20, 15 << 20]]);
    assert_eq!(without.remove_ids(&HashSet::from([7])).unwrap(), 2);
    assert!(!without.snapshot().describe().has_lookups);
}

#[test]
fn each_record_of_a_put_has_the_id_under_which_it_or_its_successor_is_stored() {
    let names = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true).names(true).lookups(true), tiny());
    let names = names.unwrap();
    let ids = |put: Put<u64>| put.ids().collect::<Vec<u64>>();
    let records = [(0xff, "a"), (0xff00, "b"), (0xff_0000, "a")];
    assert_eq!(ids(names.put(records, When::always()).unwrap()), [0, 1, 2]);
    let replaced = names.put(records, When::always().replacing()).unwrap();
    assert_eq!((replaced.inserted, replaced.removed), (2, 3));
    assert_eq!(ids(replaced), [4, 3, 4]);
    assert_eq!(names.snapshot().name(4).unwrap(), Some(&b"a"[..]));
    let replaced = names.put(records, When::unless_near(3).replacing()).unwrap();
    assert_eq!((replaced.inserted, replaced.removed), (3, 3));
    assert_eq!(names.snapshot().fingerprints_of_names(&["a", "b"]).unwrap(), [[0xff_0000], [0xff00]]);

    let numbers = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true).lookups(true), tiny()).unwrap();
    let records = [(0xff, 7), (0xff00, 8), (0xff_0000, 7)];
    for when in [When::always(), When::always().replacing(), When::unless_near(3).replacing()] {
        assert_eq!(ids(numbers.put(records, when).unwrap()), [7, 8, 7], "{when:?}");
    }
    assert_eq!(numbers.snapshot().fingerprints_of_ids(&[7]).unwrap(), [[0xff_0000]]);
}

#[test]
fn a_put_of_nothing_changes_nothing_and_is_refused_as_one_of_something_is() {
    let nothing: [(u64, u64); 0] = [];
    for create in [shape(false), shape(true), shape(true).names(true), shape(true).lookups(true)] {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &create, tiny()).unwrap();
        let before = disk.changes();
        let has_lookups = store.snapshot().describe().has_lookups;
        for when in [When::always(), When::unless_near(0), When::unless_near(3)] {
            assert_eq!(store.put(nothing, when).unwrap(), Put::default());
            match store.put(nothing, when.replacing()) {
                Ok(put) => assert!(has_lookups && put == Put::default()),
                Err(error) => assert!(!has_lookups && matches!(error, Error::NoLookups { .. })),
            }
        }
        assert!(matches!(store.put(nothing, When::unless_near(65)), Err(Error::Read(_))));
        assert_eq!(disk.changes(), before);
        store.shutdown().unwrap();
        assert!(matches!(store.put(nothing, When::always()), Err(Error::Closed { .. })));
    }
}
