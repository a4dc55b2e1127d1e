//! Writers that are faster than flushes and merges, and stores with too many segments.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::health::{Merges, Pressure};
use hamdex_store::{Durability, Error, Operation, Store, StoreOptions};

use crate::common::{Chance, Model, assert_same, shape, tiny};
use crate::gated::GatedDisk;

/// More segments than one merge takes.
const MANY: u64 = 300;

/// The bound of segments while merges run.
const MAX_SEGMENTS: usize = 20;

/// Every batch in a segment of its own.
fn with_many_segments(disk: &SimulatedDisk) -> Model<u64> {
    let mut model = Model::default();
    let options = StoreOptions::new().merges(false).durability(Durability::None).threads(1);
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    let mut chance = Chance(31);
    for id in 0..MANY {
        let pair = (chance.next(), id);
        store.insert(pair.0, pair.1).unwrap();
        model.0.insert(pair);
        store.flush().unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.segments.len(), store.health().merges), (MANY as usize, Merges::Off));
    store.close().unwrap();
    model
}

#[test]
fn any_number_of_segments_is_merged() {
    let disk = SimulatedDisk::new();
    let model = with_many_segments(&disk);
    for compacts in [true, false] {
        let copy = disk.crashed(hamdex_simulated_disk::Survival::Everything);
        let store = Store::<u64>::open_on(copy, tiny().merges(false)).unwrap();
        if compacts {
            store.compact().unwrap();
            assert_eq!(store.stats().segments.len(), 1);
        } else {
            store.settle().unwrap();
            assert!(store.stats().segments.len() <= 5);
        }
        assert_same(&store.snapshot(), &model, &[0], true);
    }
    // One that merges by itself finds its way back, and can be written to meanwhile.
    let store = Store::<u64>::open_on(disk, tiny()).unwrap();
    store.insert(7, 7).unwrap();
    while store.stats().segments.len() > 5 {
        assert!(store.health().failures.is_empty());
        thread::sleep(Duration::from_millis(1));
    }
    assert!(store.snapshot().contains(7).unwrap());
}

#[test]
fn there_are_few_segments_whatever_a_writer_does() {
    let directory = tempfile::tempdir().unwrap();
    let options = tiny().durability(Durability::None);
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), options).unwrap();
    let (is_over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let models: Vec<Model<u64>> = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                most.fetch_max(store.stats().segments.len(), Ordering::Relaxed);
            }
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                store.compact().unwrap();
                store.settle().unwrap();
            }
        });
        let writers: Vec<_> = (0..3u64)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    let (mut chance, mut model) = (Chance(writer), Model::default());
                    for batch in 0..250 {
                        let pairs: Vec<(u64, u64)> = (0..200).map(|_| (chance.next(), writer)).collect();
                        let operations = pairs.iter().map(|pair| Operation::Insert(pair.0, pair.1));
                        store.write(operations.collect()).unwrap();
                        model.0.extend(pairs);
                        if batch % 3 == 0 {
                            store.flush().unwrap();
                        }
                    }
                    model
                })
            })
            .collect();
        let models = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        models
    });
    assert!(most.into_inner() <= MAX_SEGMENTS);
    let model = Model(models.into_iter().flat_map(|model| model.0).collect());
    let found: Vec<(u64, u64)> = store.snapshot().pairs_in_order().collect::<Result<_, _>>().unwrap();
    assert_eq!(found, model.0.into_iter().collect::<Vec<_>>());
}

#[test]
fn flush_settle_compact_and_purge_end_while_others_write_without_pause() {
    let directory = tempfile::tempdir().unwrap();
    let options = tiny().durability(Durability::None);
    let store = Store::<u64>::create(directory.path().join("s"), &shape(true), options).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2u64 {
            let (store, is_over) = (&store, &is_over);
            scope.spawn(move || {
                let mut chance = Chance(writer);
                while !is_over.load(Ordering::Relaxed) {
                    let operations = (0..500).map(|number| match number % 8 {
                        0 => Operation::Remove(chance.next() % 10_000, writer),
                        _ => Operation::Insert(chance.next() % 10_000, writer),
                    });
                    store.write(operations.collect()).unwrap();
                }
            });
        }
        // Without the change these never return: the test hangs.
        for _ in 0..3 {
            store.flush().unwrap();
            store.settle().unwrap();
            store.compact().unwrap();
            store.purge().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_write_gives_up_at_its_deadline_and_removals_need_no_room() {
    let disk = GatedDisk::new();
    let options = tiny().durability(Durability::None);
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options).unwrap();
    let (mut chance, mut model) = (Chance(5), Model::default());
    let soon = |store: &Store<u64>| store.with_deadline(Instant::now() + Duration::from_millis(30));
    // No flush ends, so memory is full some time.
    disk.close_gate("segments/");
    let refused = loop {
        let pair = (chance.next(), 1);
        let operations = (0..100).map(|n| Operation::Insert(pair.0 + n, pair.1)).collect();
        match soon(&store).write(operations) {
            Ok(_) => model.0.extend((0..100).map(|n| (pair.0 + n, pair.1))),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::TimedOut { .. }), "{refused}");
    assert!(store.with_deadline(Instant::now()).insert(1, 1).is_err());
    assert_ne!(store.health().pressure, Pressure::None);
    // Also while another write waits.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| store.insert(1, 1));
        while store.health().queue == 0 {
            thread::yield_now();
        }
        for _ in 0..50 {
            let pair = model.0.pop_first().unwrap();
            assert!(store.remove(pair.0, pair.1).unwrap());
        }
        assert!(matches!(soon(&store).insert(2, 2), Err(Error::TimedOut { .. })));
        assert_eq!(store.health().queue, 1);
        disk.open_gate();
        waiting.join().unwrap().unwrap();
    });
    model.0.insert((1, 1));
    store.flush().unwrap();
    assert_same(&store.snapshot(), &model, &[1, 2], true);
}
