//! `hamdex verify`: checks a file, a store or a set of shards, and reports on an undamaged one.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::{Verified, VerifyOptions};
use hamdex_any::Kind;
use indicatif::HumanBytes;

use crate::failure::Failure;
use crate::messages::counted;
use crate::option_values::Threads;
use crate::progress::Phases;
use crate::standard_output::{self, Object, print_json};

/// Check every byte of an index file, a store or a set of shards.
///
/// Checks all checksums and padding, the order of entries and keys, counts, codebooks, ids and their names,
/// and that all tables hold the same fingerprints; in a store, all its files, removals, logs and the
/// manifest; in a set of shards, all its files, that each is the one that the manifest names, and with
/// families that every fingerprint is in the right shard of each. The exit code is 3 if something is damaged.
/// Leftovers of a crash in a store are printed. They are not damage; the next writer removes them.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex verify news.hamdex
  hamdex verify news.hamdex --json"
)]
pub(crate) struct Args {
    /// The index file, or the directory of a store or of shards
    #[arg(value_name = "FILE")]
    index: PathBuf,
    #[command(flatten)]
    threads: Threads,
    /// Print the outcome as a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let outcome = verify(args);
    if args.json {
        let report = Object::default().field("ok", outcome.is_ok());
        print_json(&match &outcome {
            Ok(whole) => whole.told(report).0,
            Err(failure) => report.field("error", failure.line()),
        })?;
    }
    let whole = outcome?;
    if !args.json {
        whole.print(&args.index, &mut standard_output::lines())?;
    }
    Ok(())
}

fn verify(args: &Args) -> Result<Whole, Failure> {
    let set = hamdex_any::open(&args.index)?;
    let phases = Arc::new(Phases::default());
    let verified = set.verify(&VerifyOptions::new().progress(phases.reporter()));
    phases.finish();
    Ok(Whole { kind: set.kind(), has_names: set.description().has_names, verified: verified? })
}

/// The amounts that were read and checked.
struct Whole {
    kind: Kind,
    has_names: bool,
    verified: Verified,
}

impl Whole {
    /// Adds the amounts to an object, and returns it and a sentence of them.
    fn told(&self, report: Object) -> (Object, String) {
        let verified = &self.verified;
        let fingerprints = counted(verified.fingerprints, "fingerprint", "fingerprints");
        let blocks = counted(verified.blocks, "block", "blocks");
        let ids = counted(verified.ids, "id", "ids");
        match self.kind {
            Kind::Store => {
                let segments = counted(verified.files as u64, "segment", "segments");
                let batches = counted(verified.batches, "batch", "batches");
                let report = report
                    .field("segments", verified.files)
                    .field("bytes", verified.bytes)
                    // In segments, removed ones included.
                    .field("fingerprints", verified.fingerprints)
                    .field("batches", verified.batches)
                    .field("notes", &verified.notes);
                (report, format!("{fingerprints} in {segments}, {batches} in the log"))
            }
            Kind::Shards => {
                let shards = counted(verified.files as u64, "shard", "shards");
                let at_most = if verified.families == 1 { "at most " } else { "" };
                let report = report
                    .field("shards", verified.files)
                    .field("families", verified.families)
                    .field("bytes", verified.bytes)
                    .field("blocks", verified.blocks)
                    // In one family; an upper bound for the layout `hash`.
                    .field("fingerprints", verified.fingerprints)
                    .field("ids", verified.ids)
                    .field("notes", &verified.notes);
                (report, format!("{at_most}{fingerprints} in {shards}, {blocks}, {ids}"))
            }
            _ => {
                let tables = counted(verified.tables as u64, "table", "tables");
                let named = counted(verified.names, "name", "names");
                let named = if self.has_names { format!(", {named}") } else { String::new() };
                let report = report
                    .field("bytes", verified.bytes)
                    .field("tables", verified.tables)
                    .field("blocks", verified.blocks)
                    .field("fingerprints", verified.fingerprints)
                    .field("ids", verified.ids)
                    .optional("names", self.has_names.then_some(verified.names));
                (report, format!("{fingerprints} in {tables}, {blocks}, {ids}{named}"))
            }
        }
    }

    /// Prints a line, and one for each note.
    fn print(&self, path: &Path, output: &mut impl Write) -> io::Result<()> {
        let verified = &self.verified;
        let sentence = self.told(Object::default()).1;
        writeln!(output, "{}: whole: {}, {sentence}", path.display(), HumanBytes(verified.bytes))?;
        verified.notes.iter().try_for_each(|note| writeln!(output, "{note}"))
    }
}
