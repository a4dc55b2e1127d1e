//! A batch in a crowd stays within its memory, and ends when it is cancelled, whatever the container.

#[allow(dead_code, unreachable_pub, reason = "other tests use the rest")]
#[path = "../../../tests/common/allocations.rs"]
mod allocations;

use std::path::Path;
use std::sync::{Arc, Mutex};

use hamdex::{
    BatchOptions, BuildOptions, Builder, Cancellation, Category, FingerprintSet, Index, Match, MultiIndex,
    OpenOptions,
};
use hamdex_shards::{Layout, Shards, ShardsBuilder};
use hamdex_store::{CreateOptions, Store, StoreOptions};

#[global_allocator]
static ALLOCATOR: allocations::Watching = allocations::Watching;

/// Held by each test, as the bytes of one count for the other.
static ALONE: Mutex<()> = Mutex::new(());

const DISTANCE: u32 = 3;
const CENTRE: u64 = 0x0123_4567_89ab_cdef;
const QUERIES: usize = 400;

/// All fingerprints within two bits of the centre that differ in the low 48 bits, and some far away.
fn crowd() -> Vec<u64> {
    let near = (0..48).flat_map(|one| (0..=one).map(move |other| CENTRE ^ 1 << one ^ 1 << other));
    let far = (1..500u64).map(|number| !CENTRE ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut all: Vec<u64> = near.chain(far).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn options() -> BuildOptions<u64> {
    BuildOptions::new().ids(true)
}

fn file(path: &Path, fingerprints: impl Iterator<Item = u64>) -> Index<u64> {
    let mut builder = Builder::with_options(path, options()).unwrap();
    fingerprints.enumerate().for_each(|(id, value)| builder.push_with_id(value, id as u64).unwrap());
    builder.finish().unwrap();
    OpenOptions::new().open(path).unwrap()
}

/// A store with the crowd, of which the places that `is_flushed` names are in segments; with removals among them.
fn store(path: &Path, is_flushed: impl Fn(usize) -> bool, crowd: &[u64]) -> Store<u64> {
    let options = StoreOptions::new().merges(false);
    let store = Store::create(path, &CreateOptions::new(), options).unwrap();
    let part = |flushed: bool| {
        let wanted = crowd.iter().enumerate().filter(|(place, _)| is_flushed(*place) == flushed);
        wanted.map(|(place, &value)| (value, place as u64)).collect::<Vec<_>>()
    };
    // One that is not in the crowd, and is removed from the segment.
    store.insert(CENTRE ^ 7 << 60, 1).unwrap();
    for flushed in [true, false] {
        for (value, id) in part(flushed) {
            store.insert(value, id).unwrap();
        }
        if flushed {
            store.flush().unwrap();
            store.remove(CENTRE ^ 7 << 60, 1).unwrap();
        }
    }
    store
}

/// Every kind of container with the same contents.
fn containers(directory: &Path, crowd: &[u64]) -> Vec<(&'static str, Box<dyn FingerprintSet<u64>>)> {
    let at = |name: &str| directory.join(name);
    let halves = [0, 1].map(|half| {
        let values = crowd.iter().copied().enumerate().filter(|(place, _)| place % 2 == half);
        Arc::new(file(&at(&format!("half {half}")), values.map(|(_, value)| value)))
    });
    let shards =
        [("hashed", Layout::Hash, 3), ("families", Layout::Families, 4)].map(|(name, layout, count)| {
            let mut builder = ShardsBuilder::create(at(name), layout, count, options()).unwrap();
            (0..).zip(crowd).for_each(|(id, &value)| builder.push_with_id(value, id).unwrap());
            builder.finish().unwrap();
            (
                name,
                Box::new(Shards::<u64>::open(at(name), &OpenOptions::new()).unwrap())
                    as Box<dyn FingerprintSet<u64>>,
            )
        });
    let mut all: Vec<(&'static str, Box<dyn FingerprintSet<u64>>)> = vec![
        ("a file", Box::new(file(&at("file"), crowd.iter().copied()))),
        ("two files", Box::new(MultiIndex::new(halves))),
        ("a memtable", Box::new(store(&at("memtable"), |_| false, crowd).snapshot())),
        ("segments", Box::new(store(&at("segments"), |_| true, crowd).snapshot())),
        ("both", Box::new(store(&at("both"), |place| place % 3 == 0, crowd).snapshot())),
    ];
    all.extend(shards);
    all
}

fn expected(query: u64, crowd: &[u64]) -> Vec<(u32, u64)> {
    let mut all: Vec<(u32, u64)> = crowd.iter().map(|&value| ((value ^ query).count_ones(), value)).collect();
    all.retain(|found| found.0 <= DISTANCE);
    all.sort_unstable();
    all
}

#[test]
fn a_batch_in_a_crowd_keeps_to_its_memory_in_every_container() {
    let _alone = ALONE.lock();
    const MEMORY: u64 = 1 << 20;
    let (directory, crowd) = (tempfile::tempdir().unwrap(), crowd());
    // Half of the queries are the same, the others are near each other.
    let queries: Vec<u64> =
        (0..QUERIES).map(|number| CENTRE ^ if number % 2 == 0 { 0 } else { 1 << (number % 40) }).collect();
    let all: Vec<_> = queries.iter().map(|&query| expected(query, &crowd)).collect();
    let bytes = all.iter().map(Vec::len).sum::<usize>() * size_of::<Match<u64>>();
    assert!(bytes > 10 * MEMORY as usize, "all matches together exceed the memory many times");
    for (name, set) in containers(directory.path(), &crowd) {
        for limit in [usize::MAX, 3] {
            let options = BatchOptions::new().threads(1).memory(MEMORY).limit(limit);
            let mut next = 0;
            let (outcome, most) = allocations::most_bytes_during(|| {
                set.visit_batch(&queries, DISTANCE, &options, &mut |place, found| {
                    assert_eq!(place, next, "{name}");
                    next += 1;
                    let wanted = &all[place][..all[place].len().min(limit)];
                    let found = found.iter().map(|one| (one.distance, one.fingerprint));
                    assert!(found.eq(wanted.iter().copied()), "{name}, query {place}, limit {limit}");
                    Ok(())
                })
            });
            outcome.unwrap();
            assert_eq!(next, QUERIES, "{name}");
            // Some MiB for the thread, its searcher and the matches of a single query.
            assert!(most < 4 * MEMORY as usize, "{name}, limit {limit}: {most} bytes of {bytes}");
        }
    }
}

#[test]
fn a_batch_that_wants_few_matches_gathers_few_in_every_container() {
    let _alone = ALONE.lock();
    let (directory, crowd) = (tempfile::tempdir().unwrap(), crowd());
    let queries = vec![CENTRE; QUERIES];
    let all = expected(CENTRE, &crowd);
    let bytes = all.len() * QUERIES * size_of::<Match<u64>>();
    for (name, set) in containers(directory.path(), &crowd) {
        let options = BatchOptions::new().threads(1).memory(256 << 20).limit(3);
        let mut visited = 0;
        let (outcome, most) = allocations::most_bytes_during(|| {
            set.visit_batch(&queries, DISTANCE, &options, &mut |_, found| {
                visited += 1;
                assert!(found.iter().map(|one| (one.distance, one.fingerprint)).eq(all[..3].iter().copied()));
                Ok(())
            })
        });
        assert!(outcome.is_ok() && visited == QUERIES, "{name}");
        assert!(most < bytes / 4, "{name}: {most} bytes of {bytes}");
    }
}

#[test]
fn a_cancelled_batch_ends_after_a_bounded_number_of_matches_in_every_container() {
    let _alone = ALONE.lock();
    const MOST: usize = 1 << 17;
    let (directory, crowd) = (tempfile::tempdir().unwrap(), crowd());
    let queries = vec![CENTRE; QUERIES];
    let of_each = expected(CENTRE, &crowd).len();
    assert!(of_each * QUERIES > 3 * MOST);
    for (name, set) in containers(directory.path(), &crowd) {
        // From the first query that is delivered on, and from the start.
        for after in [1, 0] {
            let cancellation = Cancellation::new();
            if after == 0 {
                cancellation.cancel();
            }
            let options = BatchOptions::new().threads(1).memory(1 << 20).cancellation(cancellation.clone());
            let mut delivered = 0;
            let outcome = set.visit_batch(&queries, DISTANCE, &options, &mut |_, found: &[Match<u64>]| {
                cancellation.cancel();
                delivered += found.len();
                Ok(())
            });
            assert_eq!(outcome.unwrap_err().category(), Category::Stopped, "{name}");
            assert!(delivered <= after * MOST, "{name}: {delivered} more matches");
        }
    }
}
