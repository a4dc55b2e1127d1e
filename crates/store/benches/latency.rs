//! The latency of writes by the rate at which they are offered, while flushes and merges run.
//!
//! ```text
//! cargo bench -p hamdex-store --bench latency -- [SECONDS] [MEMORY] [DIRECTORY]
//! ```
//!
//! First, one thread writes batches of 1,000 pairs as fast as it can: the sustained rate. Then batches are offered at
//! parts of that rate, each at its own time, whether or not those before have been acknowledged; the latency of a batch
//! counts from the time at which it was offered. Each step takes SECONDS (60 unless given); MEMORY is that of recent
//! pairs, in MiB (256); DIRECTORY needs room for about 100 bytes per pair.

use std::time::{Duration, Instant};

use hamdex::Codec;
use hamdex_store::{CreateOptions, Durability, Operation, Store, StoreOptions};

/// Pairs of a batch.
const BATCH: u64 = 1000;

/// Parts of the sustained rate, in percent.
const OFFERED: [u64; 6] = [50, 60, 70, 80, 90, 100];

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let number = |at: usize, otherwise: u64| arguments.get(at).map_or(Ok(otherwise), |text| text.parse());
    let (seconds, memory) = (number(0, 60)?, number(1, 256)? << 20);
    let directory = tempfile::tempdir_in(arguments.get(2).map_or(".", String::as_str))?;
    let options =
        StoreOptions::new().memory(memory).durability(Durability::Interval(Duration::from_millis(100)));
    println!("halves, synced every 100 ms, {} MiB for recent pairs, {seconds} s per step", memory >> 20);
    for codec in [Codec::Huffman, Codec::EliasFano] {
        let path = directory.path().join(codec.name());
        let shape = CreateOptions::new().codec(codec).design("halves");
        let store = Store::<u64>::create(&path, &shape, options)?;
        let mut steps = Steps { store, time: Duration::from_secs(seconds), rank: 0 };
        println!("{codec}");
        let sustained = steps.run(None)?;
        for percent in OFFERED {
            steps.store.settle()?;
            steps.run(Some((percent, sustained * percent as f64 / 100.0)))?;
        }
        steps.store.close()?;
        std::fs::remove_dir_all(&path)?;
    }
    Ok(())
}

struct Steps {
    store: Store<u64>,
    time: Duration,
    /// Of the next pair.
    rank: u64,
}

impl Steps {
    /// Writes for some time, at a rate in pairs per second, or as fast as possible. Returns the reached rate.
    fn run(&mut self, offered: Option<(u64, f64)>) -> Result<f64> {
        let (start, first) = (Instant::now(), self.rank);
        let (mut latencies, mut most_segments) = (Vec::new(), 0);
        while start.elapsed() < self.time {
            let due =
                offered.map(|(_, rate)| start + Duration::from_secs_f64((self.rank - first) as f64 / rate));
            let begun = due.unwrap_or_else(Instant::now);
            std::thread::sleep(begun.saturating_duration_since(Instant::now()));
            let batch = (self.rank..self.rank + BATCH).map(|rank| Operation::Insert(number(rank), rank));
            self.store.write(batch.collect())?;
            latencies.push(begun.elapsed());
            self.rank += BATCH;
            most_segments = most_segments.max(self.store.stats().segments.len());
        }
        let rate = (self.rank - first) as f64 / start.elapsed().as_secs_f64();
        latencies.sort_unstable();
        let at = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
        let name =
            offered.map_or("as fast as it goes".to_owned(), |(percent, _)| format!("{percent} % offered"));
        println!(
            "  {name:>18}: {rate:>9.0} pairs per second; a batch takes {:.2} ms (p50), {:.1} (p99), {:.1} (p99.9), {:.1} at most; {most_segments} segments at most",
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
        Ok(rate)
    }
}

/// The number of that rank: SplitMix64 (Steele, Lea, Flood 2014).
fn number(rank: u64) -> u64 {
    let mut mixed = rank.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
