//! `hamdex shards create`: makes a set of index files.

use crate::commands::shards::Joining;
use crate::failure::Failure;
use crate::output::Force;

/// Make a set of index files that were built separately.
///
/// Each file is read and checked before. All must have the same width, distance, recipe and kind of ids;
/// designs and codecs may differ. A fingerprint may be in several files, and has the ids of all. On the same
/// file system the set links the files, otherwise it copies them: they must not be changed in place
/// afterwards, but may be deleted.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex shards create web.shards monday.hamdex tuesday.hamdex"
)]
pub(super) struct Args {
    #[command(flatten)]
    joining: Joining,
    #[command(flatten)]
    force: Force,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    args.joining.run(|set, files, options| hamdex_shards::create(set, files, args.force.force, options))
}
