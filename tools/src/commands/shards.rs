//! `hamdex shards`: sets of index files that were built separately.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use hamdex::VerifyOptions;
use hamdex_shards::inspect::Manifest;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::option_values::Threads;
use crate::output::Force;
use crate::progress::Phases;
use crate::standard_output::{Object, print_json};

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
    Create(CreateArgs),
    Add(AddArgs),
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Create(args) => create(args),
        Command::Add(args) => add(args),
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
    let report = Object::default()
        .field("output", set.to_string_lossy())
        .field("added", added)
        .field("layout", manifest.layout.to_string())
        .field("shards", manifest.shards.len())
        .field("fingerprints", manifest.fingerprints())
        .field("ids", manifest.ids())
        .field("bytes", manifest.bytes());
    print_json(&report).map_err(|failure| failure.in_place(set))
}

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
struct CreateArgs {
    #[command(flatten)]
    joining: Joining,
    #[command(flatten)]
    force: Force,
}

fn create(args: &CreateArgs) -> Result<(), Failure> {
    args.joining.run(|set, files, options| hamdex_shards::create(set, files, args.force.force, options))
}

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
struct AddArgs {
    #[command(flatten)]
    joining: Joining,
}

fn add(args: &AddArgs) -> Result<(), Failure> {
    args.joining.run(|set, files, options| hamdex_shards::add(set, files, options))
}
