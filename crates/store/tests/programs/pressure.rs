//! A store under pressure: a writer without pause, a thread that compacts without pause, readers, and a disk that is
//! full now and then.
//!
//! ```text
//! pressure DIR [--minutes N] [--memory MIB] [--live PAIRS] [--fill SECONDS]
//! ```
//!
//! DIR should lie on a small file system of its own: every so many seconds (`--fill`, 30; 0: never) all of its space is
//! taken for a quarter of that time. The writer inserts batches of 1,000 pairs and removes the oldest beyond `--live`.
//! A batch that the store refuses is repeated until it is taken. A line per minute says how many segments there were at
//! most, how long batches took, and how much memory the process has. In the end the set is compared with what was
//! acknowledged. The exit code is 1 if it differs, or if there were more segments than the bound.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hamdex_store::{CreateOptions, Durability, Operation, Store, StoreOptions, StoreReader};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Pairs of a batch.
const BATCH: u64 = 1000;

/// The bound of segments of the store.
const MAX_SEGMENTS: usize = 20;

struct Arguments {
    directory: PathBuf,
    minutes: u64,
    memory: u64,
    live: u64,
    fill: u64,
}

impl Arguments {
    fn parse() -> Outcome<Self> {
        let mut arguments = std::env::args().skip(1);
        let directory = arguments.next().ok_or("name a directory")?.into();
        let mut parsed = Self { directory, minutes: 10, memory: 4, live: 1_000_000, fill: 30 };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or("an option lacks its value")?.parse()?;
            match name.as_str() {
                "--minutes" => parsed.minutes = value,
                "--memory" => parsed.memory = value,
                "--live" => parsed.live = value,
                "--fill" => parsed.fill = value,
                _ => return Err(format!("there is no option {name}").into()),
            }
        }
        Ok(parsed)
    }
}

/// The state that all threads share.
#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    segments: AtomicU64,
    refused: AtomicU64,
    compactions: AtomicU64,
    looks: AtomicU64,
}

fn main() -> ExitCode {
    match Arguments::parse().and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pressure: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The pair of a number: fingerprints spread over all values, some of them near to others.
fn pair(number: u64) -> (u64, u64) {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << (number % 3 * 20), number)
}

fn run(arguments: &Arguments) -> Outcome<()> {
    let path = arguments.directory.join("store");
    let options = StoreOptions::new()
        .memory(arguments.memory << 20)
        .durability(Durability::Interval(Duration::from_millis(200)));
    let store = Store::<u64>::create(&path, &CreateOptions::new().design("halves"), options)?;
    let shared = Shared::default();
    let (written, most_segments) = thread::scope(|scope| {
        let (shared, store, path) = (&shared, &store, &path);
        scope.spawn(move || compact(store, shared));
        scope.spawn(move || look(path, shared));
        if arguments.fill > 0 {
            scope.spawn(move || fill(&arguments.directory, arguments.fill, shared));
        }
        let outcome = write(store, arguments, shared);
        shared.is_over.store(true, Ordering::Relaxed);
        outcome
    })?;
    store.close()?;
    check(&path, &written)?;
    if most_segments > MAX_SEGMENTS as u64 {
        return Err(format!("{most_segments} segments").into());
    }
    println!("whole: {} pairs, as acknowledged", written.end - written.start);
    Ok(())
}

/// Writes until the time is over. Returns the numbers of the pairs in the store, and the greatest number of segments.
fn write(store: &Store<u64>, arguments: &Arguments, shared: &Shared) -> Outcome<(std::ops::Range<u64>, u64)> {
    let end = Instant::now() + Duration::from_secs(60 * arguments.minutes);
    let mut written = 0..0;
    let (mut times, mut minute, mut most) = (Vec::new(), Instant::now(), 0);
    while Instant::now() < end {
        let mut batch: Vec<_> = (written.end..written.end + BATCH).map(pair).collect();
        let mut operations: Vec<Operation<u64>> =
            batch.drain(..).map(|(fingerprint, id)| Operation::Insert(fingerprint, id)).collect();
        let oldest = (written.end + BATCH).saturating_sub(arguments.live).max(written.start);
        let gone = (written.start..oldest).map(pair);
        operations.extend(gone.map(|(fingerprint, id)| Operation::Remove(fingerprint, id)));
        let begun = Instant::now();
        while let Err(error) = store.write(operations.clone()) {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            if let hamdex_store::Error::Poisoned { .. } = error {
                // A sync failed: what the disk has is known when the logs have been read again.
                while store.reopen().is_err() {
                    thread::sleep(Duration::from_millis(50));
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        times.push(begun.elapsed());
        written = oldest..written.end + BATCH;
        let segments = store.stats().segments.len() as u64;
        shared.segments.fetch_max(segments, Ordering::Relaxed);
        if minute.elapsed() >= Duration::from_secs(60) {
            most = most.max(report(&mut times, &written, shared));
            minute = Instant::now();
        }
    }
    most = most.max(report(&mut times, &written, shared));
    Ok((written, most))
}

/// Prints a line, and begins the next minute. Returns the greatest number of segments.
fn report(times: &mut Vec<Duration>, written: &std::ops::Range<u64>, shared: &Shared) -> u64 {
    times.sort_unstable();
    let quantile = |part: f64| {
        let at = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
        times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
    let segments = take(&shared.segments);
    println!(
        "{:>11} pairs written; batches: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.0} ms; {segments} segments at most; \
         {} refused, {} compactions, {} looks; {} MiB",
        written.end,
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        quantile(1.0),
        take(&shared.refused),
        take(&shared.compactions),
        take(&shared.looks),
        resident_mib()
    );
    times.clear();
    segments
}

fn compact(store: &Store<u64>, shared: &Shared) {
    while !shared.is_over.load(Ordering::Relaxed) {
        match store.compact() {
            Ok(()) => drop(shared.compactions.fetch_add(1, Ordering::Relaxed)),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Reads as another process would.
fn look(path: &Path, shared: &Shared) {
    let mut reader: Option<StoreReader<u64>> = None;
    while !shared.is_over.load(Ordering::Relaxed) {
        let is_there = match &mut reader {
            Some(reader) => reader.refresh().is_ok(),
            None => StoreReader::open(path).map(|opened| reader = Some(opened)).is_ok(),
        };
        if let Some(reader) = reader.as_ref().filter(|_| is_there) {
            let snapshot = reader.snapshot();
            let mut searcher = snapshot.searcher();
            for number in 0..100 {
                let _ = searcher.within(pair(number).0, 3);
            }
            shared.looks.fetch_add(1, Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Fills the file system at intervals.
fn fill(directory: &Path, seconds: u64, shared: &Shared) {
    let ballast = directory.join("ballast");
    let wait = |time: Duration| {
        let until = Instant::now() + time;
        while Instant::now() < until && !shared.is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(50));
        }
    };
    while !shared.is_over.load(Ordering::Relaxed) {
        wait(Duration::from_secs(seconds) * 3 / 4);
        let until = Instant::now() + Duration::from_secs(seconds) / 4;
        if let Ok(mut file) = File::create(&ballast) {
            let piece = vec![0x5a; 1 << 16];
            while Instant::now() < until && !shared.is_over.load(Ordering::Relaxed) {
                if file.write_all(&piece).is_err() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
        let _ = fs::remove_file(&ballast);
    }
    let _ = fs::remove_file(&ballast);
}

/// Compares the store with what was acknowledged.
fn check(path: &Path, written: &std::ops::Range<u64>) -> Outcome<()> {
    let snapshot = StoreReader::<u64>::open(path)?.snapshot();
    let mut ids: Vec<u64> = Vec::new();
    for found in snapshot.pairs_in_order() {
        let (fingerprint, id) = found?;
        if pair(id).0 != fingerprint {
            return Err(format!("id {id} has the fingerprint {fingerprint:x}").into());
        }
        ids.push(id);
    }
    ids.sort_unstable();
    if !ids.iter().copied().eq(written.clone()) {
        return Err(
            format!("{} pairs, and {} were acknowledged", ids.len(), written.end - written.start).into()
        );
    }
    Ok(())
}

/// Memory of the process, 0 where the system does not say.
fn resident_mib() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map_or(0, |pages| (pages * 4096) >> 20)
}
