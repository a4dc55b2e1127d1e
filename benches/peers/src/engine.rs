//! hamdex alone, beyond single queries: decoding, building, batches, the self-join,
//! verification, opening; with one thread and with two; and queries by instruction set.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml --bin engine -- --help`

#[path = "../../common/mod.rs"]
mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use hamdex::internals::{BlockCodec, Layout, Level, Scratch, count_differences, limit_level};
use hamdex::{BatchOptions, BuildOptions, Builder, Codec, Design, OpenOptions};
use rayon::ThreadPoolBuilder;

const DISTANCE: u32 = 3;

/// Queries of a batch, and queries that run one after the other.
const BATCH: usize = 1_000_000;
const SINGLE: usize = 50_000;

/// Fingerprints whose blocks are decoded, and blocks decoded together.
const DECODED: usize = 2_000_000;
const TOGETHER: usize = 8;

/// Measure what hamdex does by itself: each figure is the best of the rounds.
#[derive(Parser)]
#[command(after_help = "\
Example:
  engine --count 10000000 --design cover-6 --design cover-8")]
struct Args {
    /// Number of uniform fingerprints
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    count: usize,
    /// Name of a design; may be repeated
    #[arg(long, value_name = "NAME", default_value = "cover-8")]
    design: Vec<String>,
    /// Codec [default: both]
    #[arg(long, value_name = "NAME")]
    codec: Vec<Codec>,
    /// Read the file into memory instead of mapping it
    #[arg(long)]
    in_memory: bool,
    /// Rounds of each measurement
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let codecs = if args.codec.is_empty() { Codec::ALL.to_vec() } else { args.codec.clone() };
    for &codec in &codecs {
        for block_bytes in [512, 1024, 2048] {
            decode(codec, block_bytes, args.rounds);
        }
    }
    let stored = common::uniform(args.count);
    let queries = common::queries(&stored, BATCH);
    for name in &args.design {
        for &codec in &codecs {
            whole(&args, codec, name, &stored, &queries)?;
        }
    }
    Ok(())
}

/// The best time of `rounds` rounds, in seconds.
fn best<T>(rounds: usize, mut round: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let started = Instant::now();
        black_box(round()?);
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// The best time of `rounds` rounds in a pool of `threads` threads, in seconds.
fn in_pool<T: Send>(
    threads: usize,
    rounds: usize,
    mut round: impl FnMut() -> Result<T> + Send,
) -> Result<f64> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    best(rounds, || pool.install(&mut round))
}

/// Measures whole blocks being decoded, over the blocks of a table.
fn decode(codec: Codec, block_bytes: usize, rounds: usize) {
    let mut values = common::uniform(DECODED);
    values.sort_unstable();
    let mut counts = [0; 64];
    count_differences(None, &values, &mut counts);
    let layout = Layout { codec, block_bytes };
    let coder = BlockCodec::from_counts(layout, &counts, None);
    let (mut rest, mut blocks) = (values.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (block, after) = rest.split_at(coder.fill(rest));
        let start = blocks.len();
        blocks.resize(start + block_bytes, 0);
        coder.encode(block, &mut blocks[start..]);
        rest = after;
    }
    let all: Vec<&[u8]> = blocks.chunks_exact(block_bytes).collect();
    let (mut scratch, mut decoded) = (Scratch::default(), Vec::<u64>::new());
    let seconds = best(rounds * 3, || {
        for together in all.chunks(TOGETHER) {
            decoded.clear();
            let outcome = coder.decode(together, &mut scratch, &mut decoded, |_, _| Ok(()));
            outcome.map_err(|(_, error)| error)?;
            black_box(&decoded);
        }
        Ok(())
    });
    let nanoseconds = seconds.expect("the blocks are intact") * 1e9 / values.len() as f64;
    println!("{codec}, blocks of {block_bytes}: {nanoseconds:.2} ns per entry decoded");
}

/// Measures everything that an index of one codec and design does.
fn whole(args: &Args, codec: Codec, name: &str, stored: &[u64], queries: &[u64]) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("engine.hamdex");
    let tables = Design::<u64>::named(name, DISTANCE)?.tables().len();
    let entries = (stored.len() * tables) as f64;
    println!("\n{codec}, {name}, {} fingerprints", stored.len());

    let build = |threads| best(args.rounds.min(2), || make(&path, codec, name, threads, stored));
    let (one, two) = (build(1)?, build(2)?);
    println!(
        "  build     {:.3} µs per fingerprint and table; two threads {:.2}x",
        one * 1e6 / entries,
        one / two
    );

    let open = || Ok(OpenOptions::new().in_memory(args.in_memory).open::<u64>(&path)?);
    let opened = best(args.rounds, open)?;
    let index = open()?;
    let stats = index.stats();
    let bits = stats.file_bytes as f64 * 8.0 / entries;
    println!(
        "  size      {bits:.2} bits per fingerprint and table, {:+.2} to the bound",
        bits - stats.bound_bits
    );
    println!("  open      {:.2} ms", opened * 1e3);

    let verify = |threads| in_pool(threads, args.rounds, || Ok(index.verify()?));
    let (one, two) = (verify(1)?, verify(2)?);
    println!("  verify    {:.2} s; two threads {:.2}x", one, one / two);

    let batch = |threads| {
        in_pool(threads, args.rounds, || {
            let visit = |_, matches: &[_]| {
                black_box(matches);
                Ok::<_, hamdex::ReadError>(())
            };
            Ok(index.batch_with(queries, DISTANCE, &BatchOptions::new(), visit)?)
        })
    };
    let (one, two) = (batch(1)?, batch(2)?);
    let rate = queries.len() as f64 / 1e6;
    println!("  batch     {:.2} M queries/s; two threads {:.2}x", rate / one, one / two);

    let pairs =
        |threads| best(args.rounds, || Ok(index.pairs(DISTANCE).threads(threads).count_by_distance()?));
    let (one, two) = (pairs(1)?, pairs(2)?);
    println!(
        "  pairs     {:.2} s, {:.0} M fingerprints/s per table; two threads {:.2}x",
        one,
        entries / 1e6 / one,
        one / two
    );

    let mut searcher = index.searcher();
    for level in [Level::Portable, Level::Avx2, Level::Avx512] {
        limit_level(level);
        let seconds = best(args.rounds, || {
            for &query in &queries[..SINGLE] {
                black_box(searcher.within(query, DISTANCE)?);
            }
            Ok(())
        })?;
        let again = best(1, || Ok(index.verify()?))?;
        println!("  {level:<9?} {:.3} µs per query; verify {again:.2} s", seconds * 1e6 / SINGLE as f64);
    }
    Ok(())
}

fn make(path: &Path, codec: Codec, design: &str, threads: usize, stored: &[u64]) -> Result<()> {
    let options = BuildOptions::new().codec(codec).design(Design::named(design, DISTANCE)?);
    let options = options.threads(threads).memory(4 << 30).overwrite(true);
    let mut builder = Builder::with_options(path, options)?;
    stored.iter().try_for_each(|&x| builder.push(x))?;
    builder.finish()?;
    Ok(())
}
