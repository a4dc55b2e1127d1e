//! Work on crowded data grows no faster than n log n.
//!
//! Each work is timed with n and with eight times as many records in one run. Linear work takes eight times as long,
//! n log n about ten times, and n² 64 times. The limit lies between, far from both; other processes can only make a try
//! fail that another one passes. Searches in clusters are counted where they are made, in the tests of the memtable.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use hamdex::FingerprintSet;
use hamdex_simulated_disk::SimulatedDisk;
use hamdex_store::disk::Disk;
use hamdex_store::{CreateOptions, Durability, Operation, Record, Store, StoreOptions, StoreReader, When};
use tempfile::TempDir;

use crate::common::{seeds, shape};
use crate::crowded::Crowd;

/// How many times as many records the longer work has.
const TIMES: u64 = 8;

/// How many times as long it may take.
const MAX_TIMES: f64 = 24.0;

/// How many times as long as with evenly spread fingerprints a search in a crowd may take: twice what is wanted, since
/// tests compile comparisons without wide instructions.
const MAX_TIMES_EVEN: f64 = 6.0;

/// Tries, of which one has to pass.
const TRIES: usize = 6;

/// Work that is too short to be timed passes.
const NOTHING: Duration = Duration::from_millis(40);

fn assert_grows_slowly(what: &str, count: u64, work: impl Fn(u64) -> Duration) {
    // Longer in a campaign.
    let count = count * seeds(0..1).end.min(8);
    let mut all = Vec::new();
    for _ in 0..TRIES {
        let few = work(count).min(work(count)).min(work(count));
        let many = work(TIMES * count);
        let times = many.as_secs_f64() / few.as_secs_f64();
        if many < NOTHING || times < MAX_TIMES {
            println!("{what}: {TIMES} times as many took {times:.1} times as long");
            return;
        }
        all.push(times);
    }
    panic!("{what}: {TIMES} times as many took {all:.1?} times as long");
}

fn options() -> StoreOptions {
    StoreOptions::new().durability(Durability::None).memory(1 << 28).threads(1)
}

fn new_store(create: &CreateOptions) -> (TempDir, Store<u64>) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::create(path(&directory), create, options()).unwrap();
    (directory, store)
}

fn path(directory: &TempDir) -> PathBuf {
    directory.path().join("store")
}

fn with_names() -> CreateOptions {
    shape(true).names(true).lookups(true)
}

/// Returns the time that work takes this thread: on the processor, where the system tells, since other tests run, too.
fn timed(work: impl FnOnce()) -> Duration {
    let (started, before) = (Instant::now(), on_processor());
    work();
    match (before, on_processor()) {
        (Some(before), Some(after)) => after - before,
        _ => started.elapsed(),
    }
}

/// Returns the time that this thread has been on a processor, on Linux.
fn on_processor() -> Option<Duration> {
    let all = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    all.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// A store with so many ids on one fingerprint, in a segment.
fn one_fingerprint(count: u64) -> (TempDir, Store<u64>) {
    let (directory, store) = new_store(&shape(true));
    store.write((0..count).map(|id| Operation::Insert(7, id)).collect()).unwrap();
    store.flush().unwrap();
    (directory, store)
}

fn remove_in_batches(store: &Store<u64>, ids: impl Iterator<Item = u64>) {
    let operations: Vec<Operation<u64>> = ids.map(|id| Operation::Remove(7, id)).collect();
    for batch in operations.chunks(50) {
        assert_eq!(store.write(batch.to_vec()).unwrap().removed, batch.len() as u64);
    }
}

#[test]
fn replacing_one_name_again_and_again() {
    assert_grows_slowly("replacing one name", 400, |count| {
        let (_directory, store) = new_store(&with_names());
        timed(|| {
            for number in 0..count {
                let written = store.put([(number, "the same")], When::always().replacing()).unwrap();
                assert_eq!((written.inserted, written.removed), (1, u64::from(number > 0)));
            }
        })
    });
}

#[test]
fn replacing_one_name_unless_another_is_near() {
    assert_grows_slowly("replacing one name unless near", 400, |count| {
        let (_directory, store) = new_store(&with_names());
        timed(|| {
            for number in 0..count {
                let put = store.put([(number, "the same")], When::unless_near(3).replacing()).unwrap();
                assert!(put.outcomes[0].is_new());
            }
        })
    });
}

#[test]
fn replacing_a_name_of_many_records_again_and_again() {
    for is_flushed in [false, true] {
        assert_grows_slowly("replacing a name of many records", 400, |count| {
            let (_directory, store) = new_store(&with_names());
            store.put((0..count).map(|number| (number, "the same")), When::always()).unwrap();
            if is_flushed {
                store.flush().unwrap();
            }
            assert_eq!(store.put([(1u64, "the same")], When::always().replacing()).unwrap().removed, count);
            timed(|| {
                (0..count).for_each(|number| {
                    store.put([(number, "the same")], When::always().replacing()).unwrap();
                });
            })
        });
    }
}

#[test]
fn replacing_one_id_again_and_again() {
    assert_grows_slowly("replacing one id", 400, |count| {
        let (_directory, store) = new_store(&shape(true).lookups(true));
        timed(|| {
            (0..count).for_each(|number| {
                store.put([(number, 5)], When::always().replacing()).unwrap();
            });
        })
    });
}

#[test]
fn removing_ids_of_one_fingerprint() {
    assert_grows_slowly("removing half of the ids of a fingerprint", 5000, |count| {
        let (_directory, store) = one_fingerprint(2 * count);
        timed(|| remove_in_batches(&store, 0..count))
    });
    assert_grows_slowly("removing half of the ids of a fingerprint in memory", 2000, |count| {
        let (_directory, store) = new_store(&shape(true));
        store.write((0..2 * count).map(|id| Operation::Insert(7, id)).collect()).unwrap();
        timed(|| remove_in_batches(&store, (0..2 * count).step_by(2)))
    });
}

#[test]
fn opening_a_store_with_removed_ids_of_one_fingerprint() {
    assert_grows_slowly("opening a store with removed ids of a fingerprint", 5000, |count| {
        let (directory, store) = one_fingerprint(2 * count);
        remove_in_batches(&store, 0..count);
        store.close().unwrap();
        timed(|| drop(Store::<u64>::open(path(&directory), options()).unwrap()))
    });
    assert_grows_slowly("refreshing a reader after removals of ids of a fingerprint", 5000, |count| {
        let (directory, store) = one_fingerprint(2 * count);
        let mut reader = StoreReader::<u64>::open(path(&directory)).unwrap();
        remove_in_batches(&store, 0..count);
        timed(|| reader.refresh().unwrap())
    });
}

#[test]
fn queries_near_a_fingerprint_whose_ids_are_removed() {
    for is_flushed in [false, true] {
        let work = |count: u64| {
            let (_directory, store) = new_store(&shape(true));
            store.write((0..count).map(|id| Operation::Insert(7, id)).collect()).unwrap();
            if is_flushed {
                store.flush().unwrap();
            }
            // All but the last of them.
            store.write((0..count - 1).map(|id| Operation::Remove(7, id)).collect()).unwrap();
            let snapshot = store.snapshot();
            let mut searcher = snapshot.searcher();
            timed(|| {
                // One query per thousand ids: many of them, each of which is to take as long.
                for _ in 0..count / 1000 * 8 {
                    assert_eq!(searcher.within(6, 3).unwrap().len(), 1);
                    assert_eq!(snapshot.ids(7).unwrap(), [count - 1]);
                }
            })
        };
        assert_grows_slowly("queries near removed ids", 10_000, work);
    }
}

#[test]
fn inserting_unless_near_into_a_crowd_takes_about_as_long_as_elsewhere() {
    // Longer in a campaign.
    let count = 8000 * seeds(0..1).end.min(20);
    let work = |crowd: Crowd| {
        let (_directory, store) = new_store(&shape(false));
        let pairs: Vec<(u64, u64)> = (0..count).map(|number| (crowd.fingerprint(number), 0)).collect();
        timed(|| {
            for pairs in pairs.chunks(500) {
                store.put(pairs, When::unless_near(3)).unwrap();
            }
        })
    };
    for crowd in [Crowd::Prefix, Crowd::Cluster] {
        let mut all = Vec::new();
        let is_as_fast = (0..TRIES).any(|_| {
            // The fingerprints of a crowd of one name are spread evenly.
            let (evenly, crowded) = (work(Crowd::Name), work(crowd));
            all.push(crowded.as_secs_f64() / evenly.as_secs_f64());
            all.last().is_some_and(|times| *times < MAX_TIMES_EVEN)
        });
        println!("inserting {count} unless near, of one {crowd:?}: {all:.1?} times as long as spread evenly");
        assert!(is_as_fast, "of one {crowd:?}: {all:.1?}");
    }
}

#[test]
fn many_ids_of_one_fingerprint_through_flush_merge_and_compaction() {
    assert_grows_slowly("inserting many ids of a fingerprint, one by one", 500, |count| {
        let (_directory, store) = new_store(&shape(true));
        timed(|| (0..count).for_each(|id| store.insert(7, id).unwrap()))
    });
    assert_grows_slowly("flushing and compacting many ids of a fingerprint", 5000, |count| {
        let (_directory, store) = one_fingerprint(count);
        store.write((0..count).map(|id| Operation::Insert(7, count + id)).collect()).unwrap();
        remove_in_batches(&store, 0..count / 2);
        timed(|| {
            store.flush().unwrap();
            store.compact().unwrap();
            assert_eq!(store.stats().ids, 2 * count - count / 2);
        })
    });
    assert_grows_slowly("removing a fingerprint with many ids", 5000, |count| {
        let (_directory, store) = one_fingerprint(count);
        timed(|| assert_eq!(store.remove_fingerprint(7).unwrap(), count))
    });
}

#[test]
fn removing_many_ids_with_and_without_look_ups() {
    for has_lookups in [false, true] {
        assert_grows_slowly("removing ids of a fingerprint by id", 2000, |count| {
            let (_directory, store) = new_store(&shape(true).lookups(has_lookups));
            store.write((0..2 * count).map(|id| Operation::Insert(7, id)).collect()).unwrap();
            store.flush().unwrap();
            let ids: HashSet<u64> = (0..count).collect();
            timed(|| assert_eq!(store.remove_ids(&ids).unwrap(), count))
        });
    }
}

#[test]
fn reading_the_shingles_of_a_crowd() {
    assert_grows_slowly("reading shingles in memory", 3000, |count| {
        let (_directory, store) = new_store(&with_names().shingles("bytes"));
        for first in (0..count).step_by(500) {
            let documents: Vec<(u64, &str, &[u64])> =
                (first..first + 500).map(|number| (number % 7, "the same", &[1u64, 2, 3][..])).collect();
            store.put(documents.iter().map(|(f, n, s)| Record::document(*f, n, s)), When::always()).unwrap();
        }
        let snapshot = store.snapshot();
        timed(|| {
            let mut found = 0;
            for part in snapshot.shingle_parts(1 << 12).unwrap().unwrap() {
                let flow = snapshot.visit_shingles(&part, &|| Ok(()), &mut |_, _| {
                    found += 1;
                    Ok(())
                });
                flow.unwrap();
            }
            assert_eq!(found, count.next_multiple_of(500));
        })
    });
}

/// Bytes of a log without records.
const EMPTY_LOG: u64 = 64;

fn log_bytes(disk: &SimulatedDisk) -> u64 {
    let logs = disk.list("log").unwrap();
    // A log may be removed meanwhile.
    logs.iter().filter_map(|log| disk.length(&format!("log/{log}")).ok()).sum()
}

/// Waits until there is a log without records only: files are removed after a flush has ended.
fn assert_without_records(disk: &SimulatedDisk, what: &str) {
    for _ in 0..1000 {
        if log_bytes(disk) == EMPTY_LOG {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{} bytes of logs {what}", log_bytes(disk));
}

#[test]
fn a_log_of_removals_alone_is_bounded_and_flushed() {
    let disk = SimulatedDisk::new();
    let memory = 1 << 14;
    let store = Store::<u64>::create_on(disk.clone(), &shape(true), options().memory(memory)).unwrap();
    let count = 6_000;
    store.write((0..count).map(|id| Operation::Insert(id, id)).collect()).unwrap();
    store.flush().unwrap();
    assert_without_records(&disk, "after a flush");
    for id in 0..count - 500 {
        assert!(store.remove(id, id).unwrap());
        // Removals do not wait for flushes, which a busy machine delays.
        let end = Instant::now() + Duration::from_secs(100);
        while log_bytes(&disk) > 6 * memory {
            assert!(Instant::now() < end, "{} bytes, and no flush", log_bytes(&disk));
            thread::sleep(Duration::from_millis(1));
        }
    }
    store.close().unwrap();
    // Some logs of the size of a memtable at most, not the 49 bytes per removal of all of them.
    assert!(log_bytes(&disk) < 8 * memory, "{} bytes", log_bytes(&disk));
    let store = Store::<u64>::open_on(disk.clone(), options()).unwrap();
    store.flush().unwrap();
    assert_without_records(&disk, "after a flush of removals");
    (count - 500..count - 400).for_each(|id| assert!(store.remove(id, id).unwrap()));
    assert!(log_bytes(&disk) > EMPTY_LOG);
    store.flush().unwrap();
    assert_without_records(&disk, "after another one");
    (count - 400..count - 300).for_each(|id| assert!(store.remove(id, id).unwrap()));
    store.close().unwrap();
    // They are of an earlier process.
    let store = Store::<u64>::open_on(disk.clone(), options()).unwrap();
    store.compact().unwrap();
    assert_without_records(&disk, "after a compaction");
    assert_eq!(store.stats().ids, 300);
}
