//! `hamdex verify`: checks a file, a store or a set of shards.
//!
//! - [`whole`]: the report on an undamaged one

mod whole;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex::VerifyOptions;
use serde::Serialize;

use crate::failure::Failure;
use crate::progress::Phases;
use crate::standard_output;
use crate::threads::Threads;
use whole::{Contents, Whole};

/// Read a whole index file, store or set of shards and check everything in it.
///
/// Checks all checksums and padding, the order of entries and keys, counts, codebooks, ids and their names,
/// and that all tables hold the same fingerprints; in a store, all its files, removals, logs and the
/// manifest; in a set of shards, all its files, that each is the one that the manifest names, and with
/// families that every fingerprint is in the right shard of each. The exit code is 3 if something is damaged.
/// Leftovers of a crash in a store, which its next writer removes, are no damage: they are printed.
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

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    contents: Option<Contents<'a>>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let outcome = verify(args);
    let mut output = standard_output::lines();
    if args.json {
        let report = Report {
            ok: outcome.is_ok(),
            error: outcome.as_ref().err().map(Failure::line),
            contents: outcome.as_ref().ok().map(Whole::contents),
        };
        serde_json::to_writer(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    }
    let whole = outcome?;
    if !args.json {
        whole.print(&args.index, &mut output)?;
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
