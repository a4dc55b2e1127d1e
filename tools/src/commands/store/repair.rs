//! `hamdex store repair`: salvages a damaged store.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex_store::repair::{Repaired, RepairedFile};
use indicatif::HumanCount;

use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::progress::Phases;
use crate::standard_output::{self, Object, print_json};

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

/// Returns the object that `--json` prints. The counts of lost and returned records are upper bounds.
fn json(repaired: &Repaired) -> Object {
    let file = |file: &RepairedFile| {
        Object::default()
            .field("path", file.path.display().to_string())
            .field("problems", &file.problems)
            .field("saved_records", file.saved_pairs)
            .field("lost_records", file.lost_pairs)
            .field("returned_records", file.returned_pairs)
            .field("lost_names", file.lost_names)
            .field("lost_shingles", file.lost_shingles)
            .field("unknown_parts", file.unknown_parts)
    };
    let kept = repaired.kept.iter().map(|path| path.display().to_string());
    Object::default()
        .field("complete", repaired.is_complete())
        .field("found", repaired.files.iter().flat_map(problems).collect::<Vec<_>>())
        .field("records_before", repaired.pairs_before)
        .field("records_after", repaired.pairs_after)
        .field("saved_records", repaired.saved_pairs())
        .field("lost_records", repaired.lost_pairs())
        .field("returned_records", repaired.returned_pairs())
        .field("lost_names", repaired.lost_names())
        .field("lost_shingles", repaired.lost_shingles())
        .field("unknown_parts", repaired.unknown_parts())
        .field("saved_batches", repaired.saved_batches)
        .field("lost_log_parts", repaired.lost_log_parts)
        .field("files", repaired.files.iter().map(file).collect::<Vec<_>>())
        .field("kept", kept.collect::<Vec<_>>())
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let phases = Arc::new(Phases::default());
    // The store keeps the report until it is printed.
    let tell = |repaired: &Repaired| {
        phases.finish();
        if args.json {
            print_json(&json(repaired))?;
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
