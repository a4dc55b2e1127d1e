//! `hamdex store stats`: the counts of a store, and their costs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hamdex::Fingerprint;
use hamdex_store::StoreReader;
use hamdex_store::health::Health;
use hamdex_store::inspect::{Manifest, StoreStats};
use indicatif::{HumanBytes, HumanCount};

use crate::commands::store::{manifest_of, of_width};
use crate::failure::Failure;
use crate::messages::counted;
use crate::progress;
use crate::standard_output::{self, Object, print_json};

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

/// Returns the health of the process that has the store open for writing.
fn health_json(health: Health) -> Object {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let failing = |failure: hamdex_store::health::Failure| {
        Object::default()
            .field("work", failure.work.to_string())
            .field("message", failure.message)
            // Since 1970, UTC.
            .field("since", seconds(failure.since))
            .field("attempts", failure.attempts)
            .field("remedy", failure.remedy.to_string())
    };
    Object::default()
        .field("holder", health.holder)
        .field("merges", health.merges.to_string())
        .field("pressure", health.pressure.to_string())
        .field("queue", health.queue)
        .field("unsynced_seconds", health.unsynced.map(|time| time.as_secs_f64()))
        .field("failures", health.failures.into_iter().map(failing).collect::<Vec<_>>())
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
    let report = Object::default()
        .field("fingerprints", stats.fingerprints)
        .field("ids", stats.ids)
        // Otherwise these two are upper bounds.
        .field("is_exact", stats.is_exact)
        .field("segments", stats.segments.len())
        .field("bytes", stats.bytes)
        .field("recent", stats.recent)
        .field("recent_bytes", stats.recent_bytes)
        .field("removed", stats.removed)
        .field("batches", stats.sequence)
        .field("write_amplification", stats.write_amplification)
        .field("health", stats.health.map(health_json));
    print_json(&report)
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
    if let Some(health) = &stats.health {
        writeln!(output, "  open for writing by {}", health.holder)?;
        writeln!(output, "  merges          {}", health.merges)?;
        writeln!(
            output,
            "  back-pressure   {}; {} waiting",
            health.pressure,
            counted(health.queue as u64, "write", "writes")
        )?;
        for failing in &health.failures {
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
