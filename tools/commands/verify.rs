//! `hamdex verify`: is a file whole?

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{Fingerprint, Index, Verified, VerifyOptions};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::bars::Phases;
use crate::failure::Failure;

/// Read a whole index file and check everything in it.
///
/// Checks all checksums and padding, the order of entries and keys, counts, codebooks and ids, and
/// that all tables hold the same fingerprints; of an index of documents also the file of their names
/// beside it. Exits with 3 when something is damaged.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex verify news.hamdex
  hamdex verify news.hamdex --json")]
pub(crate) struct Args {
    /// The index file
    #[arg(value_name = "FILE")]
    index: PathBuf,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The outcome as a JSON object
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
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Failure::Usage(format!("--threads {threads}: {error}")))?;
    }
    let outcome = match hamdex::width(&args.index) {
        Ok(128) => verify::<u128>(args),
        Ok(_) => verify::<u64>(args),
        Err(error) => Err(Failure::index(&args.index)(error)),
    };
    let mut output = std::io::stdout().lock();
    if args.json {
        let report = Report {
            ok: outcome.is_ok(),
            error: outcome.as_ref().err().map(|failure| match failure {
                Failure::Index(error) => Failure::of_read(error),
                other => other.to_string(),
            }),
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
            "{}: whole: {}, {} fingerprints in {} tables, {} blocks, {} ids{}",
            args.index.display(),
            HumanBytes(verified.bytes),
            HumanCount(verified.fingerprints),
            verified.tables,
            HumanCount(verified.blocks),
            HumanCount(verified.ids),
            names.map_or(String::new(), |names| format!(", {} names", HumanCount(names))),
        )?;
    }
    Ok(())
}

/// What was read of the index, and how many names beside it.
fn verify<F: Fingerprint>(args: &Args) -> Result<(Verified, Option<u64>), Failure> {
    let index = Index::<F>::open(&args.index).map_err(Failure::index(&args.index))?;
    let phases = Arc::new(Phases::default());
    let shown = Arc::clone(&phases);
    let outcome = index.verify_with(&VerifyOptions::new().progress(move |progress| shown.show(progress)));
    phases.finish();
    let verified = outcome.map_err(Failure::index(&args.index))?;
    let names = hamdex_documents::Names::of(&args.index, &index)?
        .map(|mut names| names.verify(&index))
        .transpose()?;
    Ok((verified, names))
}
