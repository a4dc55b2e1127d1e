//! `hamdex verify`: whether a file is whole.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{Engine, OpenOptions, Verified, VerifyOptions};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::bars::Phases;
use crate::counted::counted;
use crate::failure::Failure;
use crate::threads::Threads;

/// Read a whole index file and check everything in it.
///
/// Checks all checksums and padding, the order of entries and keys, counts, codebooks and ids, and that all
/// tables hold the same fingerprints; for an index of documents also the file of their names beside it. Exits
/// with 3 if something is damaged.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex verify news.hamdex
  hamdex verify news.hamdex --json"
)]
pub(crate) struct Args {
    /// The index file
    #[arg(value_name = "FILE")]
    index: PathBuf,
    #[command(flatten)]
    threads: Threads,
    /// Print the outcome as a JSON object
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    contents: Option<Contents>,
}

#[derive(Serialize)]
struct Contents {
    bytes: u64,
    tables: usize,
    blocks: u64,
    fingerprints: u64,
    ids: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let outcome = match hamdex::width(&args.index) {
        Ok(128) => verify::<u128>(args),
        Ok(_) => verify::<u64>(args),
        Err(error) => Err(Failure::Index(error)),
    };
    let mut output = std::io::stdout().lock();
    if args.json {
        let report = Report {
            ok: outcome.is_ok(),
            error: outcome.as_ref().err().map(Failure::line),
            contents: outcome.as_ref().ok().map(|(verified, names)| Contents {
                bytes: verified.bytes,
                tables: verified.tables,
                blocks: verified.blocks,
                fingerprints: verified.fingerprints,
                ids: verified.ids,
                names: *names,
            }),
        };
        serde_json::to_writer(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    }
    let (verified, names) = outcome?;
    if !args.json {
        writeln!(
            output,
            "{}: whole: {}, {} in {}, {}, {}{}",
            args.index.display(),
            HumanBytes(verified.bytes),
            counted(verified.fingerprints, "fingerprint", "fingerprints"),
            counted(verified.tables as u64, "table", "tables"),
            counted(verified.blocks, "block", "blocks"),
            counted(verified.ids, "id", "ids"),
            names.map_or(String::new(), |names| format!(", {}", counted(names, "name", "names"))),
        )?;
    }
    Ok(())
}

/// What was read of the index, and how many names beside it.
fn verify<F: Engine>(args: &Args) -> Result<(Verified, Option<u64>), Failure> {
    let index = F::open(&args.index, &OpenOptions::new()).map_err(Failure::Index)?;
    let phases = Arc::new(Phases::default());
    let outcome = F::verify(&index, &VerifyOptions::new().progress(phases.reporter()));
    phases.finish();
    let verified = outcome.map_err(Failure::Index)?;
    let names = hamdex_documents::Names::of(&args.index, &index)?
        .map(|mut names| names.verify(&index))
        .transpose()?;
    Ok((verified, names))
}
