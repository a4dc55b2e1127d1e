//! `hamdex store repair`: salvages a damaged store.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex_store::repair::{Repaired, RepairedFile};
use indicatif::HumanCount;
use serde::Serialize;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::Phases;
use crate::standard_output::{self, print_json};

/// Salvage a damaged store: keep everything that can still be read.
///
/// Salvages the manifest or its copy, every whole record of the logs, and every whole block of the segments,
/// in any table. Prints the problems of each file, and the number of records saved, lost or possibly back:
/// records are back if their removal cannot be read. Damaged files are kept in the directory `damaged` of the
/// store. An undamaged store is not changed.
///
/// The exit code is 0 if nothing is lost and no removed record can be back, and otherwise 3: restoring a
/// backup is better then. A repair that was interrupted can be repeated, and reports what all of them lost.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex verify news.store
  hamdex store repair news.store"
)]
pub(super) struct Args {
    /// The directory of the store
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Print the problems and the outcome as a JSON object
    #[arg(long)]
    json: bool,
}

/// The object that `--json` prints. The counts of lost and returned records are upper bounds.
#[derive(Serialize)]
struct Report {
    complete: bool,
    /// The problems of all files, each with its path.
    found: Vec<String>,
    records_before: Option<u64>,
    records_after: u64,
    saved_records: u64,
    lost_records: u64,
    returned_records: u64,
    lost_names: u64,
    lost_shingles: u64,
    unknown_parts: u64,
    saved_batches: u64,
    lost_log_parts: u64,
    files: Vec<FileReport>,
    kept: Vec<String>,
}

/// A file that was damaged or missing.
#[derive(Serialize)]
struct FileReport {
    path: String,
    problems: Vec<String>,
    saved_records: u64,
    lost_records: u64,
    returned_records: u64,
    lost_names: u64,
    lost_shingles: u64,
    unknown_parts: u64,
}

impl From<&Repaired> for Report {
    fn from(repaired: &Repaired) -> Self {
        let file = |file: &RepairedFile| FileReport {
            path: file.path.display().to_string(),
            problems: file.problems.clone(),
            saved_records: file.saved_pairs,
            lost_records: file.lost_pairs,
            returned_records: file.returned_pairs,
            lost_names: file.lost_names,
            lost_shingles: file.lost_shingles,
            unknown_parts: file.unknown_parts,
        };
        Self {
            complete: repaired.is_complete(),
            found: repaired.files.iter().flat_map(problems).collect(),
            records_before: repaired.pairs_before,
            records_after: repaired.pairs_after,
            saved_records: repaired.saved_pairs(),
            lost_records: repaired.lost_pairs(),
            returned_records: repaired.returned_pairs(),
            lost_names: repaired.lost_names(),
            lost_shingles: repaired.lost_shingles(),
            unknown_parts: repaired.unknown_parts(),
            saved_batches: repaired.saved_batches,
            lost_log_parts: repaired.lost_log_parts,
            files: repaired.files.iter().map(file).collect(),
            kept: repaired.kept.iter().map(|path| path.display().to_string()).collect(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let phases = Arc::new(Phases::default());
    // The store keeps the report until it is printed.
    let tell = |repaired: &Repaired| {
        phases.finish();
        if args.json {
            print_json(&Report::from(repaired))?;
        } else if repaired.was_whole() {
            messages::summary(format_args!("{}: whole; nothing was changed", args.store.display()));
        } else {
            print(repaired)?;
        }
        Ok::<(), Failure>(())
    };
    let outcome = hamdex_store::repair_with(&args.store, &phases.report(), tell);
    phases.finish();
    let repaired = outcome?;
    if repaired.is_complete() {
        return Ok(());
    }
    let before =
        repaired.pairs_before.map_or_else(String::new, |before| format!(" of {}", HumanCount(before)));
    let kept = match repaired.kept.is_empty() {
        true => String::new(),
        false => format!("; the damaged files are in {}", args.store.join("damaged").display()),
    };
    let unknown = match repaired.unknown_parts() + repaired.lost_log_parts {
        0 => String::new(),
        parts => format!(
            "; {} of which the number of records is not known",
            counted(parts, "part is lost", "parts are lost")
        ),
    };
    let unlike = match repaired.lost_shingles() {
        0 => String::new(),
        count => format!(
            "; {} without shingles, so no text is found to be similar to them: remove these documents, and insert them \
             again (--replace does both, in a store with look-ups)",
            counted(count, "record is", "records are")
        ),
    };
    Err(Failure::Incomplete(format!(
        "{}: repaired, but not complete: it has {}{before}; at most {} lost, at most {} that were removed back\
         {unlike}{unknown}{kept}",
        args.store.display(),
        counted(repaired.pairs_after, "record", "records"),
        counted(repaired.lost_pairs(), "record is", "records are"),
        HumanCount(repaired.returned_pairs()),
    )))
}

/// Returns the problems of a file, each with its path.
fn problems(file: &RepairedFile) -> impl Iterator<Item = String> + '_ {
    file.problems.iter().map(|problem| format!("{}: {problem}", file.path.display()))
}

/// Prints the problems of each file, and its fate.
fn print(repaired: &Repaired) -> Result<(), Failure> {
    let mut output = standard_output::lines();
    for file in &repaired.files {
        problems(file).try_for_each(|problem| writeln!(output, "{problem}"))?;
        let counts = [
            (file.saved_pairs, "saved"),
            (file.lost_pairs, "lost, at most"),
            (file.returned_pairs, "may be back"),
            (file.lost_names, "without a name"),
            (file.lost_shingles, "without shingles"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let mut counts: Vec<String> =
            counts.map(|(count, what)| format!("{} {what}", counted(*count, "record", "records"))).collect();
        if file.unknown_parts > 0 {
            counts.push(format!("{} of unknown size lost", counted(file.unknown_parts, "part", "parts")));
        }
        if !counts.is_empty() {
            writeln!(output, "  {}", counts.join("; "))?;
        }
    }
    if repaired.is_complete() {
        messages::summary(format_args!(
            "repaired: nothing is lost, and no removed record is back; the store has {}",
            counted(repaired.pairs_after, "record", "records")
        ));
    }
    Ok(())
}
