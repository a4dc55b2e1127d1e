//! `hamdex store backup`: a consistent copy of a store.

use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::Failure;
use crate::messages;
use crate::progress::Phases;

/// Copy a store to another directory, also while another process writes to it.
///
/// The copy is a store of its own, with everything that was acknowledged before the command began. On the
/// same file system its large files are links, so that it takes little time and space; for a copy on another
/// device, name a directory there. The copy is usable only when the command has ended. The next backup
/// replaces an interrupted one.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store backup news.store /backup/news.store"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// The directory of the copy; it may exist if it is empty, or has an interrupted copy
    #[arg(value_name = "TO")]
    target: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let phases = Arc::new(Phases::default());
    let outcome = hamdex_store::backup_with(&args.store, &args.target, phases.reporter());
    phases.finish();
    outcome?;
    messages::summary(format_args!("{}: copied to {}", args.store.display(), args.target.display()));
    Ok(())
}
