//! The end: what is durable then, and what is said of failures.

use hamdex_store::disk::{Failure, SimulatedDisk, Survival};
use hamdex_store::{Durability, Store, StoreOptions};

use crate::common::{shape, tiny};

fn unsynced() -> StoreOptions {
    tiny().merges(false).durability(Durability::None)
}

#[test]
fn what_was_written_is_durable_when_the_store_is_closed() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64, _>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
    store.insert(7, 1).unwrap();
    assert!(
        !Store::<u64, _>::open_on(disk.crashed(Survival::Nothing), unsynced())
            .unwrap()
            .snapshot()
            .contains(7)
            .unwrap()
    );
    store.close().unwrap();
    let store = Store::<u64, _>::open_on(disk.crashed(Survival::Nothing), unsynced()).unwrap();
    assert!(store.snapshot().contains(7).unwrap());
}

#[test]
fn a_store_with_another_handle_stays_open_for_it() {
    let disk = SimulatedDisk::new();
    let store = Store::<u64, _>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
    let other = store.clone();
    store.insert(7, 1).unwrap();
    store.close().unwrap();
    // Durable, and open.
    let crashed = Store::<u64, _>::open_on(disk.crashed(Survival::Nothing), unsynced()).unwrap();
    assert!(crashed.snapshot().contains(7).unwrap());
    other.insert(8, 1).unwrap();
    assert!(Store::<u64, _>::open_on(disk.clone(), unsynced()).is_err(), "it is held");
    other.close().unwrap();
    assert!(Store::<u64, _>::open_on(disk, unsynced()).unwrap().snapshot().contains(8).unwrap());
}

#[test]
fn failures_at_the_end_are_errors_of_close() {
    let whole = || {
        let disk = SimulatedDisk::new();
        let store = Store::<u64, _>::create_on(disk.clone(), &shape(true), unsynced()).unwrap();
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
        // Closed all the same.
        let store = Store::<u64, _>::open_on(disk, unsynced()).unwrap();
        store.insert(8, 1).unwrap();
        store.close().unwrap();
    }
    assert!(failed >= 3, "{failed} of {operations}");
}
