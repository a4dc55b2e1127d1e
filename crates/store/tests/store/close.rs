//! Closing a store: durability and errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex::{BuildError, Report};
use hamdex_simulated_disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::{Durability, Error, Operation, Store, StoreOptions, When};

use crate::common::{shape, tiny};

fn unsynced() -> StoreOptions {
    tiny().merges(false).durability(Durability::None)
}

#[test]
fn what_was_written_is_durable_when_the_store_is_closed() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
    store.insert(7, 1).unwrap();
    assert!(
        !Store::<u64>::open_on(disk.crashed(Survival::Nothing), unsynced())
            .unwrap()
            .snapshot()
            .contains(7)
            .unwrap()
    );
    store.close().unwrap();
    let store = Store::<u64>::open_on(disk.crashed(Survival::Nothing), unsynced()).unwrap();
    assert!(store.snapshot().contains(7).unwrap());
}

#[test]
fn a_store_with_another_handle_stays_open_for_it() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
    let other = store.clone();
    store.insert(7, 1).unwrap();
    store.close().unwrap();
    // Durable, and open.
    let crashed = Store::<u64>::open_on(disk.crashed(Survival::Nothing), unsynced()).unwrap();
    assert!(crashed.snapshot().contains(7).unwrap());
    other.insert(8, 1).unwrap();
    assert!(Store::<u64>::open_on(disk.clone(), unsynced()).is_err(), "it is held");
    other.close().unwrap();
    assert!(Store::<u64>::open_on(disk, unsynced()).unwrap().snapshot().contains(8).unwrap());
}

#[test]
fn failures_at_the_end_are_errors_of_close() {
    let whole = || {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
        store.insert(7, 1).unwrap();
        (disk, store)
    };
    let (disk, store) = whole();
    let before = disk.operations();
    store.close().unwrap();
    let operations = disk.operations() - before;
    assert!(operations >= 4, "the log and a manifest are synced");
    let mut failed = 0;
    for number in 1..=operations {
        let (disk, store) = whole();
        disk.fail_operation(disk.operations() + number, Failure::Io);
        failed += u64::from(store.close().is_err());
        disk.fail_operations(0..0, Failure::Io);
        // Closed nevertheless.
        let store = Store::<u64>::open_on(disk, unsynced()).unwrap();
        store.insert(8, 1).unwrap();
        store.close().unwrap();
    }
    assert!(failed >= 3, "{failed} of {operations}");
}

#[test]
fn a_store_is_closed_for_all_handles() {
    let disk = SimulatedDisk::new();
    let store =
        Store::<u64>::create_on(disk.clone(), &shape(true), tiny().durability(Durability::None)).unwrap();
    let other = store.clone();
    store.insert(7, 1).unwrap();
    let snapshot = other.snapshot();
    store.shutdown().unwrap();
    // Another one may have it, though a handle is left.
    let next = Store::<u64>::open_on(disk.clone(), tiny()).unwrap();
    assert!(next.snapshot().contains(7).unwrap() && snapshot.contains(7).unwrap());
    let outcomes = [
        other.insert(8, 1),
        other.flush(),
        other.compact(),
        other.settle(),
        other.sync(),
        other.reopen(),
        other.purge().map(drop),
        other.backup_to(&disk.sibling("copy")),
        other.put([(9, 1)], When::unless_near(3)).map(drop),
        other.shutdown(),
    ];
    let (last, refused) = outcomes.split_last().unwrap();
    assert!(last.is_ok(), "closed already");
    assert!(refused.iter().all(|outcome| matches!(outcome, Err(Error::Closed { .. }))), "{refused:?}");
    next.insert(8, 2).unwrap();
    assert!(!other.snapshot().contains(8).unwrap());
}

#[test]
fn work_on_its_way_is_cancelled_when_the_store_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::<u64>::create(&path, &shape(true), unsynced()).unwrap();
    for id in 0..2 {
        store.write((0..5000).map(|n| Operation::Insert(n << 40 | id, id)).collect()).unwrap();
        store.flush().unwrap();
    }
    let (is_begun, is_closing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let compacting = {
        let (store, is_begun, is_closing) = (store.clone(), Arc::clone(&is_begun), Arc::clone(&is_closing));
        thread::spawn(move || {
            store.compact_with(&Report::new().progress(move |_| {
                is_begun.store(true, Ordering::SeqCst);
                while !is_closing.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                // The others have time to cancel it.
                thread::sleep(std::time::Duration::from_millis(1));
            }))
        })
    };
    while !is_begun.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    let closing = thread::spawn(move || store.shutdown());
    thread::sleep(std::time::Duration::from_millis(20));
    is_closing.store(true, Ordering::SeqCst);
    closing.join().unwrap().unwrap();
    let outcome = compacting.join().unwrap();
    assert!(matches!(outcome, Err(Error::Build(BuildError::Stopped))), "{outcome:?}");
    let store = Store::<u64>::open(&path, unsynced()).unwrap();
    assert_eq!(store.stats().segments.len(), 2);
    assert_eq!(store.snapshot().pairs_in_order().count(), 10_000);
}
