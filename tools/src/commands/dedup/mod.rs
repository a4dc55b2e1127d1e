//! `hamdex dedup`: the near-duplicates of a corpus, as clusters.
//!
//! - [`method`]: the definition of near-duplicates
//! - [`fingerprints`]: inputs that are fingerprints
//! - [`progress`]: progress bars
//! - [`known`]: an index or a store of known documents
//! - [`output`]: clusters, or ids alone
//! - [`summary`]: the summary on standard error

mod fingerprints;
mod known;
mod method;
mod output;
mod progress;
mod summary;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::Fingerprint;
use hamdex_any::{AnySet, for_width};
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::tables::TableFormat;
use hamdex_documents::{Dedup, RECIPE_KEY};
use hamdex_simhash::{Fingerprinter, Lists, Recipe};
use indicatif::ProgressBar;

use crate::commands::dedup::known::Against;
use crate::commands::dedup::output::Which;
use crate::commands::dedup::progress::Bars;
use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::documents::report;
use crate::failure::Failure;
use crate::option_values;
use crate::output::{Force, Output, check_temp_dir, inputs_or_standard_input, temp_dir};
use crate::set::{self, Set};
use crate::threads::Threads;

/// Find the near-duplicates in a corpus.
///
/// Two documents are near-duplicates if their texts share at least --similarity (0.7) of their shingles, the
/// runs of five words in them. The order of words counts, case and punctuation do not. All such pairs are
/// found, and every duplicate has been compared with the document that is kept.
///
/// With -k alone, near-duplicates are documents whose fingerprints are within K bits, whatever their texts:
/// the method of Manku, Jain and Das Sarma. It takes half the time and less memory. It misses copies (at 3
/// bits a fifth of those that are 0.8 similar), removes texts that are less similar, and ignores the order of
/// words. Texts too short for a reliable fingerprint are then reported on standard error, and are
/// near-duplicates only of equal ones.
///
/// Prints a line for each document in a cluster of two or more: the number of the cluster, kept or duplicate,
/// the distance of its fingerprint and the similarity of its text to the kept document, and the document's
/// id. Clusters are numbered from 1 in the order of their first documents. Documents are taken in the order
/// of --keep: a near-duplicate of kept documents joins the first of them, any other document is kept. With
/// --clusters linked, a cluster is all documents that chains of near-duplicates connect. Blank texts are in
/// no cluster.
///
/// Memory stays within --memory; ids and shingles beyond that go to a temporary file.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex dedup articles.jsonl --json
  hamdex dedup /usr/share/doc --out clusters.csv
  hamdex dedup pages.csv --similarity 0.9 --print duplicates
  hamdex dedup --fingerprints -k 6 phashes.tsv
  hamdex dedup news/*.jsonl.zst --unique --out unique.jsonl --keep longest
  hamdex dedup today.csv --against old.hamdex --unique --out new.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    method: method::Options,
    #[command(flatten)]
    fingerprints: fingerprints::Options,
    /// Leave out documents whose fingerprints are within K bits (3 unless -k is given) of one in this index
    /// or store, and use its recipe. They are printed after the clusters, with the stored names, ids or
    /// fingerprint
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Write the documents that remain instead of the clusters, with all columns: to --out, or to standard
    /// output as JSON Lines or, like the inputs, CSV or TSV. Parquet gives Parquet. Rows without a usable
    /// text never count as duplicates; they are kept. Inputs are read twice (standard input is spooled)
    #[arg(long)]
    unique: bool,
    /// Write to this file, by its ending .jsonl, .csv, .tsv or .parquet, instead of standard output
    #[arg(short, long, value_name = "OUT", alias = "output")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print only the ids of these documents
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with_all = ["json", "out", "unique"])]
    print: Option<Which>,
    /// With --print: end each id with a zero byte instead of a line end, for xargs -0
    #[arg(short = '0', long, requires = "print")]
    null: bool,
    /// Print a JSON object for each document in a cluster
    #[arg(long, conflicts_with_all = ["out", "unique"])]
    json: bool,
    /// Memory limit; the excess goes to temporary files [default: a quarter of the usable memory]
    #[arg(long, value_name = "SIZE", value_parser = option_values::size)]
    memory: Option<ByteSize>,
    /// The directory for temporary files [default: the directory of the output; without one, $TMPDIR or
    /// /var/tmp]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Bits of a fingerprint [default: the recipe's]
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"], help_heading = "Fingerprints")]
    width: Option<String>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    inputs: Inputs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.method.check(args.fingerprints.are_given())?;
    args.threads.start()?;
    if let Some(out) = &args.out {
        output::format_of(Some(out))?;
    }
    let against = args.against.as_deref().map(set::open).transpose()?;
    let against_width = against.as_ref().map(|set| set.description().width);
    let width = against_width.map(|bits| bits.to_string());
    let (recipe, lists) = args.recipe.load(args.width.as_deref().or(width.as_deref()))?;
    let width = against_width.unwrap_or(recipe.width.bits());
    for_width!(width, F => dedup::<F>(args, against.as_ref(), recipe, lists))
}

fn dedup<F: Fingerprint>(
    args: &Args,
    against: Option<&AnySet>,
    recipe: Recipe,
    lists: Lists,
) -> Result<(), Failure> {
    let started = Instant::now();
    let against = args.against.as_ref().zip(against.map(|set| Against(Set::<F>::of(set))));
    let (recipe, lists) = match &against {
        // An index of bare fingerprints has no recipe: the user names it.
        Some((_, against))
            if args.recipe.recipe.is_some() && !against.0.description.metadata.contains_key(RECIPE_KEY) =>
        {
            (recipe, lists)
        }
        Some((path, against)) => args.recipe.of_index(path, &against.0.description.metadata)?,
        None => (recipe, lists),
    };
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(usage)?;
    let format = output::format_of(args.out.as_deref())?;
    let file = create_output(args)?;
    let directory = temp_dir(args.temp_dir.as_deref(), args.out.as_deref());
    check_temp_dir(&directory)?;
    let reading = if args.fingerprints.are_given() {
        None
    } else {
        let reading = args.inputs.reading()?.temp_dir(&directory);
        Some(if args.unique { reading.copyable(format) } else { reading })
    };
    let bar = reading.as_ref().map_or_else(ProgressBar::hidden, |reading| reading.bar().clone());
    let bars = Bars::new(bar.clone());
    let mut dedup = options(args, &directory, fingerprinter)?
        .on_progress(bars.reporter())
        .on_too_short(move |documents| bar.suspend(|| report::too_short(documents)));
    if let Some((_, against)) = &against {
        dedup = dedup.against(against);
    }
    let clusters = match &reading {
        Some(reading) => reading.read(|documents| Ok(dedup.run(documents)?)),
        None => fingerprints::clusters(args, &dedup),
    };
    bars.finish();
    let clusters = clusters?;
    report::require_some(clusters.counts())?;
    let mut copied = None;
    match (args.print, file, reading) {
        (Some(which), ..) => output::ids(&clusters, which, args.null)?,
        (None, Some(file), Some(reading)) if args.unique => {
            copied = Some(reading.copy(clusters.unique(), file)?);
        }
        (None, file, _) => {
            let is_printed = file.is_none();
            output::clusters(file, format.unwrap_or(TableFormat::Jsonl), args.json, &clusters)?;
            if let Some((_, against)) = against.as_ref().filter(|_| is_printed) {
                output::known(&clusters, against, args.json)?;
            }
        }
    }
    summary::print(&clusters, copied.as_ref(), args.method.are_linked(), started)
}

/// Creates the output file, unless results are printed. Unique documents go to standard output as to a file.
fn create_output(args: &Args) -> Result<Option<AtomicFile>, Failure> {
    let mut inputs = inputs_or_standard_input(&args.inputs.paths);
    args.recipe.files().for_each(|list| inputs.add(list));
    if let Some(index) = &args.against {
        inputs.add(index);
    }
    let path = match &args.out {
        None if args.unique => Some(Path::new("-")),
        out => out.as_deref(),
    };
    path.map(|path| Output::new(path, args.force, &inputs).create()).transpose()
}

fn options<'a, F: Fingerprint>(
    args: &Args,
    directory: &Path,
    fingerprinter: Fingerprinter<F>,
) -> Result<Dedup<'a, F>, Failure> {
    let mut dedup = Dedup::new(fingerprinter).temp_dir(directory);
    if let Some(memory) = args.memory {
        dedup = dedup.memory(memory.as_u64());
    }
    args.method.apply(dedup, args.fingerprints.are_given())
}
