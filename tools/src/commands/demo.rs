//! `hamdex demo`: everything once, on generated data: fingerprints with planted near-duplicates, an index of them for each
//! codec, which is verified, queried and compared with brute force, and the codecs next to each other.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::value_parser;
use hamdex::{
    BuildOptions, Builder, Codec, FilterChoice, Fingerprint, Index, OutputError, ReadError, SealedIndex,
    Summary, VerifyOptions,
};
use indicatif::{DecimalBytes, HumanCount};
use serde::Serialize;
use tempfile::TempPath;

use crate::commands::build::choose;
use crate::failure::Failure;
use crate::option_values::Threads;
use crate::output::temp_dir;
use crate::progress::Phases;
use crate::standard_output::{self, write_pretty_json};

/// Build, verify and query an index of generated fingerprints.
///
/// Makes fingerprints with planted near-duplicates. For each codec it builds an index in a temporary
/// directory, verifies it, queries it, and compares a sample of the answers with brute force. Prints the
/// measurements and commands to try next. Leaves no index behind.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex demo
  hamdex demo --count 10000000 --design cover-8 --codec elias-fano")]
pub(crate) struct Args {
    /// The number of fingerprints
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000, value_parser = value_parser!(u32).range(1..=1_000_000_000))]
    count: u32,
    /// The tables: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// The block codec: huffman or elias-fano [default: both, one after the other]
    #[arg(long, value_name = "NAME")]
    codec: Option<Codec>,
    /// The prefix filters: auto, none, or a number N for at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// The distance, in bits: queries find everything within it
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// The directory of the index while the demo runs [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print a JSON array with an object per codec
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let data = make_data(args.count as usize);
    let directory = temp_dir(args.temp_dir.as_deref(), None);
    let codecs = args.codec.map_or_else(|| Codec::ALL.to_vec(), |codec| vec![codec]);
    let rows: Vec<Row> =
        codecs.into_iter().map(|codec| measure(args, codec, &data, &directory)).collect::<Result<_, _>>()?;
    if args.json {
        write_pretty_json(&mut standard_output::lines(), &rows)?;
    } else {
        print(&rows)?;
    }
    if rows.iter().all(|row| row.found == row.expected && row.excess == 0) {
        Ok(())
    } else {
        Err(Failure::Wrong("the index and brute force disagree: this is a bug, please report it".to_owned()))
    }
}

/// One fingerprint in this many gets near-duplicates.
const PLANT_EVERY: usize = 1000;

/// Near-duplicates are planted at each distance from 1 to this.
const MAX_PLANTED_DISTANCE: u32 = 6;

/// The number of timed queries.
const QUERIES: usize = 20_000;

struct Data {
    stored: Vec<u64>,
    /// Every other query is a stored fingerprint with near-duplicates, the rest are random.
    queries: Vec<u64>,
}

/// Makes uniform fingerprints, some with near-duplicates at every distance up to the planted one, and
/// queries.
fn make_data(count: usize) -> Data {
    let mut numbers = SplitMix64(0x6861_6d64_6578);
    let mut stored: Vec<u64> = (0..count).map(|_| numbers.next()).collect();
    let planted: Vec<u64> = stored.iter().copied().step_by(PLANT_EVERY).collect();
    for &original in &planted {
        for distance in 1..=MAX_PLANTED_DISTANCE {
            let mut neighbour = original;
            while neighbour.distance(original) < distance {
                neighbour ^= 1 << (numbers.next() % 64);
            }
            stored.push(neighbour);
        }
    }
    let queries = (0..QUERIES)
        .map(|number| if number % 2 == 0 { planted[number / 2 % planted.len()] } else { numbers.next() })
        .collect();
    Data { stored, queries }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The number of queries whose answers are compared with brute force.
const CHECKED_QUERIES: usize = 200;

/// A sample of the answers compared with brute force.
struct Checked {
    queries: usize,
    /// Matches that brute force finds.
    expected: usize,
    /// Matches that the index finds as well.
    found: usize,
    /// Matches that only the index finds.
    excess: usize,
}

/// Builds an index with a codec in `directory`, and measures it. The file loses its name as soon as it is
/// open, so that nothing is left of it, however the command ends.
fn measure(args: &Args, codec: Codec, data: &Data, directory: &Path) -> Result<Row, Failure> {
    let path = directory.join(format!("hamdex-demo-{}-{codec}.hamdex", std::process::id()));
    let started = Instant::now();
    let summary = build_index(args, codec, data, &path).inspect_err(|failure| {
        if failure.about_output().is_some_and(OutputError::is_in_place) {
            let _ = std::fs::remove_file(&path);
        }
    })?;
    let built_in = started.elapsed();

    // Some systems keep the name of a mapped file: it is removed at the end.
    let named = TempPath::try_from_path(&path);
    let index = Index::<u64>::open(&path)?;
    let removed = std::fs::remove_file(&path);
    let phases = Arc::new(Phases::default());
    let started = Instant::now();
    index.verify_with(&VerifyOptions::new().progress(phases.reporter()))?;
    let verified_in = started.elapsed();
    phases.finish();

    let (query_times, matches) = time_queries(&index, &data.queries, args.distance)?;
    let checked = check_sample(&index, data, args.distance)?;
    let stats = index.stats();
    drop(index);
    if let (Err(_), Ok(named)) = (removed, named) {
        named.close().map_err(|source| Failure::Io { doing: "remove it", path, source })?;
    }
    let tables = stats.tables.len();
    let bytes_per_fingerprint = summary.bytes as f64 / summary.fingerprints as f64;
    let microseconds = |duration: Duration| duration.as_secs_f64() * 1e6;
    let quantile = |percent: usize| microseconds(query_times[query_times.len() * percent / 100]);
    Ok(Row {
        codec: codec.to_string(),
        fingerprints: summary.fingerprints,
        design: summary.design,
        tables,
        distance: stats.distance,
        bytes: summary.bytes,
        bytes_per_fingerprint,
        uncompressed_bytes_per_fingerprint: 8.0 * tables as f64,
        bits_above_bound: bytes_per_fingerprint * 8.0 / tables as f64 - stats.bound_bits,
        memory_bytes: stats.memory_bytes,
        build_seconds: built_in.as_secs_f64(),
        verify_seconds: verified_in.as_secs_f64(),
        query_mean_us: microseconds(query_times.iter().sum::<Duration>()) / query_times.len() as f64,
        query_median_us: quantile(50),
        query_p99_us: quantile(99),
        matches,
        checked_queries: checked.queries,
        expected: checked.expected,
        found: checked.found,
        excess: checked.excess,
    })
}

fn build_index(args: &Args, codec: Codec, data: &Data, path: &Path) -> Result<Summary, Failure> {
    let phases = Arc::new(Phases::default());
    let options = choose(BuildOptions::new(), &args.design, args.distance)?
        .codec(codec)
        .filter(args.filter)
        .threads(args.threads.count())
        .progress(phases.reporter());
    let mut builder = Builder::with_options(path, options)?;
    data.stored.iter().try_for_each(|&fingerprint| builder.push(fingerprint))?;
    let summary = builder.seal().and_then(SealedIndex::publish);
    phases.finish();
    Ok(summary?)
}

/// Returns the time of each query, ascending, and the number of all matches.
fn time_queries(
    index: &Index<u64>,
    queries: &[u64],
    distance: u32,
) -> Result<(Vec<Duration>, u64), ReadError> {
    let mut searcher = index.searcher();
    let mut times = Vec::with_capacity(queries.len());
    let mut matches = 0;
    // One untimed run, so that the first access to pages is not measured.
    for warm in [true, false] {
        for &query in queries {
            let started = Instant::now();
            let found = searcher.within(query, distance)?.len();
            if !warm {
                times.push(started.elapsed());
                matches += found as u64;
            }
        }
    }
    times.sort_unstable();
    Ok((times, matches))
}

fn check_sample(index: &Index<u64>, data: &Data, distance: u32) -> Result<Checked, ReadError> {
    let mut searcher = index.searcher();
    let mut checked = Checked { queries: 0, expected: 0, found: 0, excess: 0 };
    for &query in data.queries.iter().take(CHECKED_QUERIES) {
        let found: Vec<u64> =
            searcher.within(query, distance)?.iter().map(|found| found.fingerprint).collect();
        let mut expected: Vec<u64> =
            data.stored.iter().copied().filter(|stored| stored.distance(query) <= distance).collect();
        expected.sort_unstable();
        expected.dedup();
        let hits = found.iter().filter(|found| expected.binary_search(found).is_ok()).count();
        checked.queries += 1;
        checked.expected += expected.len();
        checked.found += hits;
        checked.excess += found.len() - hits;
    }
    Ok(checked)
}

const NEXT: &str = "
Try next (`cargo install --path tools` puts hamdex on your path):
  hamdex dedup articles.jsonl                  near-duplicates among your documents
  hamdex build -o my.hamdex fingerprints.txt   an index of your own fingerprints
  hamdex query my.hamdex 0123456789abcdef      everything within 3 bits of one
  hamdex pairs my.hamdex --count               how many pairs are near each other
  hamdex designs --count 1000000000            designs for a billion, with costs
";

/// Prints a column per codec.
fn print(rows: &[Row]) -> io::Result<()> {
    let output = &mut standard_output::lines();
    let mut row = |name: &str, value: &dyn Fn(&Row) -> String| {
        let values = rows.iter().map(|row| format!("{:>16}", value(row)));
        writeln!(output, "{name:44}{}", values.collect::<String>())
    };
    row("", &|row| row.codec.clone())?;
    row("distinct fingerprints of 64 bits", &|row| HumanCount(row.fingerprints).to_string())?;
    row("design", &|row| row.design.clone())?;
    row("tables", &|row| row.tables.to_string())?;
    row("distance, bits", &|row| row.distance.to_string())?;
    row("file", &|row| DecimalBytes(row.bytes).to_string())?;
    row("bytes per fingerprint", &|row| format!("{:.2}", row.bytes_per_fingerprint))?;
    row("  without compression", &|row| format!("{:.2}", row.uncompressed_bytes_per_fingerprint))?;
    row("bits above the bound, per entry", &|row| format!("{:+.2}", row.bits_above_bound))?;
    row("memory besides the file", &|row| DecimalBytes(row.memory_bytes).to_string())?;
    row("built in, seconds", &|row| format!("{:.2}", row.build_seconds))?;
    row("verified in, seconds", &|row| format!("{:.2}", row.verify_seconds))?;
    row("µs per query (warm, one thread), mean", &|row| format!("{:.2}", row.query_mean_us))?;
    row("  median", &|row| format!("{:.2}", row.query_median_us))?;
    row("  99 %", &|row| format!("{:.2}", row.query_p99_us))?;
    row("matches of all queries", &|row| HumanCount(row.matches).to_string())?;
    row("brute force's matches found, of a sample", &|row| format!("{} of {}", row.found, row.expected))?;
    row("matches that brute force does not find", &|row| row.excess.to_string())?;
    write!(output, "{NEXT}")
}

/// The measurements of a codec, as they are reported.
#[derive(Serialize)]
struct Row {
    codec: String,
    fingerprints: u64,
    design: String,
    tables: usize,
    distance: u32,
    bytes: u64,
    bytes_per_fingerprint: f64,
    uncompressed_bytes_per_fingerprint: f64,
    /// Per fingerprint and table, above the lower bound for uniform fingerprints.
    bits_above_bound: f64,
    memory_bytes: u64,
    build_seconds: f64,
    verify_seconds: f64,
    query_mean_us: f64,
    query_median_us: f64,
    query_p99_us: f64,
    matches: u64,
    checked_queries: usize,
    expected: usize,
    found: usize,
    excess: usize,
}
