//! How well near-duplicates are found: precision and recall against known ones, as in section 4 of Manku, Jain and Das
//! Sarma (WWW 2007).
//!
//! - [`truth`]: the known near-duplicates, and scores against them
//! - [`pages`]: pages that are near-duplicates, made of any texts
//! - [`methods`]: the scores of each method
//! - [`clusters`]: the clusters of `hamdex dedup`

mod clusters;
mod cosine;
mod distance;
mod methods;
mod pages;
mod sentences;
mod shingling;
mod sketch;
mod truth;

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use hamdex_documents::{Documents, Format};
use hamdex_fingerprint::Fingerprint;
use hamdex_simhash::word_lists::{IdfDictionary, Unknown};
use hamdex_simhash::{Fingerprinter, Lists, Recipe, Scratch};

use crate::clusters::{Band, Outcome};
use crate::methods::Method;
use crate::pages::pages_that_differ;
use crate::truth::{LevelScore, Truth};

/// Measure precision and recall against known near-duplicates, for each distance from 0 to 10.
///
/// Also evaluates the clusters of `hamdex dedup`, by similarity and with -k 3: the near-duplicates found, by the share of
/// words in which they differ, and the number of removed documents that are less than 0.7 similar to the kept one.
///
/// For comparison, other methods are scored: resemblance of sets of 4-word shingles (Broder 1997), by its threshold;
/// sketches of them, by how many of six super-shingles are equal (Broder's rule is two); the cosine of term counts; and
/// equality of the n longest sentences. Every pair is compared, without an index, and all texts are kept in memory: for
/// samples of about 10,000 documents. The first problem with a document ends the program.
#[derive(Parser)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex-similarity --lines articles.train --truth articles.truth
  hamdex-similarity pages.jsonl --group-field group --recipe 'default weight=once'
  hamdex-similarity --lines articles.train --pages"
)]
#[command(group = clap::ArgGroup::new("known").required(true).args(["truth", "group_field", "pages"]))]
struct Args {
    /// Documents, as `hamdex dedup` reads them
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// A file of pairs of ids that are near-duplicates: two ids on each line, separated by a blank or tab
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// A field instead: documents with the same value in it are near-duplicates
    #[arg(long, value_name = "NAME")]
    group_field: Option<String>,
    /// Neither: put the text of each document on two pages that differ in an advertisement, a counter and a date
    #[arg(long)]
    pages: bool,
    /// A document is a line: an id, a blank or tab, the text
    #[arg(long)]
    lines: bool,
    /// The field or column with a document's id [default: id, where there is one]
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// The field or column with a document's text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    /// The recipe of fingerprints, as `hamdex fingerprint --help` describes it
    #[arg(long, default_value = "default")]
    recipe: Recipe,
    /// A dictionary that `hamdex idf` wrote, to weight words by
    #[arg(long, value_name = "FILE")]
    idf: Option<PathBuf>,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args = Args::parse();
    let report =
        if args.recipe.width.bits() == 128 { evaluate::<u128>(&args) } else { evaluate::<u64>(&args) };
    match report {
        Ok(report) => print!("{report}"),
        Err(error) => {
            eprintln!("hamdex-similarity: {}", chain(&*error));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn chain(error: &dyn Error) -> String {
    error.source().map_or(error.to_string(), |source| format!("{error}: {}", chain(source)))
}

fn evaluate<F: Fingerprint>(args: &Args) -> Result<Report> {
    let (mut recipe, mut lists) = (args.recipe.clone(), Lists::default());
    if let Some(path) = &args.idf {
        let file = File::open(path).map_err(|error| at(path, error))?;
        let idf = IdfDictionary::read(BufReader::new(file)).map_err(|error| at(path, chain(&error)))?;
        recipe = recipe.with_idf(&idf, Unknown::Median);
        lists = lists.with_idf(Arc::new(idf));
    }
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists)?;
    let mut documents = Documents::from_paths(&args.inputs).strict(true).text_field(&args.text_field);
    if args.lines {
        documents = documents.format(Format::Lines);
    }
    if let Some(field) = &args.id_field {
        documents = documents.id_field(field);
    }
    if let Some(field) = &args.group_field {
        documents = documents.extra_field(field);
    }
    let (mut ids, mut texts, mut groups) = (vec![], vec![], vec![]);
    documents.read(|document| {
        ids.push(document.id);
        texts.push(document.text);
        groups.push(document.extra);
        Ok::<(), hamdex_documents::Error>(())
    })?;
    let truth = match (&args.truth, &args.group_field) {
        (Some(path), _) => Truth::of_lines(&fs::read_to_string(path).map_err(|error| at(path, error))?, &ids)
            .map_err(|error| at(path, error))?,
        (None, Some(field)) if groups.iter().all(Option::is_none) => {
            return Err(format!("no document has a field {field:?} (--group-field)").into());
        }
        // A document without a group is alone.
        (None, Some(_)) => Truth::of_groups((0..).zip(groups).map(|(number, group)| group.ok_or(number))),
        (None, None) => {
            let truth;
            (texts, truth) = pages_that_differ(&texts);
            truth
        }
    };
    let mut scratch = Scratch::default();
    let of = |text: &String| fingerprinter.fingerprint(text, &mut scratch).reliable();
    let fingerprints: Vec<Option<F>> = texts.iter().map(of).collect();
    Ok(Report {
        documents: texts.len(),
        too_short: fingerprints.iter().filter(|fingerprint| fingerprint.is_none()).count(),
        truth: truth.pairs(),
        clusters: clusters::outcomes(&fingerprinter, &texts, &truth)?,
        methods: methods::all(&recipe, &fingerprints, &texts, &truth),
    })
}

fn at(path: &Path, error: impl fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

struct Report {
    documents: usize,
    too_short: usize,
    /// The number of near-duplicate pairs.
    truth: u64,
    /// The outcome of `hamdex dedup`, by rule.
    clusters: Vec<Outcome>,
    methods: Vec<Method>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { documents, too_short, truth, .. } = self;
        writeln!(
            f,
            "{documents} documents, {too_short} of them too short; {truth} pairs are near-duplicates"
        )?;
        self.write_clusters(f)?;
        for Method { name, level, scores } in &self.methods {
            writeln!(f, "\n{name}\n{level:>9}  precision  recall  reported     right")?;
            for LevelScore { level, score } in scores {
                let (precision, recall) = (share(score.precision()), share(score.recall()));
                writeln!(
                    f,
                    "{level:>9}  {precision:>9}  {recall:>6}  {:>8}  {:>8}",
                    score.reported, score.right
                )?;
            }
        }
        Ok(())
    }
}

impl Report {
    /// Writes a column for each rule.
    fn write_clusters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |label: &str, pairs: &str, cell: &dyn Fn(&Outcome) -> String| {
            write!(f, "{label:<28}  {pairs:>7}")?;
            self.clusters.iter().try_for_each(|outcome| write!(f, "  {:>16}", cell(outcome)))?;
            writeln!(f)
        };
        row("\nhamdex dedup: found", "pairs", &|outcome| outcome.rule.clone())?;
        for (at, Band { up_to_percent, pairs, .. }) in self.clusters[0].bands.iter().enumerate() {
            let label = format!("words changed, up to {up_to_percent} %");
            row(&label, &pairs.to_string(), &|outcome| share(outcome.bands[at].share()))?;
        }
        row("removed", "", &|outcome| outcome.removed.to_string())?;
        row("less than 0.7 similar", "", &|outcome| outcome.removed_wrongly.to_string())
    }
}

fn share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{share:.3}"))
}

#[cfg(test)]
mod tests;
