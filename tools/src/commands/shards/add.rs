//! `hamdex shards add`: index files join a set.

use crate::commands::shards::Joining;
use crate::failure::Failure;

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
    #[command(flatten)]
    joining: Joining,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    args.joining.run(|set, files, options| hamdex_shards::add(set, files, options))
}
