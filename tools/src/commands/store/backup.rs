//! `hamdex store backup` and `checkpoint`: consistent copies of a store.

use std::path::PathBuf;
use std::sync::Arc;

use crate::failure::Failure;
use crate::messages;
use crate::progress::Phases;

/// Copy a store to another directory, also while another process writes to it.
///
/// The copy is a store of its own, with everything that was acknowledged before the command began, and is checked
/// as it is made. Its files are files of their own; on a file system that can do it, such as Btrfs and XFS, they
/// share blocks with the originals until either changes, which takes little time and space. For a copy on another
/// device, name a directory there. The copy is usable only when the command has ended. The next backup replaces an
/// interrupted one.
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
    let outcome = hamdex_store::backup_with(&args.store, &args.target, phases.reporter());
    phases.finish();
    outcome?;
    messages::summary(format_args!("{}: copied to {}", args.store.display(), args.target.display()));
    Ok(())
}

/// Make a store of this moment in another directory, by links.
///
/// It takes little time and no space, since its large files are the same as those of the store: damage to one shows
/// in both, as by a program that writes to a file in place. So it is no backup, but a way back after a change, or
/// what a backup elsewhere is copied from. Either store can be written to, compacted and removed without the other.
/// The directory lies on the file system of the store.
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
