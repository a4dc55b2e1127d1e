//! Failing operations of the disk, and damaged bytes.

use std::time::Duration;

use hamdex::VerifyOptions;
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::{Durability, Error, Store};

use crate::common::{Chance, Model, assert_same, holds, seeds, shape, step, tiny};

/// Applies one operation to a store. `allowed` gets the possible sets: a failed batch is present or absent.
fn take_step(store: &Store<u64>, chance: &mut Chance, allowed: &mut Vec<Model<u64>>) -> Result<(), Error> {
    match chance.below(6) {
        0..=3 => {
            let count = 1 + chance.below(250);
            let operations = chance.operations(count, true);
            let outcome = store.write(operations.clone());
            if outcome.is_ok() {
                allowed.iter_mut().for_each(|model| model.apply(&operations));
            } else {
                let mut with_it = allowed[0].clone();
                with_it.apply(&operations);
                allowed.push(with_it);
            }
            outcome.map(drop)
        }
        4 => store.flush(),
        _ => store.compact(),
    }
}

/// Works on a store with a failing operation. The store answers from its acknowledged writes, also after it has been
/// opened again.
fn work_with_failure(seed: u64, number: u64, failure: Failure) {
    let disk = SimulatedDisk::new();
    let options = tiny().merges(false);
    let mut chance = Chance(seed);
    let mut store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    // Its possible contents: a batch whose outcome is unknown is there or not.
    let mut allowed = vec![Model::<u64>::default()];
    disk.fail_operation(disk.operations() + number, failure);
    for _ in 0..12 {
        let outcome = take_step(&store, &mut chance, &mut allowed);
        let found = Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
        assert!(allowed.contains(&found), "seed {seed}, operation {number}, {failure:?}");
        if outcome.is_err() {
            // Acknowledged pairs are found before and after it is opened again.
            assert_same(&store.snapshot(), &found, &[chance.fingerprint()], true);
            drop(store);
            store = Store::open_on(disk.clone(), options)
                .unwrap_or_else(|error| panic!("seed {seed}, operation {number}, {failure:?}: {error}"));
            let found = Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
            assert!(allowed.contains(&found), "seed {seed}, operation {number}, {failure:?}: reopened");
            allowed = vec![found];
        }
    }
    drop(store);
    // If it has not failed yet, it will not any more.
    disk.fail_operations(0..0, failure);
    let store = Store::<u64>::open_on(disk, options).unwrap();
    let found = Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
    assert!(allowed.contains(&found), "seed {seed}, operation {number}, {failure:?}: at the end");
    store.verify(&VerifyOptions::new()).unwrap();
}

#[test]
fn an_operation_that_fails_loses_nothing_that_was_acknowledged() {
    for seed in seeds(0..2) {
        let failure = if seed % 2 == 0 { Failure::Io } else { Failure::Full };
        (1..160).step_by(step(2)).for_each(|number| work_with_failure(seed, number, failure));
    }
}

#[test]
fn who_writes_is_told_what_the_system_refused() {
    let refused = |error: &Error| {
        let source =
            std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
        source.map(std::io::Error::kind)
    };
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    disk.set_full(true);
    let error = store.insert(1, 1).unwrap_err();
    assert!(matches!(&error, Error::Io { .. }), "{error:?}");
    assert_eq!(refused(&error), Some(std::io::ErrorKind::StorageFull));
    disk.set_full(false);
    store.insert(1, 1).unwrap();
    disk.fail_operation(disk.operations() + 1, Failure::Io);
    let error = store.insert(2, 2).unwrap_err();
    assert!(matches!(&error, Error::Io { .. }), "{error:?}");
    // And why nothing is written from then on.
    let again = store.insert(2, 2).unwrap_err();
    assert!(matches!(&again, Error::Poisoned { .. }), "{again:?}");
    assert_eq!(refused(&again), refused(&error));
}

#[test]
fn a_log_that_cannot_be_looked_for_once_takes_no_more_writes() {
    let interval = Durability::Interval(Duration::from_secs(3600));
    for durability in [Durability::Sync, interval, Durability::None] {
        let disk = SimulatedDisk::new();
        let options = tiny().merges(false).durability(durability);
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
        store.insert(1, 1).unwrap();
        disk.fail_checks(true);
        let error = store.insert(2, 2).unwrap_err();
        assert!(matches!(&error, Error::Io { .. }), "{error:?}");
        disk.fail_checks(false);
        // No sync comes behind the failure, so that the batch before it must be durable.
        let crashed = Store::<u64>::open_on(disk.crashed(Survival::Nothing), options).unwrap();
        assert!(holds(&crashed.snapshot(), 1, 1), "{durability:?}");
        // The batch is in the log, and not in the view.
        let error = store.insert(3, 3).unwrap_err();
        assert!(matches!(&error, Error::Poisoned { .. }), "{error:?}");
        store.reopen().unwrap();
        store.insert(4, 4).unwrap();
        let pairs: Vec<_> = store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap();
        assert_eq!(pairs, [(1, 1), (2, 2), (4, 4)]);
        drop(store);
        let store = Store::<u64>::open_on(disk, options).unwrap();
        assert_eq!(store.snapshot().count().unwrap().pairs, 3);
    }
}

#[test]
fn a_disk_that_is_full_refuses_and_goes_on_when_there_is_room() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(9), Model::default());
    for round in 0..6 {
        disk.set_full(round % 2 == 1);
        for _ in 0..3 {
            let operations = chance.operations(100, true);
            match store.write(operations.clone()) {
                Ok(_) => model.apply(&operations),
                Err(_) => assert!(round % 2 == 1),
            }
            assert_same(&store.snapshot(), &model, &[chance.fingerprint()], true);
        }
    }
    disk.set_full(false);
    store.compact().unwrap();
    assert_same(&store.snapshot(), &model, &[0], true);
}

#[test]
fn no_flipped_bit_changes_an_answer() {
    let disk = SimulatedDisk::new();
    let (mut chance, mut model) = (Chance(5), Model::default());
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    for _ in 0..3 {
        let operations = chance.operations(60, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        store.flush().unwrap();
    }
    let operations = chance.operations(20, true);
    model.apply(&operations);
    store.write(operations).unwrap();
    drop(store);
    let queries = [0, u64::MAX, chance.fingerprint()];
    let mut refused = 0;
    for directory in ["", "segments", "deletes", "log"] {
        for file in disk.list(directory).unwrap() {
            let name = if directory.is_empty() { file } else { format!("{directory}/{file}") };
            if name == "lock" {
                continue;
            }
            let bytes = disk.length(&name).unwrap();
            let step = if directory == "segments" { step(97) } else { 1 };
            for at in (0..bytes).step_by(step) {
                let damaged = disk.crashed(hamdex_simulated_disk::Survival::Everything);
                let bit = 1 << chance.below(8);
                damaged.alter(&name, |bytes| bytes[at as usize] ^= bit);
                let what = format!("bit {bit:#x} of byte {at} of {name}");
                match Store::<u64>::open_on(damaged, tiny().merges(false)) {
                    Err(_) => refused += 1,
                    Ok(store) => match store.verify(&VerifyOptions::new()) {
                        Err(_) => refused += 1,
                        Ok(_) => {
                            let found: Result<_, _> = store.snapshot().pairs_in_order().collect();
                            assert_eq!(Model(found.unwrap()), model, "{what}");
                            assert_same(&store.snapshot(), &model, &queries, true);
                        }
                    },
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

/// Some operations in a row fail, the store is opened again and goes on, and then power is lost.
fn fail_and_crash(seed: u64, first: u64, length: u64, failure: Failure) {
    let disk = SimulatedDisk::new();
    let options = tiny().merges(false);
    let mut chance = Chance(seed);
    let mut store = Some(Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap());
    let mut allowed = vec![Model::<u64>::default()];
    disk.fail_operations(disk.operations() + first..disk.operations() + first + length, failure);
    for _ in 0..10 {
        let Some(open) = &store else {
            store = Store::open_on(disk.clone(), options).ok();
            if let Some(open) = &store {
                let found = Model(open.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
                assert!(allowed.contains(&found), "seed {seed}, {first}+{length}, {failure:?}: reopened");
                allowed = vec![found];
                check_crashes(
                    &disk,
                    &allowed,
                    &format!("seed {seed}, {first}+{length}, {failure:?}: just reopened"),
                );
            }
            continue;
        };
        let outcome = take_step(open, &mut chance, &mut allowed);
        if outcome.is_err() {
            store = None;
        }
        check_crashes(&disk, &allowed, &format!("seed {seed}, {first}+{length}, {failure:?}"));
    }
}

fn check_crashes(disk: &SimulatedDisk, allowed: &[Model<u64>], what: &str) {
    for survival in [Survival::Nothing, Survival::Any(disk.changes())] {
        let crashed = disk.crashed(survival);
        let store = Store::<u64>::open_on(crashed.clone(), tiny().merges(false))
            .unwrap_or_else(|error| panic!("{what}, {survival:?}: {error}\n{:#?}", disk.trace()));
        let found = Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap());
        assert!(allowed.contains(&found), "{what}, {survival:?}: lost");
    }
}

#[test]
fn after_failures_and_a_crash_nothing_is_lost_that_was_acknowledged_or_seen() {
    for seed in seeds(0..4) {
        let (length, failure) =
            [(1, Failure::Io), (3, Failure::Io), (2, Failure::Full), (1, Failure::Io)][seed as usize % 4];
        (1..90).step_by(step(2)).for_each(|first| fail_and_crash(seed, first, length, failure));
    }
}

/// The files of a disk that have this fingerprint somewhere.
fn files_with(disk: &SimulatedDisk, fingerprint: u64) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for directory in ["segments", "deletes", "log", "damaged"] {
        for name in disk.list(directory).unwrap_or_default() {
            let name = format!("{directory}/{name}");
            let bytes = disk.read(&name).unwrap();
            if bytes.windows(8).any(|window| window == fingerprint.to_le_bytes()) {
                found.push(disk.path(&name));
            }
        }
    }
    found
}

#[test]
fn a_purge_of_which_an_operation_fails_does_not_claim_more_than_it_did() {
    const SECRET: u64 = 0x5ec2_e7f1_b091_2345;
    let removed = || {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
        store.insert(SECRET, 1).unwrap();
        store.insert(7, 7).unwrap();
        store.flush().unwrap();
        store.remove_fingerprint(SECRET).unwrap();
        disk.create_directory("damaged").unwrap();
        drop(disk.create_new("damaged/log-000001").unwrap());
        disk.alter("damaged/log-000001", |bytes| bytes.extend(SECRET.to_le_bytes()));
        (disk, store)
    };
    let (whole, store) = removed();
    assert!(files_with(&whole, SECRET).len() >= 3, "segment, log, damaged");
    let before = whole.operations();
    assert_eq!(store.purge().unwrap().held, [whole.path("damaged/log-000001")]);
    for number in 1..=whole.operations() - before {
        let (disk, store) = removed();
        disk.fail_operation(disk.operations() + number, Failure::Io);
        if let Ok(purged) = store.purge() {
            for file in files_with(&disk, SECRET) {
                assert!(purged.held.contains(&file), "operation {number}: {} in {purged:?}", file.display());
            }
        }
    }
}
