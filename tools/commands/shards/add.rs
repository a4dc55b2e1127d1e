//! `hamdex shards add`: index files join a set.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::VerifyOptions;

use crate::bars::Phases;
use crate::commands::shards::report;
use crate::failure::Failure;
use crate::threads::Threads;

/// Let index files that were built one by one join a set of shards, all in one step.
///
/// Each file is read and checked before. It must have the width, the distance, the recipe and the kind of ids of the
/// set; design and codec may differ. On the same file system the set links the file, otherwise it copies it: the file
/// must not be changed in place afterwards, but may be deleted. Who has opened the set goes on with what it was.
///
/// A set of families is refused: its fingerprints are spread by their bits, so it takes no files as they are.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex shards add web.shards wednesday.hamdex thursday.hamdex"
)]
pub(super) struct Args {
    /// The directory of the set
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
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let phases = Arc::new(Phases::default());
    let options = VerifyOptions::new().progress(phases.reporter());
    let outcome = hamdex_shards::add(&args.set, &args.files, &options);
    phases.finish();
    report(&args.set, args.files.len(), &outcome?, args.json)
}
