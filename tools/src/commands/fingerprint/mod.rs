//! `hamdex fingerprint`: a fingerprint for each document.
//!
//! - [`features`]: fingerprints of features that another program has made

mod features;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_any::for_width;
use hamdex_documents::tables::{Cell, Kind, Rows, TableFormat};
use hamdex_documents::{Document, TooShort};
use hamdex_simhash::{Fingerprinter, Lists, Outcome, Recipe};
use serde::Serialize;

use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::documents::report;
use crate::failure::Failure;
use crate::names;
use crate::option_values;
use crate::output::{Force, Output, inputs_or_standard_input, temp_dir};
use crate::standard_output;
use crate::threads::Threads;

/// Print the fingerprints of documents.
///
/// A line for each document: the fingerprint in hexadecimal, a tab, the document's id, as
/// `hamdex build --ids names` reads it. A text with fewer features than the recipe requires has no reliable
/// fingerprint: it is reported on standard error, counted, and left out (with --json it has a line, with null
/// for the fingerprint).
///
/// With --features, the inputs are not documents but features with weights, cut and weighed by another program:
/// a feature, a tab and its weight on each line (without a tab, the weight is 1), and a blank line after each
/// document. The recipe's hash makes the fingerprint, as those of seomoz and yanyiwu need it; --features=hashes
/// takes the features as the hashes themselves. Ids are the numbers of the documents, from 1. Down a pipe, each
/// document is answered as soon as its blank line has come; with --json that is so for every document.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex fingerprint articles.jsonl
  zcat pages.csv.gz | hamdex fingerprint --format csv --text-field body --json
  hamdex fingerprint --recipe \"default weight=once\" --width 128 notes/
  terms page.txt | hamdex fingerprint --recipe yanyiwu --features")]
pub(crate) struct Args {
    /// The inputs are features with weights, given by another program
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "texts",
        conflicts_with_all = ["parquet", "idf", "stop_words"]
    )]
    features: Option<features::Kind>,
    /// Print a JSON object for each document
    #[arg(long)]
    json: bool,
    /// Write a Parquet file with the columns id and fingerprint (a number; for 128 bits, hexadecimal) instead
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    parquet: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Bits of a fingerprint [default: the recipe's]
    #[arg(long, value_name = "BITS", value_parser = option_values::width(), help_heading = "Fingerprints")]
    width: Option<u32>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    inputs: Inputs,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short_features: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let (recipe, lists) = args.recipe.load(args.width)?;
    if let Some(kind) = args.features {
        let paths = args.inputs.paths()?;
        return for_width!(recipe.width.bits(), F => features::print::<F>(paths, kind, &recipe, args.json));
    }
    for_width!(recipe.width.bits(), F => fingerprint::<F>(args, &recipe, lists))
}

fn fingerprint<F: Fingerprint>(args: &Args, recipe: &Recipe, lists: Lists) -> Result<(), Failure> {
    let started = Instant::now();
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let mut too_short = TooShort::default();
    let kind = if F::BITS == 64 { Kind::Number } else { Kind::Text };
    let columns = [("id", Kind::Text), ("fingerprint", kind)];
    let mut inputs = inputs_or_standard_input(args.inputs.paths()?);
    args.recipe.files().for_each(|list| inputs.add(list));
    let create = |path| -> Result<Rows, Failure> {
        let file = Output::new(path, args.force, &inputs).create()?;
        Ok(Rows::new(file, TableFormat::Parquet, &columns)?)
    };
    let mut rows = args.parquet.as_deref().map(create).transpose()?;
    let mut output = standard_output::buffered();
    let mut sink = |document: Document, outcome: Outcome<F>| {
        too_short.note(&document.id, &outcome);
        match &mut rows {
            Some(rows) => {
                outcome.reliable().map_or(Ok(()), |fingerprint| push(rows, &document.id, fingerprint))
            }
            None => print(&mut output, args.json, &document, &outcome),
        }
    };
    let reading = args.inputs.reading()?.temp_dir(&temp_dir(None, args.parquet.as_deref()));
    let counts = reading.read(|documents| documents.fingerprint(&fingerprinter, &mut sink))?;
    output.flush()?;
    report::require_some(&counts)?;
    rows.map_or(Ok(()), Rows::finish)?;
    report::summary(&counts, &too_short, started);
    Ok(())
}

fn push<F: Fingerprint>(rows: &mut Rows, id: &str, fingerprint: F) -> Result<(), Failure> {
    if F::BITS == 64 {
        rows.push(&[Cell::Text(id), Cell::Number(fingerprint.to_u128() as u64)])?;
    } else {
        rows.push(&[Cell::Text(id), Cell::Text(&fingerprint.hex().to_string())])?;
    }
    Ok(())
}

fn print<F: Fingerprint>(
    output: &mut impl Write,
    json: bool,
    document: &Document,
    outcome: &Outcome<F>,
) -> Result<(), Failure> {
    let fingerprint = outcome.reliable();
    if json {
        let features = match outcome {
            Outcome::TooShort { features, .. } => Some(*features),
            Outcome::Fingerprint(_) => None,
        };
        let fingerprint = fingerprint.map(|fingerprint| fingerprint.hex().to_string());
        let line = Line { id: &document.id, fingerprint, too_short_features: features };
        serde_json::to_writer(&mut *output, &line).map_err(io::Error::from)?;
        writeln!(output)?;
    } else if let Some(fingerprint) = fingerprint {
        write!(output, "{}\t", fingerprint.hex())?;
        output.write_all(&names::written(document.id_bytes()))?;
        writeln!(output)?;
    }
    Ok(())
}
