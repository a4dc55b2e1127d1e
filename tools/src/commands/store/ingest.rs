//! `hamdex store ingest`: adds index files to a store.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::Fingerprint;
use hamdex_store::{Store, StoreOptions};

use crate::commands::store::{manifest_of, of_width};
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::Phases;

/// Add index files that `hamdex build` has made to a store, each in one step.
///
/// Every file is copied, and the copy is read and checked before it counts. It must have the width of the store, and
/// ids if the store has ids; design and codec may differ. On a file system that can do it, such as Btrfs and XFS,
/// the copy shares its blocks with the file. Afterwards the file may be changed or deleted.
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
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Index files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let manifest = manifest_of(&args.store)?;
    of_width!(manifest, ingest(args))
}

fn ingest<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let store = Store::<F>::open(&args.store, StoreOptions::new())?;
    for (done, file) in args.files.iter().enumerate() {
        let phases = Arc::new(Phases::of_item(done + 1, args.files.len()));
        let outcome = store.ingest_with(file, phases.reporter());
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
