//! `hamdex evaluate`: how well near-duplicates are found.
//!
//! - [`truth`]: the known near-duplicates
//! - [`methods`]: the scores of each method
//! - [`clusters`]: the clusters of `hamdex dedup`
//! - [`table`], [`chart`]: the output

mod chart;
mod clusters;
mod memory;
mod methods;
mod table;
mod truth;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use hamdex::Fingerprint;
use hamdex_any::for_width;
use hamdex_documents::TooShort;
use hamdex_simhash::evaluate::{Score, pages_that_differ};
use hamdex_simhash::{Fingerprinter, Lists, Recipe, Scratch};

use crate::commands::evaluate::chart::{Curve, svg_chart};
use crate::commands::evaluate::methods::Method;
use crate::commands::evaluate::table::Report;
use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::documents::report;
use crate::failure::Failure;
use crate::option_values;
use crate::output::{Force, Output, inputs_or_standard_input, is_standard_output};
use crate::standard_output;
use crate::threads::Threads;

/// Measure precision and recall against known near-duplicates, for each distance from 0 to 10.
///
/// Also evaluates the clusters of `hamdex dedup`, by similarity and with -k 3: the near-duplicates found, by
/// the share of words in which they differ, the number of removed documents that are less than 0.7 similar to
/// the kept one, and the time.
///
/// For comparison, other methods are scored: resemblance of sets of 4-word shingles (Broder 1997), by its
/// threshold; sketches of them, by how many of six super-shingles are equal (Broder's rule is two); the cosine of
/// term counts; and equality of the n longest sentences. Every pair is compared, without an index, and all texts
/// are kept in memory: for samples of about 10,000 documents.
///
/// Without known near-duplicates, --pages makes them: each document is put on two pages that differ in an
/// advertisement, a counter and a date, the case with which the paper begins.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex evaluate --format lines articles.train --truth articles.truth
  hamdex evaluate pages.jsonl --group-field group --svg curve.svg
  hamdex evaluate --format lines articles.train --pages"
)]
#[command(group = clap::ArgGroup::new("known").required(true).args(["truth", "group_field", "pages"]))]
pub(crate) struct Args {
    /// A file of pairs of ids that are near-duplicates: two ids on each line, separated by a blank or tab
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// A field instead: documents with the same value in it are near-duplicates
    #[arg(long, value_name = "NAME")]
    group_field: Option<String>,
    /// Neither: put the text of each document on two pages that differ in an advertisement, a counter and a date
    #[arg(long)]
    pages: bool,
    /// Print a JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Draw precision and recall over the distance, as an SVG picture
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
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

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let (recipe, lists) = args.recipe.load(args.width)?;
    for_width!(recipe.width.bits(), F => evaluate::<F>(args, &recipe, lists))
}

fn evaluate<F: Fingerprint>(args: &Args, recipe: &Recipe, lists: Lists) -> Result<(), Failure> {
    let started = Instant::now();
    let mut files = inputs_or_standard_input(args.inputs.paths()?);
    args.truth.iter().for_each(|truth| files.add(truth));
    args.recipe.files().for_each(|list| files.add(list));
    if args.svg.as_deref().is_some_and(is_standard_output) {
        let what = "--svg and the figures cannot both go to standard output: name a file";
        return Err(Failure::Usage(what.to_owned()));
    }
    let picture_file =
        args.svg.as_deref().map(|path| Output::new(path, args.force, &files).create()).transpose()?;
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let mut too_short = TooShort::default();
    let (mut ids, mut texts, mut groups, mut fingerprints) = (vec![], vec![], vec![], vec![]);
    let counts = args.inputs.reading()?.extra_field(args.group_field.as_deref()).read(|documents| {
        documents.fingerprint(&fingerprinter, |document, outcome| {
            too_short.note(&document.id, &outcome);
            fingerprints.push(outcome.reliable());
            ids.push(document.id);
            texts.push(document.text);
            groups.push(document.extra);
            Ok(())
        })
    })?;
    report::require_some(&counts)?;
    let truth = match (&args.truth, &args.group_field) {
        (Some(path), _) => truth::of_file(path, &ids)?,
        (None, Some(field)) => truth::of_groups(groups, field)?,
        (None, None) => {
            let (pages, truth) = pages_that_differ(&texts);
            let mut scratch = Scratch::default();
            let of = |page: &String| fingerprinter.fingerprint(page, &mut scratch).reliable();
            (fingerprints, texts) = (pages.iter().map(of).collect(), pages);
            truth
        }
    };
    let methods = methods::all(recipe, &fingerprints, &texts, &truth);
    let report = Report {
        clusters: clusters::outcomes(&fingerprinter, &texts, &truth)?,
        documents: texts.len() as u64,
        too_short: too_short.count(),
        truth: truth.pairs(),
        methods,
    };
    let mut output = standard_output::lines();
    if args.json {
        report.print_json(&mut output)?;
    } else {
        report.print(&mut output)?;
    }
    if let Some(mut file) = picture_file {
        let name = args.recipe.recipe.as_deref().unwrap_or("default");
        let picture = picture(name, &report.methods[0]);
        writeln!(file, "{picture}").map_err(file.failed())?;
        file.finish()?;
    }
    report::summary(&counts, &too_short, started);
    Ok(())
}

fn picture(recipe: &str, simhash: &Method) -> String {
    let curve = |name: &str, dashed, share: fn(&Score) -> Option<f64>| Curve {
        name: format!("{name}, {recipe}"),
        dashed,
        points: simhash.scores.iter().map(|at| (f64::from(at.level), share(&at.score))).collect(),
    };
    let curves = [curve("precision", false, Score::precision), curve("recall", true, Score::recall)];
    svg_chart("Near-duplicates found", "distance ≤ k", &curves)
}
