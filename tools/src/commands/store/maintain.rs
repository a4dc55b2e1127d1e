//! `hamdex store flush`, `compact` and `purge`: maintenance of a whole store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_store::inspect::StoreStats;
use hamdex_store::{Store, StoreOptions};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::commands::store::{manifest_of, of_width, print_json};
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::{self, Phases};

/// The arguments of a maintenance command.
#[derive(clap::Args)]
struct Target {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Print the outcome as a JSON object
    #[arg(long)]
    json: bool,
}

/// Write recent records to a file of the store.
///
/// They are durable without it; the store opens faster afterwards, without reading them from the log.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store flush news.store"
)]
pub(super) struct FlushArgs {
    #[command(flatten)]
    target: Target,
}

/// Merge all files of a store into one, without removed records.
///
/// Queries are fastest then. A store merges its files in the background, so this is only for a store that
/// stays unchanged for a while. Needs free disk space for the new file next to the old ones.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store compact news.store"
)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    target: Target,
}

/// Erase removed records from the disk.
///
/// When it ends, no file of the store, logs included, holds a removed record any more. It cannot erase
/// backups, other links of an ingested file, files that other processes have open, or data that a file system
/// or a device keeps of deleted files.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store purge news.store"
)]
pub(super) struct PurgeArgs {
    #[command(flatten)]
    target: Target,
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report {
    segments: usize,
    bytes: u64,
    /// Records erased from files, by a purge.
    #[serde(skip_serializing_if = "Option::is_none")]
    purged: Option<u64>,
    seconds: f64,
}

pub(super) fn flush(args: &FlushArgs) -> Result<(), Failure> {
    let manifest = manifest_of(&args.target.store)?;
    of_width!(
        manifest,
        maintain(&args.target.store, args.target.json, Some("Writing"), |store, _| store
            .flush()
            .map(|()| None))
    )
}

pub(super) fn compact(args: &CompactArgs) -> Result<(), Failure> {
    let manifest = manifest_of(&args.target.store)?;
    of_width!(
        manifest,
        maintain(&args.target.store, args.target.json, None, |store, phases| {
            store.compact_with(phases.reporter()).map(|()| None)
        })
    )
}

pub(super) fn purge(args: &PurgeArgs) -> Result<(), Failure> {
    let manifest = manifest_of(&args.target.store)?;
    of_width!(
        manifest,
        maintain(&args.target.store, args.target.json, None, |store, phases| {
            let purged = store.purge_with(phases.reporter())?;
            phases.finish();
            // This process has no snapshot open but the one that a merge has just released.
            for path in &purged.held {
                messages::caution(format_args!("{}: still in use; purge the store again", path.display()));
            }
            Ok(Some(purged.pairs))
        })
    )
}

/// Opens a store, runs maintenance on it, and reports its state. A spinner shows `doing`, for work without
/// progress.
fn maintain<F: Fingerprint>(
    path: &Path,
    json: bool,
    doing: Option<&'static str>,
    work: impl FnOnce(&Store<F>, &Arc<Phases>) -> Result<Option<u64>, hamdex_store::Error>,
) -> Result<(), Failure> {
    let started = Instant::now();
    // No background work next to the one requested.
    let store = Store::<F>::open(path, StoreOptions::new().merges(false))?;
    let bar = doing.map(progress::of_work);
    let phases = Arc::new(Phases::default());
    let outcome = work(&store, &phases);
    phases.finish();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let purged = outcome?;
    let stats = store.stats();
    store.close()?;
    let seconds = started.elapsed().as_secs_f64();
    if json {
        return print_json(&Report { segments: stats.segments.len(), bytes: stats.bytes, purged, seconds });
    }
    print_summary(path, &stats, purged, seconds);
    Ok(())
}

fn print_summary(path: &Path, stats: &StoreStats, purged: Option<u64>, seconds: f64) {
    let purged =
        purged.map_or(String::new(), |purged| format!("{} purged; ", counted(purged, "record", "records")));
    messages::summary(format_args!(
        "{}: {purged}{}, {}, in {seconds:.1} s",
        path.display(),
        counted(stats.segments.len() as u64, "segment", "segments"),
        HumanBytes(stats.bytes)
    ));
}
