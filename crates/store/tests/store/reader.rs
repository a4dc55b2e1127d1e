//! Reading what another handle writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex_store::{Store, StoreReader};

use crate::common::{Chance, Model, assert_same, shape, tiny};

#[test]
fn a_reader_sees_everything_that_was_acknowledged_before_it_looked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(3), Model::default());
    let mut reader = StoreReader::<u64>::open(&path).unwrap();
    for step in 0..30 {
        let operations = chance.operations(80, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        match step % 7 {
            3 => store.flush().unwrap(),
            6 => store.compact().unwrap(),
            _ => {}
        }
        let before = reader.snapshot();
        let of_before = Model(before.pairs_in_order().collect::<Result<_, _>>().unwrap());
        reader.refresh().unwrap();
        assert_same(&reader.snapshot(), &model, &[chance.fingerprint()], true);
        assert_same(&before, &of_before, &[chance.fingerprint()], true);
    }
    assert_same(&StoreReader::<u64>::open(&path).unwrap().snapshot(), &model, &[0], true);
}

#[test]
fn a_reader_is_not_disturbed_by_files_that_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), tiny()).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let (path, is_over) = (&path, &is_over);
        scope.spawn(move || {
            let mut reader = StoreReader::<u64>::open(path).unwrap();
            let mut least = 0;
            while !is_over.load(Ordering::Relaxed) {
                reader.refresh().unwrap();
                // Ids count up: all up to the last one are there.
                let ids: Vec<u64> = reader.snapshot().pairs_in_order().map(|pair| pair.unwrap().1).collect();
                assert!(ids.len() >= least);
                assert_eq!(ids.iter().max().map_or(0, |last| last + 1), ids.len() as u64);
                least = ids.len();
            }
        });
        let mut chance = Chance(4);
        for id in 0..2000 {
            store.insert(chance.next(), id).unwrap();
            if id % 500 == 499 {
                store.compact().unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
