//! Measures a store, compared with one file of the same set.
//!
//! ```text
//! cargo bench -p hamdex-store --bench figures -- [FINGERPRINTS] [DIRECTORY]
//! ```
//!
//! FINGERPRINTS is 5,000,000 unless given; DIRECTORY is where the stores are made, and has to have room for about
//! 100 bytes for each. All of them are drawn uniformly.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hamdex::{BuildOptions, Builder, Codec, Design, Index};
use hamdex_store::{CreateOptions, Durability, Operation, Snapshot, Store, StoreOptions, When};

/// Pairs of a batch.
const BATCH: u64 = 1000;

/// Queries of which the median is taken.
const QUERIES: u64 = 20_000;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count: u64 = arguments.first().map_or(Ok(5_000_000), |text| text.parse())?;
    let directory = match arguments.get(1) {
        Some(path) => tempfile::tempdir_in(path)?,
        None => tempfile::tempdir_in(".")?,
    };
    let at = |name: &str| directory.path().join(name);
    println!("{count} fingerprints of 64 bits, k = 3, in {}", directory.path().display());

    for (codec, design) in [(Codec::Huffman, "halves"), (Codec::EliasFano, "cover-8")] {
        println!("{codec}, {design}:");
        let path = at(&format!("{codec}"));
        let shape = CreateOptions::new().codec(codec).design(design);
        let file = at("one.hamdex");
        one_file(&file, codec, design, count)?;
        let store = ingest(&path, &shape, count)?;
        blocks(&store, codec, design, count)?;
        compare("at rest", &store, &file)?;
        unless_near(&store, count)?;
        // So that everything is in segments for the next step.
        store.flush()?;
        store.settle()?;
        store.close()?;
        opened(&path, &file)?;
        std::fs::remove_file(file)?;
        std::fs::remove_dir_all(path)?;
    }
    // Last: a process that has had many threads publishes views more slowly.
    synced(&at("synced"))
}

/// The number of that rank: SplitMix64 (Steele, Lea, Flood 2014).
fn number(rank: u64) -> u64 {
    let mut mixed = rank.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn batch(first: u64, count: u64) -> Vec<Operation<u64>> {
    (first..first + count).map(|rank| Operation::Insert(number(rank), rank)).collect()
}

/// Writes that are durable when they are acknowledged: in batches, one by one, and one by one from many threads.
fn synced(path: &Path) -> Result {
    let store = Store::<u64>::create(path, &CreateOptions::new(), StoreOptions::new())?;
    let start = Instant::now();
    let batches = 300;
    for number in 0..batches {
        store.write(batch(number * BATCH, BATCH))?;
    }
    let rate = (batches * BATCH) as f64 / start.elapsed().as_secs_f64();
    println!("durable, batches of {BATCH}: {rate:.0} pairs per second");
    let alone = singles(&store, 1, 1 << 40)?;
    let together = singles(&store, 32, 2 << 40)?;
    println!(
        "durable, one by one: {alone:.0} per second from one thread, {together:.0} from 32: {:.1}x",
        together / alone
    );
    Ok(())
}

/// Inserts per second, one by one, from a number of threads.
fn singles(store: &Store<u64>, threads: u64, first: u64) -> Result<f64> {
    let (start, done) = (Instant::now(), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let done = &done;
            scope.spawn(move || {
                let mut rank = first + (thread << 32);
                while start.elapsed() < Duration::from_secs(2) {
                    store.insert(number(rank), rank).expect("an insert");
                    rank += 1;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    Ok(done.into_inner() as f64 / start.elapsed().as_secs_f64())
}

/// Inserts everything in batches, with merges and queries in parallel. Returns the settled store.
fn ingest(path: &Path, shape: &CreateOptions, count: u64) -> Result<Store<u64>> {
    let options = StoreOptions::new().durability(Durability::Interval(Duration::from_millis(100)));
    let store = Store::<u64>::create(path, shape, options)?;
    let (start, is_over) = (Instant::now(), AtomicBool::new(false));
    let meanwhile = thread::scope(|scope| -> Result<f64> {
        let reader = scope.spawn(|| worst(&store, count, || is_over.load(Ordering::Relaxed)));
        for first in (0..count).step_by(BATCH as usize) {
            store.write(batch(first, BATCH.min(count - first)))?;
        }
        let rate = count as f64 / start.elapsed().as_secs_f64();
        println!("  ingest, batches of {BATCH}, with merges: {rate:.0} pairs per second");
        is_over.store(true, Ordering::Relaxed);
        Ok(reader.join().expect("the reader"))
    })?;
    let begun = Instant::now();
    store.flush()?;
    store.settle()?;
    let stats = store.stats();
    println!(
        "  at rest after {:.1} s: {} segments, write amplification {:.1}, {:.2} bytes per pair",
        begun.elapsed().as_secs_f64(),
        stats.segments.len(),
        stats.write_amplification,
        stats.bytes as f64 / count as f64
    );
    let begun = Instant::now();
    let rest = worst(&store, count, || begun.elapsed() > Duration::from_secs(3));
    println!("  p99 of queries: {rest:.1} µs, and {:.1}x while writing and merging", meanwhile / rest);
    Ok(store)
}

/// The 99th percentile of the latency of occasional queries, in microseconds.
fn worst(store: &Store<u64>, count: u64, is_over: impl Fn() -> bool) -> f64 {
    let mut times = Vec::new();
    while !is_over() {
        let snapshot = store.snapshot();
        let mut searcher = snapshot.searcher();
        for rank in 0..100 {
            let query = number((times.len() as u64 + rank) * 7919 % count);
            let begun = Instant::now();
            searcher.within(query, 3).expect("a query");
            times.push(begun.elapsed());
        }
        thread::sleep(Duration::from_millis(20));
    }
    percentile(times, 99)
}

/// One by one, and in batches.
fn unless_near(store: &Store<u64>, count: u64) -> Result {
    let (tries, new_pages) = (100_000, 1_000_000);
    let alone = |first: u64, tries: u64, pair: &dyn Fn(u64) -> (u64, u64)| -> Result<f64> {
        let start = Instant::now();
        for rank in first..first + tries {
            let (fingerprint, id) = pair(rank);
            store.insert_unless_near(fingerprint, id, 3)?;
        }
        Ok(tries as f64 / start.elapsed().as_secs_f64())
    };
    // So many that the first touch of the pages of the mapped file is a small part.
    let new = alone(count, new_pages, &|rank| (number(rank), rank))?;
    println!("  insert_unless_near, one thread, synced every 100 ms, new pages: {new:.0} per second");
    // Every other one is near something, whose ids are returned.
    let pair =
        |rank: u64| (if rank.is_multiple_of(2) { number(rank) } else { number(rank % count) ^ 5 }, rank);
    let mixed = alone(count + new_pages, tries, &pair)?;
    println!("  the same, every other page near a stored one: {mixed:.0} per second");
    let (start, first) = (Instant::now(), count + new_pages + tries);
    for first in (first..first + 2 * tries).step_by(BATCH as usize) {
        let pairs: Vec<(u64, u64)> = (first..first + BATCH).map(pair).collect();
        store.put(&pairs, When::unless_near(3))?;
    }
    let together = 2.0 * tries as f64 / start.elapsed().as_secs_f64();
    println!("  put unless near, batches of {BATCH}, the same: {together:.0} per second");
    Ok(())
}

/// The same set as one file, with ids.
fn one_file(path: &Path, codec: Codec, design: &str, count: u64) -> Result {
    let options = BuildOptions::new().codec(codec).design(Design::named(design, 3)?).ids(true);
    let mut builder = Builder::<u64>::with_options(path, options)?;
    for rank in 0..count {
        builder.push_with_id(number(rank), rank)?;
    }
    builder.finish()?;
    Ok(())
}

/// Blocks per query by the cost model, which `tests/cold.rs` of the engine checks.
fn blocks(store: &Store<u64>, codec: Codec, design: &str, count: u64) -> Result {
    let design = Design::<u64>::named(design, 3)?;
    let of = |count| design.cost(count, codec, codec.default_block_bytes() as u32).blocks_per_query;
    let sizes: Vec<u64> = store.stats().segments.iter().map(|segment| segment.fingerprints).collect();
    let all: f64 = sizes.iter().map(|&size| of(size)).sum();
    println!(
        "  blocks per query: {all:.1} in {} segments, {:.1} in one file: {:.2}x",
        sizes.len(),
        of(count),
        all / of(count)
    );
    Ok(())
}

/// Opening a store, and its queries compared with those of one file: in memory, and fully merged.
fn opened(path: &Path, file: &Path) -> Result {
    let begun = Instant::now();
    let index = Index::<u64>::open(file)?;
    let open_file = begun.elapsed();
    drop(index);
    let options = StoreOptions::new().merges(false);
    let begun = Instant::now();
    let store = Store::<u64>::open(path, options)?;
    let open_store = begun.elapsed();
    println!(
        "  open after a clean end: {:.1} ms, one file {:.1} ms",
        open_store.as_secs_f64() * 1e3,
        open_file.as_secs_f64() * 1e3
    );
    store.close()?;
    let store = Store::open(path, options.in_memory(true))?;
    compare("in memory of the process", &store, file)?;
    store.close()?;
    let store = Store::open(path, options)?;
    store.compact()?;
    compare("compacted", &store, file)
}

/// Queries of a store compared with those of one file.
fn compare(state: &str, store: &Store<u64>, file: &Path) -> Result {
    let index = Index::<u64>::open(file)?;
    let mut searcher = index.searcher();
    let (mut of_file, mut of_store) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        of_file = of_file.min(mean(|query| searcher.within(query, 3).map(<[_]>::len).expect("a query")));
        of_store = of_store.min(mean_of_store(&store.snapshot()));
    }
    println!("  query, {state}: {of_store:.2} µs, one file {of_file:.2} µs: {:.2}x", of_store / of_file);
    Ok(())
}

fn mean_of_store(snapshot: &Snapshot<u64>) -> f64 {
    let mut searcher = snapshot.searcher();
    mean(|query| searcher.within(query, 3).map(<[_]>::len).expect("a query"))
}

/// Microseconds per query.
fn mean(mut query: impl FnMut(u64) -> usize) -> f64 {
    let start = Instant::now();
    let found: usize = (0..QUERIES).map(|rank| query(number(rank * 104_729) ^ 9)).sum();
    assert!(found < usize::MAX);
    start.elapsed().as_secs_f64() * 1e6 / QUERIES as f64
}

/// In microseconds.
fn percentile(mut times: Vec<Duration>, percent: usize) -> f64 {
    times.sort_unstable();
    times.get(times.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
