//! `hamdex store repair`: what can be had of a damaged store.

use std::path::PathBuf;

use serde::Serialize;

use crate::bars;
use crate::commands::store::print_json;
use crate::counted::counted;
use crate::failure::Failure;
use crate::say;

/// Make a damaged store usable again, with all that can still be read.
///
/// Every whole batch of its logs and every whole block of its files is saved, and what was damaged is kept in the
/// directory `damaged` of the store. Prints what was found, a line each. Restoring a backup is better: what could
/// not be read is lost, and removals that could not be read are forgotten. A store that is whole stays as it is.
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
    /// Print what was found and done as a JSON object
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    found: Vec<String>,
    saved_records: u64,
    lost_records: u64,
    lost_names: u64,
    saved_batches: u64,
    kept: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let bar = bars::of_work("Reading everything");
    let outcome = hamdex_store::repair(&args.store);
    bar.finish_and_clear();
    let repaired = outcome?;
    if args.json {
        return print_json(&Report {
            found: repaired.found,
            saved_records: repaired.saved_pairs,
            lost_records: repaired.lost_pairs,
            lost_names: repaired.lost_names,
            saved_batches: repaired.saved_batches,
            kept: repaired.kept.iter().map(|path| path.display().to_string()).collect(),
        });
    }
    if repaired.found.is_empty() {
        say::summary(format_args!("{}: whole; nothing was changed", args.store.display()));
        return Ok(());
    }
    let mut output = std::io::stdout().lock();
    for found in &repaired.found {
        std::io::Write::write_fmt(&mut output, format_args!("{found}\n"))?;
    }
    say::summary(format_args!(
        "{}: repaired: {} of damaged files saved, {} lost; {} of damaged logs saved; what was damaged is in {}",
        args.store.display(),
        counted(repaired.saved_pairs, "record", "records"),
        indicatif::HumanCount(repaired.lost_pairs),
        counted(repaired.saved_batches, "batch", "batches"),
        args.store.join("damaged").display()
    ));
    Ok(())
}
