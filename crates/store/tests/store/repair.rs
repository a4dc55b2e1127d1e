//! Repair of a whole store: interrupted anywhere, and of names.

use std::collections::BTreeMap;

use hamdex::VerifyOptions;
use hamdex_store::disk::{Disk, Failure, SimulatedDisk, Survival};
use hamdex_store::{Operation, Store, repair_on};

use crate::common::{Chance, Model, seeds, shape, step, tiny};

/// A closed store of two segments, removals and a log, with a block of a segment and a batch of the log damaged.
fn damaged() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let store = Store::<u64, _>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let mut chance = Chance(21);
    for round in 0..2 {
        for _ in 0..3 {
            let inserts = (0..150).map(|id| Operation::Insert(chance.next(), id));
            store.write(inserts.collect()).unwrap();
        }
        store.write(chance.operations(100, true)).unwrap();
        store.flush().unwrap();
        if round == 0 {
            let gone = store.snapshot().pairs_in_order().step_by(9).map(Result::unwrap).collect::<Vec<_>>();
            for (fingerprint, id) in gone {
                store.remove(fingerprint, id).unwrap();
            }
        }
    }
    for _ in 0..6 {
        store.write(chance.operations(30, true)).unwrap();
    }
    store.close().unwrap();
    let segments = disk.list("segments").unwrap();
    disk.alter(&format!("segments/{}", segments[0]), |bytes| bytes[4096 + 100] ^= 1);
    let log = disk.list("log").unwrap().pop().unwrap();
    disk.alter(&format!("log/{log}"), |bytes| bytes[700] ^= 1);
    disk
}

fn found(disk: &SimulatedDisk) -> Model<u64> {
    let store = Store::<u64, _>::open_on(disk.clone(), tiny().merges(false)).unwrap();
    store.verify(&VerifyOptions::new().threads(1)).unwrap();
    Model(store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap())
}

#[test]
fn what_the_system_refuses_is_no_damage() {
    let whole = damaged();
    let before = whole.operations();
    let repaired = repair_on(&whole).unwrap();
    let after = whole.operations();
    let expected = found(&whole);
    let mut refused = 0;
    for number in (before + 1..=after).step_by(step(3)) {
        let disk = damaged();
        disk.fail_operation(number, Failure::Io);
        let outcome = repair_on(&disk);
        disk.fail_operations(0..0, Failure::Io);
        refused += u64::from(outcome.is_err());
        // A refusal that did not matter, or an error; and then it can be repeated.
        if let Ok(repeated) = outcome {
            assert_eq!(repeated, repaired, "operation {number}");
        } else {
            repair_on(&disk).unwrap();
        }
        assert_eq!(found(&disk), expected, "operation {number}");
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn a_repair_that_is_interrupted_anywhere_can_be_repeated() {
    let whole = damaged();
    let before = whole.changes();
    let repaired = repair_on(&whole).unwrap();
    assert!(repaired.saved_pairs > 0 && repaired.lost_pairs > 0, "{repaired:?}");
    assert!(repaired.saved_batches > 0 && repaired.found.len() >= 2, "{repaired:?}");
    let expected = found(&whole.crashed(Survival::Nothing));
    assert!(!expected.0.is_empty());
    let mut interrupted = 0;
    for changes in (before..=whole.changes()).step_by(step(2)) {
        let disk = damaged();
        disk.lose_power_after(changes);
        let _ = repair_on(&disk);
        let any = seeds(0..2).map(Survival::Any);
        for survival in [Survival::Nothing, Survival::Everything, Survival::Names].into_iter().chain(any) {
            let disk = disk.crashed(survival);
            repair_on(&disk).unwrap();
            assert_eq!(found(&disk), expected, "power lost after {changes} changes, {survival:?} survives");
            assert!(!disk.list("damaged").unwrap().is_empty());
            interrupted += 1;
        }
    }
    println!("{interrupted} repairs interrupted, and repeated with the same outcome");
}

#[test]
fn pairs_are_saved_where_their_names_cannot_be_read() {
    let (mut lost, mut kept) = (0, 0);
    for at in (0..9000).step_by(step(300)) {
        let disk = SimulatedDisk::new();
        let create = shape(true).names(true);
        let store =
            Store::<u64, _>::create_on(disk.clone(), &create, tiny().memory(1 << 20).merges(false)).unwrap();
        let named: Vec<(u64, String)> = (0..300u64)
            .map(|id| (id.wrapping_mul(0x9e37_79b9_7f4a_7c15), format!("https://example.org/{id}")))
            .collect();
        store.insert_named(&named).unwrap();
        store.flush().unwrap();
        store.close().unwrap();
        let segment = format!("segments/{}", disk.list("segments").unwrap()[0]);
        let bytes = disk.length(&segment).unwrap();
        // The names stand near the end: somewhere among them, and before.
        let place = bytes.saturating_sub(200 + at as u64);
        disk.alter(&segment, |bytes| bytes[place as usize] ^= 1);
        let repaired = repair_on(&disk).unwrap();
        let store = Store::<u64, _>::open_on(disk.clone(), tiny().merges(false)).unwrap();
        store.verify(&VerifyOptions::new().threads(1)).unwrap();
        let snapshot = store.snapshot();
        let mut without = 0;
        let mut saved = BTreeMap::new();
        for pair in snapshot.pairs_in_order() {
            let (fingerprint, id) = pair.unwrap();
            let name = snapshot.name(id).unwrap().unwrap();
            without += u64::from(name.is_empty());
            saved.insert(id, fingerprint);
            let (expected, original) = &named[id as usize];
            assert_eq!(fingerprint, *expected);
            assert!(name.is_empty() || name == original.as_bytes());
        }
        assert_eq!(without, repaired.lost_names, "{repaired:?}");
        assert_eq!(saved.len() as u64 + repaired.lost_pairs, 300, "{repaired:?}");
        if repaired.lost_names > 0 {
            lost += 1;
            assert!(repaired.found.iter().any(|found| found.contains("names of")), "{repaired:?}");
        }
        kept += u64::from(repaired.lost_pairs == 0);
        // It goes on, and merges.
        store.insert_named(&[(5, "one more")]).unwrap();
        store.compact().unwrap();
    }
    assert!(lost > 0 && kept > 0, "{lost} with names lost, {kept} with all pairs saved");
}
