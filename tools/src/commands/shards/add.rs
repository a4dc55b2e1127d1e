//! `hamdex shards add`: adds index files to a set.

use crate::commands::shards::Joining;
use crate::failure::Failure;

/// Add index files that were built separately to a set of shards, all in one step.
///
/// Each file is read and checked before. It must have the width, the distance, the recipe and the kind of ids
/// of the set; design and codec may differ. On the same file system the set links the file, otherwise it
/// copies it: the file must not be changed in place afterwards, but may be deleted. Programs that have the
/// set open keep its previous state.
///
/// A set with the layout families is refused: its fingerprints are spread by their bits.
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
