//! `hamdex store`: a directory with a set that can be updated.
//!
//! - [`create`]: creates a store
//! - [`insert`]: inserts records, all or only those without a near one; [`inserter`] writes batches of them
//! - [`remove`]: removes records, or everything with some ids
//! - [`maintain`]: flush, compact, purge; backups and checkpoints; index files that are added
//! - [`repair`]: salvages a damaged store
//! - [`stats`]: counts and costs
//! - [`texts`]: documents to insert
//!
//! [`Records`] are the fingerprints that several of them take, with ids or names, from files or a pipe.

mod create;
mod insert;
mod inserter;
mod maintain;
mod remove;
mod repair;
mod stats;
mod texts;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use hamdex::Fingerprint;
use hamdex_store::inspect::Manifest;

use crate::failure::Failure;
use crate::input::{Arrivals, Beside, Columns, Format, Found, Reading, has_pipe};
use crate::standard_output::print_json;

/// Keep an updatable set of fingerprints in a directory.
///
/// A store takes inserts and removals at any time, survives a crash at any moment, and answers queries
/// exactly meanwhile: `hamdex query`, `pairs`, `dump` and `verify` take its directory like an index file,
/// also while another process writes to it. One process at a time can write.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex store create news.store
  hamdex store insert news.store pairs.txt
  hamdex query news.store 0123456789abcdef"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(create::Args),
    Insert(Box<insert::Args>),
    Remove(remove::Args),
    /// Write recent records to a file of the store.
    ///
    /// Records are durable without a flush. After it, the store opens faster, since the log is short.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Example:
  hamdex store flush news.store"
    )]
    Flush(maintain::Target),
    /// Merge all files of a store into one, without removed records.
    ///
    /// Queries are fastest then. A store merges its files in the background, so this is only for a store that
    /// stays unchanged for a while. Needs free disk space for the new file next to the old ones.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Example:
  hamdex store compact news.store"
    )]
    Compact(maintain::Target),
    /// Erase removed records from the disk.
    ///
    /// When it ends, neither segments nor logs have removed records. It cannot erase backups, other links of
    /// an ingested file, files that other processes have open, or data of deleted files that a file system or device
    /// keeps.
    #[command(
        arg_required_else_help = true,
        after_help = "\
Example:
  hamdex store purge news.store"
    )]
    Purge(maintain::Target),
    Backup(maintain::BackupArgs),
    Checkpoint(maintain::CheckpointArgs),
    Ingest(maintain::IngestArgs),
    Stats(stats::Args),
    Repair(repair::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Create(args) => create::run(args),
        Command::Insert(args) => insert::run(args),
        Command::Remove(args) => remove::run(args),
        Command::Flush(args) => maintain::flush(args),
        Command::Compact(args) => maintain::compact(args),
        Command::Purge(args) => maintain::purge(args),
        Command::Backup(args) => maintain::backup(args),
        Command::Checkpoint(args) => maintain::checkpoint(args),
        Command::Ingest(args) => maintain::ingest(args),
        Command::Stats(args) => stats::run(args),
        Command::Repair(args) => repair::run(args),
    }
}

/// Calls a function for the width of a store.
macro_rules! of_width {
    ($manifest:expr, $function:ident($($argument:expr),*)) => {
        hamdex_any::for_width!($manifest.identity.width, F => $function::<F>($($argument),*))
    };
}
use of_width;

/// Reads the manifest of a store.
fn manifest_of(path: &Path) -> Result<Manifest, Failure> {
    Ok(hamdex_store::inspect(path)?.manifest)
}

const DEFAULT_FINGERPRINT_FIELD: &str = "fingerprint";

/// The source of records.
#[derive(Debug, clap::Args)]
struct Records {
    /// The format of the inputs
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// The column of fingerprints in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FINGERPRINT_FIELD)]
    fingerprint_field: String,
    /// Files of records; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

impl Records {
    /// Starts to read fingerprints, each with the value next to it: in tables, the one in this column.
    fn read<F: Fingerprint>(
        &self,
        beside: Beside,
        id_field: &str,
        needs_each: bool,
    ) -> Result<Arrivals<(F, Found)>, Failure> {
        let reading = Reading {
            paths: self.inputs.clone(),
            format: self.format,
            columns: Columns {
                fingerprint: self.fingerprint_field.clone(),
                id: id_field.to_owned(),
                ..Columns::default()
            },
            beside,
            is_prompt: has_pipe(&self.inputs),
            needs_each,
            ..Reading::default()
        };
        Arrivals::of_fingerprints(reading, |fingerprint, found| (fingerprint, found))
    }
}
