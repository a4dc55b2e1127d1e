//! `hamdex demo`: all of it, on data it makes itself.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::value_parser;
use hamdex::{BuildOptions, Builder, Codec, Fingerprint, Index, Match, Summary, VerifyOptions};
use indicatif::{HumanBytes, HumanCount};

use crate::bars::Phases;
use crate::commands::build::choose;
use crate::failure::Failure;

/// Each so-many-th fingerprint gets near-duplicates.
const PLANT_EVERY: usize = 1000;

/// Near-duplicates planted at distances 0 to this.
const PLANTED_DISTANCE: u32 = 6;

/// Queries that are timed.
const TIMED_QUERIES: usize = 20_000;

/// Queries whose answers are held against brute force.
const CHECKED_QUERIES: usize = 200;

/// Build, verify and query an index of made-up fingerprints, and check it against brute force.
///
/// Makes fingerprints with planted near-duplicates, builds an index in a temporary directory, verifies
/// it, asks it, compares a sample with brute force, and prints what it found. Leaves nothing behind.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex demo
  hamdex demo --count 10000000 --design cover-8")]
pub(crate) struct Args {
    /// How many fingerprints
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000, value_parser = value_parser!(u32).range(1..=1_000_000_000))]
    count: u32,
    /// Which tables: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// How blocks are coded: huffman or elias-fano
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// Find everything within this many bits
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut numbers = Numbers(0x6861_6d64_6578);
    let (stored, planted) = fingerprints(args.count as usize, &mut numbers);
    let directory = tempfile::Builder::new().prefix("hamdex-demo-").tempdir().map_err(|source| {
        Failure::Io { doing: "make a directory in it", path: std::env::temp_dir(), source }
    })?;
    let path = directory.path().join("demo.hamdex");

    let built = Instant::now();
    let summary = build(args, &stored, &path)?;
    let built = built.elapsed();

    let index = Index::<u64>::open(&path).map_err(Failure::index(&path))?;
    let phases = Arc::new(Phases::default());
    let shown = Arc::clone(&phases);
    let verified = Instant::now();
    index
        .verify_with(&VerifyOptions::new().progress(move |progress| shown.show(progress)))
        .map_err(Failure::index(&path))?;
    let verified = verified.elapsed();
    phases.finish();

    let queries: Vec<u64> = (0..TIMED_QUERIES)
        .map(|number| if number % 2 == 0 { planted[number % planted.len()] } else { numbers.next() })
        .collect();
    let (times, matches) = ask(&index, &queries, args.distance).map_err(Failure::index(&path))?;
    let checked = check(&index, &stored, &queries, args.distance).map_err(Failure::index(&path))?;
    print(
        args,
        &summary,
        &index,
        &[("built in", built), ("verified in", verified)],
        &times,
        matches,
        &checked,
    )?;
    if checked.found == checked.expected && checked.is_exact {
        Ok(())
    } else {
        Err(Failure::Wrong("the index and brute force disagree: this is a bug, please report it".to_owned()))
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same demo everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Uniform fingerprints, some of them with neighbours at every distance up to the planted one; and
/// those that have them.
fn fingerprints(count: usize, numbers: &mut Numbers) -> (Vec<u64>, Vec<u64>) {
    let mut stored: Vec<u64> = (0..count).map(|_| numbers.next()).collect();
    let planted: Vec<u64> = stored.iter().copied().step_by(PLANT_EVERY).collect();
    for &original in &planted {
        for distance in 1..=PLANTED_DISTANCE {
            let mut neighbour = original;
            while neighbour.distance(original) < distance {
                neighbour ^= 1 << (numbers.next() % 64);
            }
            stored.push(neighbour);
        }
    }
    (stored, planted)
}

fn build(args: &Args, stored: &[u64], path: &Path) -> Result<Summary, Failure> {
    let phases = Arc::new(Phases::default());
    let shown = Arc::clone(&phases);
    let options = choose(BuildOptions::new(), &args.design, args.distance)?
        .codec(args.codec)
        .progress(move |progress| shown.show(progress));
    let mut builder = Builder::with_options(path, options)?;
    stored.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
    let summary = builder.finish();
    phases.finish();
    Ok(summary?)
}

/// The time of each query, ascending, and the number of matches in all.
fn ask(
    index: &Index<u64>,
    queries: &[u64],
    distance: u32,
) -> Result<(Vec<Duration>, usize), hamdex::ReadError> {
    let mut searcher = index.searcher();
    let mut times = Vec::with_capacity(queries.len());
    let mut matches = 0;
    // Once over without the clock: what is timed is the index, not the first touch of its pages.
    for warm in [true, false] {
        for &query in queries {
            let started = Instant::now();
            let found = searcher.within(query, distance)?.len();
            if !warm {
                times.push(started.elapsed());
                matches += found;
            }
        }
    }
    times.sort_unstable();
    Ok((times, matches))
}

/// What brute force says of a sample.
struct Checked {
    queries: usize,
    expected: usize,
    found: usize,
    is_exact: bool,
}

fn check(
    index: &Index<u64>,
    stored: &[u64],
    queries: &[u64],
    distance: u32,
) -> Result<Checked, hamdex::ReadError> {
    let mut searcher = index.searcher();
    let mut checked = Checked { queries: 0, expected: 0, found: 0, is_exact: true };
    for &query in queries.iter().take(CHECKED_QUERIES) {
        let mut expected: Vec<Match<u64>> = Vec::new();
        let found = searcher.within(query, distance)?;
        for &fingerprint in stored.iter().filter(|x| x.distance(query) <= distance) {
            let mut truth = found.first().copied().unwrap_or(Match::of(fingerprint, fingerprint));
            truth.distance = fingerprint.distance(query);
            truth.fingerprint = fingerprint;
            expected.push(truth);
        }
        expected.sort_unstable();
        expected.dedup();
        checked.queries += 1;
        checked.expected += expected.len();
        checked.found += expected.iter().filter(|x| found.contains(x)).count();
        checked.is_exact &= found == expected;
    }
    Ok(checked)
}

fn print(
    args: &Args,
    summary: &Summary,
    index: &Index<u64>,
    durations: &[(&str, Duration)],
    times: &[Duration],
    matches: usize,
    checked: &Checked,
) -> Result<(), Failure> {
    let stats = index.stats();
    let n = summary.fingerprints as f64;
    let tables = stats.tables.len() as f64;
    let per_fingerprint = summary.bytes as f64 / n;
    let per_table = (per_fingerprint * 8.0) / tables;
    let raw = 8.0 * tables;
    let microseconds = |duration: Duration| duration.as_secs_f64() * 1e6;
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    let output = &mut std::io::stdout().lock();
    let mut row = |name: &str, value: String| writeln!(output, "{name:24}{value}");
    row("fingerprints", format!("{} distinct, 64 bits", HumanCount(summary.fingerprints)))?;
    row("design", format!("{}: {tables} tables, exact within {} bits", summary.design, args.distance))?;
    row("file", format!("{}, {per_fingerprint:.2} bytes a fingerprint", HumanBytes(summary.bytes)))?;
    row(
        "uncompressed tables",
        format!("{raw:.2} bytes a fingerprint: {:.2} times as much", raw / per_fingerprint),
    )?;
    row(
        "information bound",
        format!(
            "{:.2} bits a fingerprint and table; the file takes {per_table:.2} ({:+.2})",
            stats.bound_bits,
            per_table - stats.bound_bits
        ),
    )?;
    row("memory", format!("{} of keys and codes beside the file", HumanBytes(stats.memory_bytes)))?;
    for (name, duration) in durations {
        row(name, format!("{:.2} s", duration.as_secs_f64()))?;
    }
    row(
        "a query",
        format!(
            "{:.2} µs on average, {:.2} median, {:.2} at 99 % (warm, one thread)",
            microseconds(mean),
            microseconds(times[times.len() / 2]),
            microseconds(times[times.len() * 99 / 100])
        ),
    )?;
    row("matches", format!("{} for {} queries", HumanCount(matches as u64), HumanCount(times.len() as u64)))?;
    row(
        "against brute force",
        format!(
            "{} of {} matches of {} queries found, {}",
            checked.found,
            checked.expected,
            checked.queries,
            if checked.is_exact { "none too many" } else { "AND OTHERS" }
        ),
    )?;
    Ok(())
}
