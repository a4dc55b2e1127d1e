//! Repair of logs: intact records are salvaged, and damaged logs are kept. Only leftovers are removed.

use std::io::Write;

use hamdex_store::Error;
use hamdex_store::disk::{Disk, Failure, SimulatedDisk, Survival};
use hamdex_store::internals::log::{LogWriter, Salvaged, salvage};
use hamdex_store::internals::manifest::{Manifest, ManifestFile, leftovers, parse, read};
use hamdex_store::internals::repair_on;

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
    assert_eq!((found.batches, found.operations), (BATCHES - 1, 3 * (BATCHES - 1)));
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
    found.own.sort();
    found.foreign.sort();
    assert_eq!((found.own, found.foreign), (sorted(&own), sorted(&foreign)));
    let mut removed = file.take_over(&manifest, true).unwrap();
    removed.sort();
    assert_eq!(removed, sorted(&own));
    for name in needed.iter().chain(&foreign) {
        assert!(disk.exists(name).unwrap(), "{name}");
    }
    assert!(leftovers(&disk, &manifest).unwrap().own.is_empty());
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
