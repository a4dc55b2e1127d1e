//! Reading a store that another handle writes to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hamdex_simulated_disk::{Failure, SimulatedDisk};
use hamdex_store::disk::Disk;
use hamdex_store::{Operation, ReadOptions, Store, StoreReader};
use proptest::prelude::*;

use crate::common::{Chance, Model, assert_same, shape, tiny};
use crate::gated::GatedDisk;

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

/// An event in a store between two refreshes of a reader.
#[derive(Debug, Clone, Copy)]
enum Event {
    Write(u64),
    Remove(usize),
    Flush,
    Compact,
    Purge,
    Reopen,
    Refresh,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (1u64..120).prop_map(Event::Write),
        3 => (1usize..40).prop_map(Event::Remove),
        3 => Just(Event::Flush),
        1 => Just(Event::Compact),
        1 => Just(Event::Purge),
        1 => Just(Event::Reopen),
        4 => Just(Event::Refresh),
    ];
    prop::collection::vec(event, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 200 }))]

    /// A refreshed reader shows the same as a new one while a writer works.
    #[test]
    fn a_refreshed_reader_is_the_same_as_a_new_one(events in events(), seed: u64, ids: bool, in_memory: bool) {
        let disk = SimulatedDisk::new();
        let options = || tiny().merges(false);
        let mut store = Store::<u64>::create_on(disk.clone(), &shape(ids), options()).unwrap();
        let (mut chance, mut model) = (Chance(seed), Model::default());
        let read = ReadOptions::new().in_memory(in_memory);
        let mut reader = StoreReader::<u64>::open_on(disk.clone(), read).unwrap();
        for event in events {
            match event {
                Event::Write(count) => {
                    let operations = chance.operations(count, ids);
                    model.apply(&operations);
                    store.write(operations).unwrap();
                }
                Event::Remove(count) => {
                    let all: Vec<_> = model.0.iter().copied().collect();
                    let step = (all.len() / count).max(1);
                    let gone: Vec<_> = all.into_iter().step_by(step).map(|(f, id)| Operation::Remove(f, id)).collect();
                    model.apply(&gone);
                    store.write(gone).unwrap();
                }
                Event::Flush => store.flush().unwrap(),
                Event::Compact => store.compact().unwrap(),
                Event::Purge => drop(store.purge().unwrap()),
                Event::Reopen => {
                    store.close().unwrap();
                    store = Store::open_on(disk.clone(), options()).unwrap();
                }
                Event::Refresh => {
                    let is_new = reader.has_changed().unwrap();
                    let before = reader.snapshot();
                    reader.refresh().unwrap();
                    assert_same(&reader.snapshot(), &model, &[chance.fingerprint()], ids);
                    prop_assert!(is_new || before.pairs_in_order().count() == model.0.len());
                    prop_assert!(!reader.has_changed().unwrap());
                }
            }
        }
        reader.refresh().unwrap();
        assert_same(&reader.snapshot(), &model, &[chance.fingerprint()], ids);
    }
}

#[test]
fn a_refresh_reads_no_more_than_what_is_new() {
    let disk = GatedDisk::new();
    let store =
        Store::<u64>::create_on(disk.clone(), &shape(true), tiny().memory(64 << 20).merges(false)).unwrap();
    let mut chance = Chance(9);
    let insert = |count: u64, chance: &mut Chance| {
        store.write((0..count).map(|id| Operation::Insert(chance.next(), id)).collect()).unwrap();
    };
    insert(20_000, &mut chance);
    let mut reader = StoreReader::<u64>::open_on(disk.clone(), ReadOptions::new()).unwrap();
    insert(100, &mut chance);
    disk.bytes_read();
    reader.refresh().unwrap();
    let of_more = disk.bytes_read();
    assert!(of_more < 100 * 17 + 4_000, "{of_more} bytes for 100 pairs");
    assert!(!reader.has_changed().unwrap());
    // The flushed pairs come with their segment, and nothing of the log is read again.
    store.flush().unwrap();
    insert(50, &mut chance);
    disk.bytes_read();
    assert!(reader.has_changed().unwrap());
    reader.refresh().unwrap();
    let segment: u64 = disk
        .list("segments")
        .unwrap()
        .iter()
        .map(|name| disk.length(&format!("segments/{name}")).unwrap())
        .sum();
    let of_flush = disk.bytes_read();
    assert!(of_flush < segment + 50 * 17 + 4_000, "{of_flush} bytes, and a segment of {segment}");
    // Removals: neither the segment nor the log is read again.
    insert(10_000, &mut chance);
    reader.refresh().unwrap();
    let gone: Vec<_> = reader.snapshot().pairs_in_order().step_by(100).map(Result::unwrap).collect();
    store.write(gone.iter().map(|&(f, id)| Operation::Remove(f, id)).collect()).unwrap();
    disk.bytes_read();
    reader.refresh().unwrap();
    let of_removals = disk.bytes_read();
    assert!(of_removals < gone.len() as u64 * 17 + 4_000, "{of_removals} bytes for {} removals", gone.len());
    assert_eq!(reader.snapshot().pairs_in_order().count(), 30_150 - gone.len());
}

#[test]
fn a_backup_that_is_put_in_the_place_of_a_store_is_what_a_reader_sees() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("s"), directory.path().join("copy"));
    let store = Store::<u64>::create(&path, &shape(true), tiny().memory(1 << 20).merges(false)).unwrap();
    let (mut chance, mut model) = (Chance(5), Model::default());
    let before = chance.operations(60, true);
    model.apply(&before);
    store.write(before).unwrap();
    store.backup(&copy).unwrap();
    store.write(chance.operations(200, true)).unwrap();
    let mut reader = StoreReader::<u64>::open(&path).unwrap();
    assert!(reader.snapshot().pairs_in_order().count() > model.0.len());
    drop(store);
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    assert!(reader.has_changed().unwrap());
    reader.refresh().unwrap();
    assert_same(&reader.snapshot(), &model, &[chance.fingerprint()], true);
    assert!(!reader.has_changed().unwrap());
}

#[test]
fn a_refresh_that_failed_is_made_up_for_by_the_next() {
    for number in 1..60 {
        let disk = SimulatedDisk::new();
        let store = Store::<u64>::create_on(disk.clone(), &shape(true), tiny().merges(false)).unwrap();
        let (mut chance, mut model) = (Chance(number), Model::default());
        let mut write = |count| {
            let operations = chance.operations(count, true);
            model.apply(&operations);
            store.write(operations).unwrap();
            model.clone()
        };
        write(200);
        store.flush().unwrap();
        let before = write(100);
        let mut reader = StoreReader::<u64>::open_on(disk.clone(), ReadOptions::new()).unwrap();
        store.flush().unwrap();
        let after = write(100);
        disk.fail_operations(disk.operations() + number..disk.operations() + number + 40, Failure::Io);
        let outcome = reader.refresh();
        disk.fail_operations(0..0, Failure::Io);
        assert_same(&reader.snapshot(), if outcome.is_ok() { &after } else { &before }, &[7], true);
        reader.refresh().unwrap();
        assert_same(&reader.snapshot(), &after, &[7], true);
    }
}
