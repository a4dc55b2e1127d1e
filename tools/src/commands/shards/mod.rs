//! `hamdex shards`: sets of index files that were built separately.
//!
//! - [`create`]: makes a set of index files
//! - [`add`]: adds index files to a set

mod add;
mod create;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use hamdex::VerifyOptions;
use hamdex_shards::inspect::Manifest;
use serde::Serialize;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::Phases;
use crate::standard_output;
use crate::threads::Threads;

/// Query many index files as one set, in a directory.
///
/// A set of shards is a directory of index files that were built separately, on other machines or other days,
/// with a manifest. `hamdex query`, `pairs`, `dump` and `verify` take it like an index file.
/// `hamdex build --shards` builds such a set itself, with families one whose queries read only a few shards,
/// however many there are; hamdex.spark builds one on many machines.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex shards create web.shards monday.hamdex tuesday.hamdex
  hamdex shards add web.shards wednesday.hamdex
  hamdex query web.shards 0123456789abcdef"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(create::Args),
    Add(add::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Create(args) => create::run(args),
        Command::Add(args) => add::run(args),
    }
}

/// The arguments of both commands.
#[derive(clap::Args)]
struct Joining {
    /// The directory of the set
    #[arg(value_name = "DIR")]
    set: PathBuf,
    /// Index files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print the state of the set as a JSON object
    #[arg(long)]
    json: bool,
}

impl Joining {
    /// Adds the files by `join`, and reports on the set.
    fn run(
        &self,
        join: impl FnOnce(&Path, &[PathBuf], &VerifyOptions) -> Result<Manifest, hamdex_shards::Error>,
    ) -> Result<(), Failure> {
        self.threads.start()?;
        let phases = Arc::new(Phases::default());
        let options = VerifyOptions::new().progress(phases.reporter());
        let outcome = join(&self.set, &self.files, &options);
        phases.finish();
        report(&self.set, self.files.len(), &outcome?, self.json)
    }
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    output: Cow<'a, str>,
    added: usize,
    layout: String,
    shards: usize,
    fingerprints: u64,
    ids: u64,
    bytes: u64,
}

/// Reports on a set after files were added.
fn report(set: &Path, added: usize, manifest: &Manifest, json: bool) -> Result<(), Failure> {
    if !json {
        messages::summary(format_args!(
            "{}: {} added; {}, at most {}",
            set.display(),
            counted(added as u64, "file", "files"),
            counted(manifest.shards.len() as u64, "shard", "shards"),
            counted(manifest.fingerprints(), "fingerprint", "fingerprints"),
        ));
        return Ok(());
    }
    let report = Report {
        output: set.to_string_lossy(),
        added,
        layout: manifest.layout.to_string(),
        shards: manifest.shards.len(),
        fingerprints: manifest.fingerprints(),
        ids: manifest.ids(),
        bytes: manifest.bytes(),
    };
    let mut output = standard_output::lines();
    let written = serde_json::to_writer(&mut output, &report).map_err(std::io::Error::from);
    written
        .and_then(|()| writeln!(output))
        .map_err(|error| Failure::InPlace { path: set.to_owned(), source: Box::new(Failure::Output(error)) })
}
