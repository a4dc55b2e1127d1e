//! Prints the codecs next to each other, and commands to try next.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{DecimalBytes, HumanCount};
use serde::Serialize;

use crate::commands::demo::measure::Measured;
use crate::standard_output;

const NEXT: &str = "
Try next (`cargo install --path tools` puts hamdex on your path):
  hamdex dedup articles.jsonl                  near-duplicates among your documents
  hamdex build -o my.hamdex fingerprints.txt   an index of your own fingerprints
  hamdex query my.hamdex 0123456789abcdef      everything within 3 bits of one
  hamdex pairs my.hamdex --count               how many pairs are near each other
  hamdex designs --count 1000000000            designs for a billion, with costs
";

/// Prints a column per codec.
pub(super) fn print(measured: &[Measured]) -> io::Result<()> {
    let output = &mut standard_output::lines();
    let mut row = |name: &str, value: &dyn Fn(&Row) -> String| {
        let values = measured.iter().map(|measured| format!("{:>16}", value(&Row::of(measured))));
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

/// Prints an array with an object per codec.
pub(super) fn print_json(measured: &[Measured]) -> io::Result<()> {
    let mut output = standard_output::lines();
    let rows: Vec<Row> = measured.iter().map(Row::of).collect();
    serde_json::to_writer_pretty(&mut output, &rows)?;
    writeln!(output)
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

impl Row {
    fn of(measured: &Measured) -> Self {
        let Measured { summary, stats, query_times, checked, .. } = measured;
        let tables = stats.tables.len();
        let bytes_per_fingerprint = summary.bytes as f64 / summary.fingerprints as f64;
        let microseconds = |duration: Duration| duration.as_secs_f64() * 1e6;
        let quantile = |percent: usize| microseconds(query_times[query_times.len() * percent / 100]);
        Self {
            codec: measured.codec.to_string(),
            fingerprints: summary.fingerprints,
            design: summary.design.clone(),
            tables,
            distance: stats.distance,
            bytes: summary.bytes,
            bytes_per_fingerprint,
            uncompressed_bytes_per_fingerprint: 8.0 * tables as f64,
            bits_above_bound: bytes_per_fingerprint * 8.0 / tables as f64 - stats.bound_bits,
            memory_bytes: stats.memory_bytes,
            build_seconds: measured.built_in.as_secs_f64(),
            verify_seconds: measured.verified_in.as_secs_f64(),
            query_mean_us: microseconds(query_times.iter().sum::<Duration>()) / query_times.len() as f64,
            query_median_us: quantile(50),
            query_p99_us: quantile(99),
            matches: measured.matches,
            checked_queries: checked.queries,
            expected: checked.expected,
            found: checked.found,
            excess: checked.excess,
        }
    }
}
