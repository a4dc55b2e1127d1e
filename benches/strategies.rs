//! Large batches by each strategy, what `auto` makes of them, and self-joins: what the constants of their cost models
//! are held against.
//!
//! `cargo bench --bench strategies [-- LOG2]`; 2^LOG2 fingerprints are stored, 2^24 unless given. Of each figure the
//! least of [`ROUNDS`] is shown. `RAYON_NUM_THREADS=1` for the time of one thread.

mod common;

use std::error::Error;
use std::time::Instant;

use hamdex::{BatchOptions, BuildOptions, Codec, Design, Index, Strategy};

const DISTANCE: u32 = 3;
const QUERIES: [usize; 4] = [100, 10_000, 100_000, 1_000_000];
const MEMORY_BYTES: u64 = 4 << 30;
const ROUNDS: usize = 3;

/// The tables and codecs that are compared. A probe of the first takes too long for more than [`MOST_OF_SINGLE`]
/// queries.
const FILES: [(&str, Codec); 4] = [
    ("single", Codec::EliasFano),
    ("halves", Codec::EliasFano),
    ("halves", Codec::Huffman),
    ("cover-8", Codec::EliasFano),
];
const MOST_OF_SINGLE: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let log2 = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let log2: u32 = log2.map_or(Ok(24), |text| text.parse())?;
    let shapes: [common::Shape; 3] =
        [("uniform", common::uniform), ("clustered", common::clustered), ("few bits", few_bits)];
    println!("2^{log2} fingerprints, k = {DISTANCE}; milliseconds, and nanoseconds per stored fingerprint");
    for (shape, data) in shapes {
        let stored = data(1 << log2);
        for (design, codec) in FILES {
            let options = BuildOptions::new().codec(codec).design(Design::named(design, DISTANCE)?);
            let (_directory, index) = common::index(&stored, options);
            println!("\n{shape}, {design}, {codec}");
            println!(
                "{:>10}{:>12}{:>12}{:>10}{:>12}{:>12}",
                "queries", "probe", "scan", "scan, ns", "auto", "of best"
            );
            for count in QUERIES {
                let queries = common::queries(&stored, count);
                let probe = (design != "single" || count <= MOST_OF_SINGLE)
                    .then(|| batch(&index, &queries, Strategy::Probe))
                    .transpose()?;
                let scan = batch(&index, &queries, Strategy::Scan)?;
                let auto = batch(&index, &queries, Strategy::Auto)?;
                let best = probe.map_or(scan, |probe| probe.min(scan));
                println!(
                    "{count:>10}{:>12}{:>12.2}{:>10.2}{:>12.2}{:>11.2}x",
                    probe.map_or("-".to_owned(), |seconds| format!("{:.2}", seconds * 1e3)),
                    scan * 1e3,
                    scan * 1e9 / index.len() as f64,
                    auto * 1e3,
                    auto / best
                );
            }
            let join = least(|| index.pairs(DISTANCE).memory(MEMORY_BYTES).count_by_distance().map(drop))?;
            println!("self-join: {:.0} ms, {:.1} ns", join * 1e3, join * 1e9 / index.len() as f64);
        }
    }
    Ok(())
}

/// Seconds of a batch.
fn batch(index: &Index<u64>, queries: &[u64], strategy: Strategy) -> Result<f64, hamdex::ReadError> {
    let options = BatchOptions::new().strategy(strategy).memory(MEMORY_BYTES);
    least(|| index.batch_with(queries, DISTANCE, &options, |_, _| Ok(())))
}

/// The least of some rounds, in seconds.
fn least<E>(mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Each bit is set in a quarter of them.
fn few_bits(count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| common::number(i) & common::number(!i)).collect()
}
