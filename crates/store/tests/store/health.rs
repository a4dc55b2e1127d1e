//! Failures of background work, and their remedies.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hamdex::VerifyOptions;
use hamdex_simulated_disk::{Failure as DiskFailure, SimulatedDisk, Survival};
use hamdex_store::health::{Event, Merges, Remedy, Work};
use hamdex_store::{Durability, Error, Operation, Snapshot, Store, StoreReader};

use crate::common::{Chance, Model, assert_same, shape, tiny};
use crate::gated::GatedDisk;

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_millis(1));
    }
}

fn pairs(snapshot: &Snapshot<u64>) -> Vec<(u64, u64)> {
    snapshot.pairs_in_order().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_full_disk_is_seen_and_work_goes_on_by_itself_when_there_is_room() {
    let disk = SimulatedDisk::new();
    let options = tiny().durability(Durability::None);
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    store.on_event(move |event| seen.lock().unwrap().push(event.clone()));
    let (mut chance, mut model) = (Chance(2), Model::default());
    let mut fill = |store: &Store<u64>| {
        for _ in 0..40 {
            let pairs: Vec<_> = (0..100).map(|_| (chance.next(), 1)).collect();
            let operations = pairs.iter().map(|pair| Operation::Insert(pair.0, pair.1)).collect();
            if store.write(operations).is_ok() {
                model.0.extend(pairs);
            }
        }
    };
    fill(&store);
    disk.set_full(true);
    fill(&store);
    assert!(matches!(store.flush(), Err(Error::Io { .. } | Error::Build(_) | Error::Full { .. })));
    until(|| store.health().failures.iter().any(|failure| failure.work == Work::Log));
    assert!(store.health().failures.iter().all(|failure| failure.remedy == Remedy::Retry));
    disk.set_full(false);
    fill(&store);
    until(|| store.health().failures.is_empty());
    store.flush().unwrap();
    assert_same(&store.snapshot(), &model, &[0], true);
    let events = events.lock().unwrap();
    assert!(events.iter().any(|event| matches!(event, Event::Done(Work::Flush, _))));
    let failed =
        events.iter().any(|event| matches!(event, Event::Failed(failure) if failure.work == Work::Log));
    assert!(failed && events.iter().any(|event| matches!(event, Event::Recovered(Work::Log))));
}

#[test]
fn a_flush_that_fails_is_seen_and_tried_again() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny()).unwrap();
    let mut chance = Chance(3);
    let mut batch = || (0..100).map(|_| Operation::Insert(chance.next(), 1)).collect::<Vec<_>>();
    // Every creation of a segment fails, and nothing else.
    disk.fail_names(Some("segments/"));
    until(|| {
        let outcome = store.write(batch());
        let failures = store.health().failures;
        let flush = failures.iter().find(|failure| failure.work == Work::Flush);
        if let Err(error) = outcome {
            assert!(matches!(error, Error::Full { .. }), "{error}");
        }
        flush.is_some_and(|failure| failure.attempts > 1 && failure.message.contains("segments"))
    });
    disk.fail_names(None);
    until(|| store.health().failures.is_empty());
    store.write(batch()).unwrap();
}

#[test]
fn a_poisoned_store_is_seen_and_opened_again_in_place() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let other = store.clone();
    let (mut chance, mut model) = (Chance(4), Model::default());
    for round in 0..4 {
        for _ in 0..3 {
            let operations = chance.operations(120, true);
            model.apply(&operations);
            store.write(operations).unwrap();
        }
        let before = store.snapshot();
        disk.fail_operation(disk.operations() + 1, DiskFailure::Io);
        // The batch may be there or not: insert what is there already.
        let known = *model.0.first().unwrap();
        assert!(store.insert(known.0, known.1).is_err());
        assert!(matches!(other.insert(known.0, known.1), Err(Error::Poisoned { .. })));
        let failures = store.health().failures;
        assert!(failures.iter().any(|failure| (failure.work, failure.remedy) == (Work::Log, Remedy::Reopen)));
        if round % 2 == 0 {
            // A disk that still fails changes nothing.
            disk.fail_operations(disk.operations()..u64::MAX, DiskFailure::Io);
            assert!(store.reopen().is_err());
            disk.fail_operations(0..0, DiskFailure::Io);
        }
        store.reopen().unwrap();
        assert!(other.health().failures.is_empty());
        assert_same(&other.snapshot(), &model, &[chance.fingerprint()], true);
        assert_same(&before, &model, &[chance.fingerprint()], true);
        let (fingerprint, id) = (chance.next(), 3);
        other.insert(fingerprint, id).unwrap();
        model.0.insert((fingerprint, id));
        if round == 1 {
            other.compact().unwrap();
        }
    }
    store.verify(&VerifyOptions::new()).unwrap();
    store.shutdown().unwrap();
    let store = Store::<u64>::open_on(disk, tiny()).unwrap();
    assert_same(&store.snapshot(), &model, &[0], true);
}

#[test]
fn what_was_acknowledged_stays_whatever_becomes_of_a_reopening() {
    let mut failed = 0;
    for number in 1..60 {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
        let (mut chance, mut model) = (Chance(number), Model::default());
        let mut write = |store: &Store<u64>, model: &mut Model<u64>| {
            let operations = chance.operations(40, true);
            let outcome = store.write(operations.clone());
            if outcome.is_ok() {
                model.apply(&operations);
            }
            outcome
        };
        write(&store, &mut model).unwrap();
        store.flush().unwrap();
        write(&store, &mut model).unwrap();
        disk.fail_operation(disk.operations() + number, DiskFailure::Io);
        let reopened = store.reopen();
        disk.fail_operations(0..0, DiskFailure::Io);
        let written = write(&store, &mut model);
        if reopened.is_err() {
            failed += 1;
            assert!(matches!(written, Err(Error::Poisoned { .. })), "{number}: {written:?}");
            store.reopen().unwrap();
        }
        write(&store, &mut model).unwrap();
        assert_same(&store.snapshot(), &model, &[0], true);
        let crashed = disk.crashed(Survival::Nothing);
        let store = Store::<u64>::open_on(crashed, tiny()).unwrap();
        assert_same(&store.snapshot(), &model, &[0], true);
    }
    assert!(failed > 10, "{failed}");
}

#[test]
fn a_damaged_segment_is_named_and_keeps_no_other_from_being_merged() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let mut chance = Chance(5);
    for _ in 0..2 {
        let pairs = (0..2000).map(|_| Operation::Insert(chance.next(), 1));
        store.write(pairs.collect()).unwrap();
        store.flush().unwrap();
    }
    let damaged = store.stats().segments[0].number;
    store.close().unwrap();
    // A block in the middle of the first table.
    disk.alter(&format!("segments/{damaged:06}.hamdex"), |bytes| bytes[6000] ^= 1);
    let store = Store::<u64>::open_on(disk, tiny()).unwrap();
    let mut batch = || (0..100).map(|_| Operation::Insert(chance.next(), 1)).collect::<Vec<_>>();
    until(|| {
        store.write(batch()).unwrap();
        let failures = store.health().failures;
        failures.iter().any(|failure| (failure.work, failure.remedy) == (Work::Merge, Remedy::Repair))
    });
    for _ in 0..300 {
        store.write(batch()).unwrap();
        assert!(store.stats().segments.len() <= 20);
    }
    until(|| store.stats().segments.len() <= 6);
    assert!(store.stats().segments.iter().any(|segment| segment.number == damaged));
}

#[test]
fn statistics_and_writes_wait_neither_for_verify_nor_for_backup() {
    let disk = GatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(6), Model::default());
    let mut write = |store: &Store<u64>| {
        let operations = chance.operations(300, true);
        model.apply(&operations);
        store.write(operations).unwrap();
        store.flush().unwrap();
        store.remove_fingerprint(0).unwrap();
        model.0.retain(|pair| pair.0 != 0);
        store.compact().unwrap();
        assert_eq!(store.stats().segments.len(), 1);
        model.clone()
    };
    write(&store);
    let copied = pairs(&store.snapshot());
    let target = disk.sibling("copy");
    // Logs are copied last. By then, all other files of the copied moment have gone from the store.
    target.close_gate("log/");
    thread::scope(|scope| {
        let backup = scope.spawn(|| store.backup_to(&target).unwrap());
        disk.wait_until_held();
        for _ in 0..3 {
            write(&store);
        }
        disk.open_gate();
        backup.join().unwrap();
    });
    let copy = Store::<u64>::open_on(target, tiny()).unwrap();
    assert_eq!(pairs(&copy.snapshot()), copied);

    let (is_reached, is_held) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    let (reached, held) = (Arc::clone(&is_reached), Arc::clone(&is_held));
    let options = VerifyOptions::new().threads(1).progress(move |_| {
        reached.store(true, Ordering::SeqCst);
        until(|| !held.load(Ordering::SeqCst));
    });
    thread::scope(|scope| {
        let verify = scope.spawn(|| store.verify(&options).unwrap());
        until(|| is_reached.load(Ordering::SeqCst));
        for _ in 0..3 {
            write(&store);
        }
        is_held.store(false, Ordering::SeqCst);
        assert_eq!(verify.join().unwrap().files, 1);
    });
    let model = write(&store);
    assert_same(&store.snapshot(), &model, &[0], true);
    // The files kept for the readers are removed.
    assert_eq!(store.verify(&VerifyOptions::new()).unwrap().notes, Vec::<String>::new());
}

#[test]
fn bytes_written_are_compared_with_what_was_added() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk, &shape(true), tiny().merges(false)).unwrap();
    assert_eq!(store.stats().write_amplification, 0.0);
    let batch = |seed: u64| {
        let mut chance = Chance(seed);
        (0..3000).map(|_| Operation::Insert(chance.next(), 1)).collect::<Vec<_>>()
    };
    store.write(batch(1)).unwrap();
    store.flush().unwrap();
    let once = store.stats().write_amplification;
    assert!((1.0..4.0).contains(&once), "a log and a segment: {once}");
    store.write(batch(2)).unwrap();
    store.flush().unwrap();
    store.compact().unwrap();
    let merged = store.stats().write_amplification;
    assert!((once + 0.5..once + 1.5).contains(&merged), "{once}, and once more by the merge: {merged}");
    // Later removals do not change the files that were written. Their log has 49 bytes each, and counts when it is
    // flushed.
    let logged = 3000.0 * 49.0 / store.stats().bytes as f64;
    for operation in batch(1) {
        store.remove_fingerprint(operation.pair().0).unwrap();
    }
    store.compact().unwrap();
    assert!(store.stats().write_amplification < merged + logged + 1.0);
}

#[test]
fn another_process_sees_the_health_of_the_one_that_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), tiny()).unwrap();
    let reader = StoreReader::<u64>::open(&path).unwrap();
    let health = || reader.stats().health;
    until(|| health().is_some_and(|health| health.merges == Merges::On));
    assert!(health().unwrap().holder.starts_with(&format!("process {}", std::process::id())));
    // No segment can be created: its directory is a file.
    fs::remove_dir(path.join("segments")).unwrap();
    fs::write(path.join("segments"), "in the way").unwrap();
    let mut chance = Chance(9);
    let mut batch = || (0..200).map(|_| Operation::Insert(chance.next(), 1)).collect::<Vec<_>>();
    until(|| {
        let _ = store.write(batch());
        let failures = health().map(|health| health.failures).unwrap_or_default();
        failures.iter().any(|failure| failure.work == Work::Flush && failure.message.contains("segments"))
    });
    store.pause_merges(true);
    until(|| health().is_some_and(|health| health.merges == Merges::Paused));
    fs::remove_file(path.join("segments")).unwrap();
    fs::create_dir(path.join("segments")).unwrap();
    until(|| health().is_some_and(|health| health.failures.is_empty()));
    // Reading the status does not block a writer.
    drop(store);
    assert!(health().is_none());
    drop(Store::<u64>::open(&path, tiny()).unwrap());
}

#[test]
fn syncs_flushes_and_merges_are_seen() {
    let store = Store::<u64>::create_on(SimulatedDisk::new(), &shape(true), tiny()).unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    store.on_event(move |event| {
        seen.lock().unwrap().push(event.clone());
    });
    let mut chance = Chance(5);
    for _ in 0..2 {
        for _ in 0..3 {
            store.insert(chance.next(), 1).unwrap();
        }
        store.flush().unwrap();
    }
    store.compact().unwrap();
    let events = events.lock().unwrap();
    let count =
        |of| events.iter().filter(|event| matches!(event, Event::Done(work, _) if *work == of)).count();
    assert!(count(Work::Sync) >= 6 && count(Work::Flush) == 2 && count(Work::Merge) >= 1, "{events:?}");
    let added: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Added(number) = event { Some(*number) } else { None })
        .collect();
    let stored = store.stats().segments;
    assert!(added.len() == 2 + count(Work::Merge) && added.is_sorted(), "{events:?}");
    assert_eq!(stored.iter().map(|segment| segment.number).collect::<Vec<_>>(), [*added.last().unwrap()]);
}
