//! Maintenance of a whole store: `hamdex store flush`, `compact` and `purge`; `backup` and `checkpoint`, which make
//! consistent copies; and `ingest`, which adds index files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_store::inspect::StoreStats;
use hamdex_store::{Store, StoreOptions};
use indicatif::HumanBytes;

use crate::commands::store::{manifest_of, of_width};
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::{self, Phases};
use crate::standard_output::{Object, print_json};

// Not documented: its text would be that of each command.
#[derive(clap::Args)]
pub(super) struct Target {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Print the outcome as a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn flush(args: &Target) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(
        manifest,
        maintain(&args.store, args.json, Some("Writing"), |store, _| store.flush().map(|()| None))
    )
}

pub(super) fn compact(args: &Target) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(
        manifest,
        maintain(&args.store, args.json, None, |store, phases| {
            store.compact_with(&phases.report()).map(|()| None)
        })
    )
}

pub(super) fn purge(args: &Target) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(
        manifest,
        maintain(&args.store, args.json, None, |store, phases| {
            let purged = store.purge_with(&phases.report())?;
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
        let report = Object::default()
            .field("segments", stats.segments.len())
            .field("bytes", stats.bytes)
            .optional("purged", purged)
            .field("seconds", seconds);
        return print_json(&report);
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

/// Copy a store to another directory, also while another process writes to it.
///
/// The copy is a store with all writes acknowledged before the command began, and is verified as it is made. On
/// file systems such as Btrfs and XFS, its files share blocks with the originals until either changes, which takes
/// little time and space. For a copy on another device, name a directory there. The copy is usable when the command
/// has ended. The next backup replaces an interrupted one.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store backup news.store /backup/news.store"
)]
pub(super) struct BackupArgs {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// The directory of the copy; it may exist if it is empty, or has an interrupted copy
    #[arg(value_name = "TO")]
    target: PathBuf,
}

pub(super) fn backup(args: &BackupArgs) -> Result<(), Failure> {
    let phases = Arc::new(Phases::default());
    let outcome = hamdex_store::backup_with(&args.store, &args.target, &phases.report());
    phases.finish();
    outcome?;
    messages::summary(format_args!("{}: copied to {}", args.store.display(), args.target.display()));
    Ok(())
}

/// Make a store of this moment in another directory, by links.
///
/// It takes little time and no space, since both stores share their large files. Damage to a shared file affects
/// both, so a checkpoint is not a backup. It is a way back from a change, or the source of a backup elsewhere. Either
/// store can be written to, compacted and removed without the other. The directory must be on the file system of the
/// store.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store checkpoint news.store before.store"
)]
pub(super) struct CheckpointArgs {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// The directory of the checkpoint; it may exist if it is empty, or has an interrupted copy
    #[arg(value_name = "TO")]
    target: PathBuf,
}

pub(super) fn checkpoint(args: &CheckpointArgs) -> Result<(), Failure> {
    hamdex_store::checkpoint(&args.store, &args.target)?;
    messages::summary(format_args!("{}: linked to {}", args.store.display(), args.target.display()));
    Ok(())
}

/// Add index files that `hamdex build` has made to a store, each in one step.
///
/// Every file is copied, and the copy is verified before it counts. It must have the width of the store, and ids if
/// the store has ids; design and codec may differ. On file systems such as Btrfs and XFS, the copy shares its blocks
/// with the file. Afterwards the file may be changed or deleted.
///
/// A store with names takes files with names, and renumbers their ids to follow its own.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex build -o monday.hamdex --ids pairs monday.txt
  hamdex store ingest news.store monday.hamdex"
)]
pub(super) struct IngestArgs {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Index files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(super) fn ingest(args: &IngestArgs) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(manifest, ingest_into(args))
}

fn ingest_into<F: Fingerprint>(args: &IngestArgs) -> Result<(), Failure> {
    let store = Store::<F>::open(&args.store, StoreOptions::new())?;
    for (done, file) in args.files.iter().enumerate() {
        let phases = Arc::new(Phases::of_item(done + 1, args.files.len()));
        let outcome = store.ingest_with(file, &phases.report());
        phases.finish();
        outcome.map_err(|error| match done as u64 {
            0 => Failure::from(error),
            done => Failure::from(error).after(format!("{} added before it", counted(done, "file", "files"))),
        })?;
    }
    store.close()?;
    messages::summary(format_args!(
        "{}: {} added",
        args.store.display(),
        counted(args.files.len() as u64, "file", "files")
    ));
    Ok(())
}
