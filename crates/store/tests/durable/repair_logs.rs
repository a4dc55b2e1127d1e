//! Repair of logs: intact records are salvaged, and damaged logs are kept. Only leftovers are removed.

use std::collections::BTreeMap;
use std::io::Write;

use hamdex::VerifyOptions;
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::disk::Disk;
use hamdex_store::inspect::Identity;
use hamdex_store::internals::log::{LogWriter, Position, Salvaged, salvage};
use hamdex_store::internals::manifest::{Manifest, ManifestFile, leftovers, parse, read};
use hamdex_store::internals::repair_on;
use hamdex_store::{Error, Operation, ReadOptions, Store, StoreOptions, StoreReader};

use crate::common::{Batch, IDENTITY, batch, disk, replayed_from, survivals};
use crate::manifest::manifest;

const BATCHES: u64 = 8;

/// A closed store of two logs, the first of them number 23.
fn closed() -> (SimulatedDisk, Manifest, Vec<Batch<u64>>) {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 23, 5).unwrap();
    let batches: Vec<_> = (6..6 + BATCHES).map(|sequence| batch(sequence, 3)).collect();
    for (sequence, operations) in &batches {
        log.push(*sequence, operations);
        log.sync().unwrap();
        if *sequence == 9 {
            log.rotate().unwrap();
        }
    }
    let manifest = Manifest { sequence: 5, sealed: Some(log.sealed()), segments: Vec::new(), ..manifest(5) };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    (disk, manifest, batches)
}

/// Reads all batches of a store, by its manifest.
fn batches(disk: &SimulatedDisk) -> Result<Vec<Batch<u64>>, Error> {
    let manifest = read(disk)?;
    replayed_from(disk, &IDENTITY, manifest.logs_start(), manifest.sealed).map(|(found, _)| found)
}

/// The batches that the logs of a store prove.
fn salvaged(disk: &SimulatedDisk) -> Salvaged {
    let manifest = read(disk).unwrap();
    salvage::<u64>(disk, &IDENTITY, manifest.logs_start(), manifest.sealed, |_, _| Ok(())).unwrap()
}

/// The record of a batch of three operations.
const RECORD_BYTES: usize = 32 + 3 * 17;

#[test]
fn every_whole_batch_is_saved_and_the_damaged_log_is_kept() {
    let (disk, _, mut expected) = closed();
    let before = disk.read("log/000023").unwrap();
    disk.alter("log/000023", |bytes| bytes[64 + RECORD_BYTES + 40] ^= 1);
    let damaged = disk.read("log/000023").unwrap();
    assert!(matches!(batches(&disk), Err(Error::Damaged { offset: Some(147), .. })));

    let found = salvaged(&disk);
    let repaired = repair_on(&disk).unwrap();
    let lost = &found.lost[..];
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].log, lost[0].offset, lost[0].bytes), (23, 147, RECORD_BYTES as u64));
    assert_eq!((found.batches, found.damaged_files), (BATCHES - 1, vec![23]));
    assert_eq!((repaired.saved_batches, repaired.lost_log_parts), (BATCHES - 1, 1));
    assert_eq!(repaired.kept, [disk.path("damaged/log-000023")]);
    let after_crash = disk.crashed(Survival::Nothing);
    assert_eq!(after_crash.read("damaged/log-000023").unwrap(), damaged);
    assert_ne!(before, damaged);
    expected.remove(1);
    assert_eq!(batches(&after_crash).unwrap(), expected);
    assert_eq!(read(&disk).unwrap().first_log, 25);
    assert_eq!(disk.list("log").unwrap(), ["000025"]);
}

#[test]
fn each_kind_of_damage_costs_no_more_than_itself() {
    let length = |disk: &SimulatedDisk| disk.length("log/000024").unwrap() as usize;
    type Damage = fn(&SimulatedDisk, usize);
    let kinds: [(&str, Damage, u64); 6] = [
        ("a header of a log", |disk, _| disk.alter("log/000024", |bytes| bytes[20] ^= 1), 0),
        ("a header of a record", |disk, _| disk.alter("log/000024", |bytes| bytes[70] ^= 1), 1),
        ("the end", |disk, length| disk.alter("log/000024", |bytes| bytes.truncate(length - 1)), 1),
        (
            "the whole last record",
            |disk, length| disk.alter("log/000024", |bytes| bytes.truncate(length - RECORD_BYTES)),
            1,
        ),
        ("a hole", |disk, _| disk.alter("log/000024", |bytes| bytes[100..200].fill(0)), 2),
        ("a whole log", |disk, _| disk.remove("log/000023").unwrap(), 4),
    ];
    for (what, damage, costs) in kinds {
        let (disk, ..) = closed();
        let length = length(&disk);
        damage(&disk, length);
        assert!(batches(&disk).is_err(), "{what}");
        let found = salvaged(&disk);
        let repaired = repair_on(&disk).unwrap();
        assert_eq!((found.batches, repaired.saved_batches), (BATCHES - costs, BATCHES - costs), "{what}");
        assert_eq!(found.lost.is_empty(), costs == 0, "{what}");
        assert_eq!(repaired.is_complete(), costs == 0, "{what}");
        assert_eq!(found.damaged_headers, if costs == 0 { &[24][..] } else { &[] }, "{what}");
        assert_eq!(batches(&disk).unwrap().len() as u64, BATCHES - costs, "{what}");
    }
}

#[test]
fn files_with_numbers_that_no_store_gives_are_none_of_it() {
    for name in [
        "log/000000",
        "log/9007199254740993",
        "log/18446744073709551615",
        "segments/18446744073709551615.hamdex",
        "deletes/000017-18446744073709551615",
    ] {
        let (disk, ..) = closed();
        put(&disk, name);
        assert_eq!(batches(&disk).unwrap().len() as u64, BATCHES, "{name}");
        disk.alter("log/000023", |bytes| bytes[64 + 40] ^= 1);
        assert_eq!(repair_on(&disk).unwrap().saved_batches, BATCHES - 1, "{name}");
        assert_eq!(batches(&disk).unwrap().len() as u64, BATCHES - 1, "{name}");
        assert_eq!(read(&disk).unwrap().first_log, 25, "{name}");
        assert!(disk.exists(name).unwrap(), "{name}");
    }
}

#[test]
fn a_log_of_a_number_that_no_store_gives_counts_by_its_name() {
    for number in [0, (1 << 53) + 1, u64::MAX] {
        let (disk, ..) = closed();
        let mut header = disk.read_first("log/000024", 64).unwrap();
        header[32..40].copy_from_slice(&number.to_le_bytes());
        let checksum = crc32fast::hash(&header[..60]);
        header[60..].copy_from_slice(&checksum.to_le_bytes());
        disk.create_new("log/000025").unwrap().write_all(&header).unwrap();
        assert!(batches(&disk).is_err(), "{number}");
        assert_eq!(repair_on(&disk).unwrap().saved_batches, BATCHES, "{number}");
        assert_eq!(batches(&disk).unwrap().len() as u64, BATCHES, "{number}");
        assert_eq!(read(&disk).unwrap().first_log, 26, "{number}");
    }
}

#[test]
fn a_store_whose_log_has_the_greatest_sequence_number_refuses_writes_and_stays_whole() {
    let disk = disk();
    let mut log = LogWriter::create(&disk, IDENTITY, 23, 5).unwrap();
    log.push(i64::MAX as u64, &[Operation::Insert(1_u64, 1)]);
    log.sync().unwrap();
    let manifest = Manifest { sequence: 5, sealed: None, segments: Vec::new(), ..manifest(5) };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    for _ in 0..2 {
        let store = Store::<u64>::open_on(disk.clone(), StoreOptions::new()).unwrap();
        let refused = store.insert(2, 2).unwrap_err();
        assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
        assert_eq!(store.snapshot().ids(1).unwrap(), [1]);
        assert!(!store.snapshot().contains(2).unwrap());
        store.flush().unwrap();
        store.close().unwrap();
    }
}

/// A second batch whose id is below that of the first, in a store with names: a flush would look for its name in vain.
#[test]
fn a_batch_whose_ids_are_below_earlier_ones_is_damage() {
    let identity = Identity { has_names: true, ..IDENTITY };
    let disk = disk();
    let mut log = LogWriter::create(&disk, identity, 23, 5).unwrap();
    for (sequence, id) in [(6, 10), (7, 5), (8, 11)] {
        log.push_named(sequence, &[Operation::Insert(id, id)], &[(id, b"name".as_slice().into())]);
        log.sync().unwrap();
    }
    let sealed = Some(log.sealed());
    let manifest = Manifest { identity, sequence: 5, sealed, segments: Vec::new(), ..manifest(5) };
    ManifestFile::new(&disk).replace(&manifest).unwrap();
    let refused = Store::<u64>::open_on(disk.clone(), StoreOptions::new()).unwrap_err();
    assert!(matches!(refused, Error::Damaged { .. }), "{refused:?}");
    let repaired = repair_on(&disk).unwrap();
    assert_eq!((repaired.saved_batches, repaired.lost_log_parts), (2, 1));
    assert_eq!(repaired.kept, [disk.path("damaged/log-000023")]);
    let store = Store::<u64>::open_on(disk, StoreOptions::new()).unwrap();
    store.flush().unwrap();
    let snapshot = store.snapshot();
    assert_eq!([10, 5, 11].map(|value| snapshot.contains(value).unwrap()), [true, false, true]);
}

#[test]
fn a_refresh_refuses_ids_below_those_that_were_read_before() {
    let identity = Identity { has_names: true, ..IDENTITY };
    for rotates in [false, true] {
        let disk = disk();
        let mut log = LogWriter::create(&disk, identity, 23, 5).unwrap();
        let mut push = |sequence, id: u64| {
            log.push_named(sequence, &[Operation::Insert(id, id)], &[(id, b"name".as_slice().into())]);
            log.sync().unwrap();
            if rotates {
                log.rotate().unwrap();
            }
        };
        push(6, 10);
        let manifest = Manifest { identity, sequence: 5, sealed: None, segments: Vec::new(), ..manifest(5) };
        ManifestFile::new(&disk).replace(&manifest).unwrap();
        let mut reader = StoreReader::<u64>::open_on(disk.clone(), ReadOptions::new()).unwrap();
        push(7, 12);
        reader.refresh().unwrap();
        for (sequence, id) in [(8, 11), (9, 13)] {
            push(sequence, id);
            let refused = reader.refresh().unwrap_err();
            assert!(matches!(refused, Error::Damaged { .. }), "{refused:?}");
            assert_eq!(reader.snapshot().ids(12).unwrap(), [12]);
        }
    }
}

#[test]
fn lost_parts_are_told_in_their_order() {
    let identity = Identity { has_names: true, ..IDENTITY };
    let disk = disk();
    let mut log = LogWriter::create(&disk, identity, 1, 0).unwrap();
    let mut ends = vec![log.bytes()];
    for (sequence, id) in [(1, 10), (2, 5), (3, 11), (4, 12)] {
        log.push_named(sequence, &[Operation::Insert(id, id)], &[(id, b"name".as_slice().into())]);
        log.sync().unwrap();
        ends.push(log.bytes());
    }
    // The second batch is refused for its id, the third is damaged.
    disk.alter("log/000001", |bytes| bytes[ends[2] as usize + 40] ^= 1);
    let start = Position::start_of(1, 0);
    let found = salvage::<u64>(&disk, &identity, start, Some(log.sealed()), |_, _| Ok(())).unwrap();
    let lost: Vec<_> = found.lost.iter().map(|lost| (lost.log, lost.offset)).collect();
    assert_eq!((found.batches, lost), (2, vec![(1, ends[1]), (1, ends[2])]));
}

/// The files of logs of a store, by name.
type Files = BTreeMap<String, Vec<u8>>;

fn files(disk: &SimulatedDisk) -> Files {
    let names = disk.list("log").unwrap().into_iter().map(|name| format!("log/{name}"));
    names.map(|name| (name.clone(), disk.read(&name).unwrap())).collect()
}

fn put_files(disk: &SimulatedDisk, files: &Files) {
    for name in self::files(disk).keys() {
        disk.remove(name).unwrap();
    }
    for (name, bytes) in files {
        disk.create_new(name).unwrap().write_all(bytes).unwrap();
    }
}

/// The batches of which some file has every byte, by their sequence numbers.
fn intact(whole: &Files, files: &Files) -> Vec<u64> {
    let holds = |log: &str, at: usize| {
        let record = &whole[log][64 + at * RECORD_BYTES..][..RECORD_BYTES];
        files.values().any(|bytes| bytes.windows(RECORD_BYTES).any(|window| window == record))
    };
    (0..BATCHES)
        .filter(|&at| holds(["log/000023", "log/000024"][at as usize / 4], at as usize % 4))
        .map(|at| 6 + at)
        .collect()
}

/// Names of files are changed first, and then bytes. A file that no log has is kept as well.
#[test]
fn renamed_and_damaged_logs_lose_only_the_damaged_batches() {
    type Naming = fn(&mut Files);
    const NAMES: [&str; 2] = ["log/000023", "log/000024"];
    let namings: [(&str, Naming); 8] = [
        ("swapped", |files| {
            let [one, other] = NAMES.map(|name| files.remove(name).unwrap());
            files.extend([(NAMES[0].to_owned(), other), (NAMES[1].to_owned(), one)]);
        }),
        ("the first renamed", |files| {
            let first = files.remove(NAMES[0]).unwrap();
            files.insert("log/000031".to_owned(), first);
        }),
        ("the last renamed", |files| {
            let last = files.remove(NAMES[1]).unwrap();
            files.insert("log/000031".to_owned(), last);
        }),
        ("the first as an earlier one", |files| {
            let first = files.remove(NAMES[0]).unwrap();
            files.insert("log/000006".to_owned(), first);
        }),
        ("the last as an earlier one", |files| {
            let last = files.remove(NAMES[1]).unwrap();
            files.insert("log/000007".to_owned(), last);
        }),
        ("both as earlier ones", |files| {
            let [one, other] = NAMES.map(|name| files.remove(name).unwrap());
            files.extend([("log/000006".to_owned(), one), ("log/000007".to_owned(), other)]);
        }),
        ("the first twice", |files| {
            let first = files[NAMES[0]].clone();
            files.insert("log/000031".to_owned(), first);
        }),
        ("the first in place of the last", |files| {
            let first = files[NAMES[0]].clone();
            files.insert(NAMES[1].to_owned(), first);
        }),
    ];
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 7] = [
        ("nothing", |_| {}),
        ("the header", |bytes| bytes[10] ^= 1),
        ("the number", |bytes| bytes[32] ^= 1),
        ("the first record", |bytes| bytes[64 + 40] ^= 1),
        ("the header and the first record", |bytes| bytes[20..64 + 40].fill(0)),
        ("half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("all", |bytes| bytes.fill(7)),
    ];
    for (naming, rename) in namings {
        for (what, damage) in damages {
            let (disk, ..) = closed();
            let (whole, mut renamed) = (files(&disk), files(&disk));
            rename(&mut renamed);
            for name in renamed.keys() {
                for is_state_damaged in [false, true] {
                    let (disk, ..) = closed();
                    let mut damaged = renamed.clone();
                    damage(damaged.get_mut(name).unwrap());
                    put_files(&disk, &damaged);
                    if is_state_damaged {
                        for text in ["manifest", "manifest.copy"] {
                            disk.alter(text, |bytes| {
                                let at = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
                                bytes[at] ^= 1;
                            });
                        }
                    }
                    let case = format!("{naming}, {what} of {name}, state damaged: {is_state_damaged}");
                    let expected = intact(&whole, &damaged);
                    let repaired = repair_on(&disk).unwrap();
                    let found: Vec<u64> = batches(&disk).unwrap().iter().map(|batch| batch.0).collect();
                    assert_eq!(found, expected, "{case}: {repaired:?}");
                    if expected.len() < BATCHES as usize {
                        assert!(!repaired.is_complete(), "{case}: {repaired:?}");
                    } else if !is_state_damaged && what != "half" && what != "all" {
                        assert!(repaired.is_complete(), "{case}: {repaired:?}");
                    }
                    // Whatever was at a place that is not its own, or was damaged, is kept.
                    let kept: Vec<Vec<u8>> = repaired
                        .kept
                        .iter()
                        .filter_map(|path| path.file_name()?.to_str())
                        .map(|name| disk.read(&format!("damaged/{name}")).unwrap())
                        .collect();
                    for (name, bytes) in &damaged {
                        let is_as_it_was = whole.get(name) == Some(bytes);
                        assert!(is_as_it_was || kept.contains(bytes), "{case}: {name} is gone: {repaired:?}");
                    }
                    assert!(repair_on(&disk).unwrap().was_whole(), "{case}");
                }
            }
        }
    }
}

/// After a crash nothing says how many logs there were.
#[test]
fn live_logs_under_the_names_of_leftovers_are_no_leftovers() {
    let is_moved = |name: &str| ["log/000006", "log/000007"].contains(&name);
    for moved in
        [&[("log/000024", "log/000007")][..], &[("log/000023", "log/000006"), ("log/000024", "log/000007")]]
    {
        for damaged in [0..0, 10..11, 0..64] {
            let (disk, manifest, expected) = closed();
            ManifestFile::new(&disk).replace(&Manifest { sealed: None, ..manifest }).unwrap();
            for (from, to) in moved {
                disk.rename(from, to).unwrap();
                disk.alter(to, |bytes| bytes[damaged.clone()].fill(7));
            }
            let verified = StoreReader::<u64>::open_on(disk.clone(), ReadOptions::new())
                .and_then(|reader| reader.verify(&VerifyOptions::new()));
            assert!(verified.is_err(), "{damaged:?}");
            let refused = Store::<u64>::open_on(disk.clone(), StoreOptions::new()).unwrap_err();
            let is_missed = matches!(refused, Error::Damaged { .. }) || moved.len() == 2;
            assert!(is_missed, "{damaged:?}: {refused}");
            assert_eq!(files(&disk).keys().filter(|name| is_moved(name)).count(), moved.len(), "{damaged:?}");
            let repaired = repair_on(&disk).unwrap();
            // The header of a log says how long the one before was.
            let is_complete = damaged.len() < 64;
            assert_eq!(
                (repaired.saved_batches, repaired.is_complete()),
                (BATCHES, is_complete),
                "{damaged:?}: {repaired:?}"
            );
            assert_eq!(batches(&disk).unwrap(), expected);
            assert!(repair_on(&disk).unwrap().was_whole());
        }
    }
}

#[test]
fn a_last_log_that_another_has_replaced_is_lost() {
    type Replace = fn(&mut Files);
    let replacements: [(&str, Replace); 3] = [
        ("copied", |files| {
            let first = files["log/000023"].clone();
            files.insert("log/000024".to_owned(), first);
        }),
        ("moved", |files| {
            let first = files.remove("log/000023").unwrap();
            files.insert("log/000024".to_owned(), first);
        }),
        ("copied with a damaged header", |files| {
            let mut first = files["log/000023"].clone();
            first[10] ^= 1;
            files.insert("log/000024".to_owned(), first);
        }),
    ];
    for (what, replace) in replacements {
        let (disk, manifest, expected) = closed();
        ManifestFile::new(&disk).replace(&Manifest { sealed: None, ..manifest }).unwrap();
        let mut replaced = files(&disk);
        replace(&mut replaced);
        put_files(&disk, &replaced);
        let repaired = repair_on(&disk).unwrap();
        assert!(!repaired.is_complete(), "{what}: {repaired:?}");
        assert_eq!(batches(&disk).unwrap(), expected[..4], "{what}");
        assert!(repair_on(&disk).unwrap().was_whole(), "{what}");
    }
}

#[test]
fn a_log_with_the_greatest_number_in_its_header_loses_no_other() {
    let (whole, sealed_manifest, _) = closed();
    for number in [u64::MAX, 1 << 53] {
        let other = disk();
        let mut log = LogWriter::create(&other, IDENTITY, number, 5 + BATCHES).unwrap();
        let (sequence, operations) = batch(6 + BATCHES, 3);
        log.push(sequence, &operations);
        log.sync().unwrap();
        let forged = other.read(&format!("log/{number:06}")).unwrap();
        for sealed in [sealed_manifest.sealed, None] {
            for name in ["log/000024", "log/000025"] {
                let damaged = disk();
                let mut all = files(&whole);
                all.insert(name.to_owned(), forged.clone());
                put_files(&damaged, &all);
                let mut saved = 0;
                let start = sealed_manifest.logs_start();
                let found = salvage::<u64>(&damaged, &IDENTITY, start, sealed, |sequence, _| {
                    saved += u64::from(sequence < 6 + BATCHES);
                    Ok(())
                });
                assert!(found.is_ok());
                // The first log has four batches, the second, in whose place the other lies, the rest.
                assert_eq!(saved, if name == "log/000024" { 4 } else { BATCHES });
            }
        }
    }
}

#[test]
fn a_repair_that_is_interrupted_anywhere_can_be_repeated() {
    let damaged = || {
        let (disk, _, mut expected) = closed();
        disk.alter("log/000023", |bytes| bytes[64 + RECORD_BYTES + 40] ^= 1);
        expected.remove(1);
        (disk, expected)
    };
    let (whole, expected) = damaged();
    let before = whole.changes();
    repair_on(&whole).unwrap();
    for changes in before..=whole.changes() {
        let (disk, _) = damaged();
        disk.lose_power_after(changes);
        let _ = repair_on(&disk);
        for survival in survivals(20) {
            let disk = disk.crashed(survival);
            if let Ok(found) = batches(&disk) {
                assert_eq!(found, expected);
                // What the first one lost is told, unless that was done.
                let is_kept = disk.exists("repair.report").unwrap();
                let repaired = repair_on(&disk).unwrap();
                assert_eq!(repaired.was_whole(), !is_kept, "{changes} changes, {survival:?}");
                assert_eq!(repaired.lost_log_parts, u64::from(is_kept), "{changes} changes, {survival:?}");
                let kept = disk.list("damaged").unwrap();
                assert_eq!(
                    disk.length(&format!("damaged/{}", kept[0])).unwrap(),
                    64 + 4 * RECORD_BYTES as u64
                );
            } else {
                let found = salvaged(&disk);
                let repaired = repair_on(&disk).unwrap();
                let is_kept =
                    |path: &std::path::PathBuf| path.to_string_lossy().contains("damaged/log-000023");
                assert!(repaired.kept.iter().any(is_kept));
                // Half of a new log is no damage.
                assert!(found.lost.iter().all(|lost| lost.log == 23), "{changes}: {:?}", found.lost);
                assert_eq!(repaired.lost_log_parts, 1, "{changes} changes, {survival:?}");
                assert_eq!(batches(&disk).unwrap(), expected, "{changes} changes, {survival:?}");
            }
        }
    }
}

/// Creates a file with some contents.
fn put(disk: &SimulatedDisk, name: &str) {
    disk.create_new(name).unwrap().write_all(b"contents").unwrap();
}

#[test]
fn leftovers_go_and_nothing_else_does() {
    let disk = disk();
    let manifest = manifest(1);
    let needed = [
        "log/000023",
        "log/000024",
        "segments/000017.hamdex",
        "segments/000018.hamdex",
        "deletes/000017-4",
        "lock",
    ];
    let own = [
        "manifest.new",
        "manifest.copy.new",
        "log/000022",
        "log/000023.new",
        "segments/000016.hamdex",
        "segments/000019.hamdex",
        "deletes/000017-3",
        "deletes/000017-5",
        "deletes/000018-1",
        "deletes/000009-4",
    ];
    let foreign =
        ["notes.txt", "log/000022.gz", "segments/17.hamdex", "segments/copy.hamdex", "deletes/000017"];
    let mut file = ManifestFile::new(&disk);
    file.replace(&manifest).unwrap();
    for name in needed.iter().chain(&own).chain(&foreign) {
        put(&disk, name);
    }
    let sorted = |names: &[&str]| {
        let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let mut found = leftovers(&disk, &manifest).unwrap();
    found.sort();
    assert_eq!(found, sorted(&own));
    let mut removed = file.take_over(&manifest, true).unwrap();
    removed.sort();
    assert_eq!(removed, sorted(&own));
    for name in needed.iter().chain(&foreign) {
        assert!(disk.exists(name).unwrap(), "{name}");
    }
    assert!(leftovers(&disk, &manifest).unwrap().is_empty());
}

/// A manifest is renamed into place, and the sync of its name fails. The next process finds it, and removes the files
/// that it does not name. Then power is lost.
#[test]
fn no_file_goes_that_the_manifest_of_before_a_crash_would_need() {
    let (old, new) = (manifest(1), Manifest { segments: Vec::new(), ..manifest(2) });
    let poisoned = || {
        let disk = disk();
        let mut file = ManifestFile::new(&disk);
        file.replace(&old).unwrap();
        put(&disk, "segments/000017.hamdex");
        disk.sync_directory("segments").unwrap();
        // The last of the operations of a replacement.
        let before = disk.operations();
        let rehearsal = self::disk();
        let begun = rehearsal.operations();
        ManifestFile::new(&rehearsal).replace(&old).unwrap();
        disk.fail_operation(before + rehearsal.operations() - begun, Failure::Io);
        file.replace(&new).unwrap_err();
        assert!(file.is_poisoned());
        disk
    };
    let disk = poisoned();
    assert_eq!(read(&disk).unwrap(), new);
    // The manifest that a crash leaves is the old one. Its copy is durable and counts.
    let crashed = disk.crashed(Survival::Nothing);
    assert_eq!(parse(&crashed.read("manifest").unwrap()).unwrap(), old);
    assert_eq!(read(&crashed).unwrap(), new);

    let mut file = ManifestFile::new(&disk);
    let before = disk.changes();
    assert_eq!(file.take_over(&new, false).unwrap(), ["segments/000017.hamdex"]);
    for survival in survivals(50) {
        assert_eq!(read(&disk.crashed(survival)).unwrap(), new, "{survival:?}");
    }
    for changes in before..=disk.changes() {
        let disk = poisoned();
        disk.lose_power_after(changes);
        let _ = ManifestFile::new(&disk).take_over(&new, false);
        for survival in survivals(50) {
            let disk = disk.crashed(survival);
            let is_there = disk.exists("segments/000017.hamdex").unwrap();
            assert!(read(&disk).unwrap() == new || is_there, "{changes} changes, {survival:?}");
        }
    }
}
