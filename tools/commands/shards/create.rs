//! `hamdex shards create`: a set of index files.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::VerifyOptions;

use crate::bars::Phases;
use crate::commands::shards::report;
use crate::failure::Failure;
use crate::output::Force;
use crate::threads::Threads;

/// Make a set of index files that were built one by one.
///
/// Each file is read and checked before. All must have the same width, distance, recipe and kind of ids; designs and
/// codecs may differ. A fingerprint may be in several files: its ids are those of all. On the same file system the set
/// links the files, otherwise it copies them: they must not be changed in place afterwards, but may be deleted.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex shards create web.shards monday.hamdex tuesday.hamdex"
)]
pub(super) struct Args {
    /// The directory to make
    #[arg(value_name = "DIR")]
    set: PathBuf,
    /// Index files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print what the set has as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let phases = Arc::new(Phases::default());
    let options = VerifyOptions::new().progress(phases.reporter());
    let outcome = hamdex_shards::create(&args.set, &args.files, args.force.force, &options);
    phases.finish();
    report(&args.set, args.files.len(), &outcome?, args.json)
}
