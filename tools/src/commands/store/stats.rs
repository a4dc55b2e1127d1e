//! `hamdex store stats`: the counts of a store, and their costs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hamdex::Fingerprint;
use hamdex_store::StoreReader;
use hamdex_store::health::Health;
use hamdex_store::inspect::{Manifest, StoreStats};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::commands::store::{manifest_of, of_width};
use crate::failure::Failure;
use crate::messages::counted;
use crate::progress;
use crate::standard_output::{self, print_json};

/// Show the counts of a store, and their costs.
///
/// Reads little, as the store keeps counts. They are upper bounds if several files of the store may have the
/// same record, or if a fingerprint has lost only some of its ids; `--exact` counts. `hamdex dump` shows each
/// file.
///
/// If a process has the store open for writing, its health is shown as well: flushes, merges or syncs that
/// fail, the remedy, and whether writers are held back.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store stats news.store
  hamdex store stats news.store --json
  hamdex store stats news.store --exact"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Count exactly, which reads the whole store unless its counts are exact anyway
    #[arg(long)]
    exact: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    fingerprints: u64,
    ids: u64,
    /// Whether these two are exact, or upper bounds.
    is_exact: bool,
    segments: usize,
    bytes: u64,
    recent: u64,
    recent_bytes: u64,
    removed: u64,
    batches: u64,
    write_amplification: f64,
    /// The health of the process that has the store open for writing.
    health: Option<Writing>,
}

/// The health of a process that has a store open for writing.
#[derive(Serialize)]
struct Writing {
    holder: String,
    merges: String,
    pressure: String,
    /// The number of waiting writes.
    queue: usize,
    /// The time for which the oldest write has waited for a sync.
    unsynced_seconds: Option<f64>,
    failures: Vec<Failing>,
}

/// Background work that fails.
#[derive(Serialize)]
struct Failing {
    work: String,
    message: String,
    /// Seconds since 1970, UTC.
    since: u64,
    attempts: u64,
    remedy: String,
}

impl Writing {
    fn of(health: Health) -> Self {
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let failing = |failure: hamdex_store::health::Failure| Failing {
            work: failure.work.to_string(),
            since: seconds(failure.since),
            attempts: failure.attempts,
            remedy: failure.remedy.to_string(),
            message: failure.message,
        };
        Self {
            merges: health.merges.to_string(),
            pressure: health.pressure.to_string(),
            queue: health.queue,
            unsynced_seconds: health.unsynced.map(|time| time.as_secs_f64()),
            failures: health.failures.into_iter().map(failing).collect(),
            holder: health.holder,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(manifest, stats(args, &manifest))
}

fn stats<F: Fingerprint>(args: &Args, manifest: &Manifest) -> Result<(), Failure> {
    let reader = StoreReader::<F>::open(&args.store)?;
    let mut stats = reader.stats();
    if args.exact && !stats.is_exact {
        let bar = progress::of_work("Counting");
        let count = reader.snapshot().count();
        bar.finish_and_clear();
        let count = count?;
        stats.fingerprints = count.fingerprints;
        stats.ids = if manifest.identity.has_ids { count.pairs } else { 0 };
        stats.is_exact = true;
    }
    if !args.json {
        return print(&args.store, manifest, &stats);
    }
    print_json(&Report {
        fingerprints: stats.fingerprints,
        ids: stats.ids,
        is_exact: stats.is_exact,
        segments: stats.segments.len(),
        bytes: stats.bytes,
        recent: stats.recent,
        recent_bytes: stats.recent_bytes,
        removed: stats.removed,
        batches: stats.sequence,
        write_amplification: stats.write_amplification,
        health: stats.health.map(Writing::of),
    })
}

fn print(path: &Path, manifest: &Manifest, stats: &StoreStats) -> Result<(), Failure> {
    let mut output = standard_output::lines();
    let at_most = if stats.is_exact { "" } else { "at most " };
    writeln!(output, "{}", path.display())?;
    let width = manifest.identity.width;
    writeln!(output, "  fingerprints    {at_most}{}, {width} bits", HumanCount(stats.fingerprints))?;
    if manifest.identity.has_ids {
        writeln!(output, "  pairs           {at_most}{}", HumanCount(stats.ids))?;
    }
    writeln!(output, "  segments        {}, {}", stats.segments.len(), HumanBytes(stats.bytes))?;
    writeln!(
        output,
        "  recent          {} in the log, {} of memory",
        HumanCount(stats.recent),
        HumanBytes(stats.recent_bytes)
    )?;
    writeln!(output, "  removed         {} still in segments", HumanCount(stats.removed))?;
    writeln!(output, "  batches         {}", HumanCount(stats.sequence))?;
    writeln!(
        output,
        "  amplification   {:.2} bytes written per byte of new segments",
        stats.write_amplification
    )?;
    if let Some(health) = stats.health.clone().map(Writing::of) {
        writeln!(output, "  open for writing by {}", health.holder)?;
        writeln!(output, "  merges          {}", health.merges)?;
        writeln!(
            output,
            "  back-pressure   {}; {} waiting",
            health.pressure,
            counted(health.queue as u64, "write", "writes")
        )?;
        for failing in health.failures {
            writeln!(
                output,
                "  {} fails: {} ({}; {})",
                failing.work,
                failing.message,
                counted(failing.attempts, "attempt", "attempts"),
                failing.remedy
            )?;
        }
    }
    Ok(())
}
