//! Queries of a set of shards compared with one file of the same fingerprints.
//!
//! ```text
//! cargo bench -p hamdex-shards --bench figures -- [FINGERPRINTS] [SHARDS] [DIRECTORY]
//! ```
//!
//! FINGERPRINTS is 1,000,000 unless given, SHARDS 4 in each family; the set is built in DIRECTORY, which has to have
//! room for about 70 bytes for each fingerprint. All of them are drawn uniformly. One thread queries, warm, k = 3; of
//! several rounds the fastest counts.

use std::path::Path;
use std::time::Instant;

use hamdex::{BatchOptions, BuildOptions, Builder, Codec, Index, OpenOptions};
use hamdex_shards::{Layout, Shards, ShardsBuilder};

/// Queries of a round.
const QUERIES: u64 = 50_000;

const ROUNDS: usize = 5;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let count: u64 = arguments.first().map_or(Ok(1_000_000), |text| text.parse())?;
    let shards: usize = arguments.get(1).map_or(Ok(4), |text| text.parse())?;
    let directory = match arguments.get(2) {
        Some(path) => tempfile::tempdir_in(path)?,
        None => tempfile::tempdir_in(".")?,
    };
    println!("{count} fingerprints of 64 bits, k = 3, {shards} shards (in each family)");
    for codec in [Codec::EliasFano, Codec::Huffman] {
        println!("{codec}:");
        let options = BuildOptions::new().codec(codec);
        let file = directory.path().join(format!("{codec}.hamdex"));
        one_file(&file, &options, count)?;
        for layout in [Layout::Families, Layout::Hash] {
            let path = directory.path().join(format!("{codec}-{layout}"));
            set(&path, layout, shards, &options, count)?;
        }
    }
    Ok(())
}

/// The number of that rank: SplitMix64 (Steele, Lea, Flood 2014).
fn number(rank: u64) -> u64 {
    let mut mixed = rank.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Queries of which half are two bits from something stored.
fn queries(count: u64) -> Vec<u64> {
    let query = |rank| match rank % 2 {
        0 => number(number(rank) % count) ^ 1 << (rank % 64) ^ 1 << (rank / 64 % 64),
        _ => number(!rank),
    };
    (0..QUERIES).map(query).collect()
}

fn one_file(path: &Path, options: &BuildOptions<u64>, count: u64) -> Result {
    let start = Instant::now();
    let mut builder = Builder::with_options(path, options.clone())?;
    (0..count).try_for_each(|rank| builder.push(number(rank)))?;
    let summary = builder.finish()?;
    built("one file", start, summary.bytes, count);
    let index = Index::<u64>::open(path)?;
    let mut searcher = index.searcher();
    alone(count, |query| Ok(searcher.within(query, 3)?.len()))?;
    in_batches(count, |queries, options| {
        let mut found = 0;
        index.batch_with(queries, 3, options, |_, matches| {
            found += matches.len();
            Ok::<_, hamdex::ReadError>(())
        })?;
        Ok(found)
    })
}

fn set(path: &Path, layout: Layout, shards: usize, options: &BuildOptions<u64>, count: u64) -> Result {
    let start = Instant::now();
    let mut builder = ShardsBuilder::create(path, layout, shards, options.clone())?;
    (0..count).try_for_each(|rank| builder.push(number(rank)))?;
    let summary = builder.finish()?;
    built(&layout.to_string(), start, summary.manifest.bytes(), count);
    let set = Shards::<u64>::open(path, &OpenOptions::new())?;
    let mut searcher = set.searcher();
    alone(count, |query| Ok(searcher.within(query, 3)?.len()))?;
    in_batches(count, |queries, options| {
        let mut found = 0;
        set.batch_with(queries, 3, options, |_, matches| {
            found += matches.len();
            Ok::<_, hamdex_shards::Error>(())
        })?;
        Ok(found)
    })
}

fn built(what: &str, start: Instant, bytes: u64, count: u64) {
    println!(
        "  {what}: built in {:.1} s, {:.2} bytes per fingerprint",
        start.elapsed().as_secs_f64(),
        bytes as f64 / count as f64
    );
}

fn alone(count: u64, mut query: impl FnMut(u64) -> Result<usize>) -> Result {
    let queries = queries(count);
    let (mut best, mut found) = (f64::INFINITY, 0);
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        found = 0;
        for &one in &queries {
            found += query(one)?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("    one query: {:.2} µs, {found} found", best * 1e6 / QUERIES as f64);
    Ok(())
}

fn in_batches(count: u64, mut batch: impl FnMut(&[u64], &BatchOptions) -> Result<usize>) -> Result {
    let queries = queries(count);
    let options = BatchOptions::new().threads(1);
    let (mut best, mut found) = (f64::INFINITY, 0);
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        found = batch(&queries, &options)?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("    in a batch of {QUERIES}: {:.2} µs a query, {found} found", best * 1e6 / QUERIES as f64);
    Ok(())
}
