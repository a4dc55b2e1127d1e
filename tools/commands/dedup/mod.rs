//! `hamdex dedup`: the near-duplicates of a corpus, as clusters.
//!
//! - [`check`]: what `--check` says
//! - [`bars`]: how far the search has come
//! - [`output`]: clusters, or what is left without the duplicates

mod bars;
mod check;
mod output;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use bytesize::ByteSize;
use clap::ValueEnum;
use hamdex::{Engine, Index};
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::{Check, Clusters, Dedup, Preference, RECIPE_KEY, TableFormat, names_path};
use hamdex_simhash::{Fingerprinter, Lists, Recipe};
use indicatif::HumanCount;

use crate::commands::dedup::bars::Bars;
use crate::commands::dedup::check::Threshold;
use crate::commands::dedup::output::Unique;
use crate::counted::counted;
use crate::documents::inputs::Inputs;
use crate::documents::recipe::{self, usage};
use crate::documents::report;
use crate::failure::Failure;
use crate::output::{Force, Output, check_temp_dir, inputs_or_standard_input, temp_dir};
use crate::say;
use crate::threads::Threads;
use crate::values;

/// Find the near-duplicates in a corpus.
///
/// Prints a line for each document in a cluster of two or more: the number of the cluster, kept or
/// duplicate, the distance to the kept document, and the document's id. Clusters are numbered from 1 in
/// the order of their first documents. All pairs within the distance are found, and linked pairs form a
/// cluster, so two of its members can be further apart.
///
/// A text too short for a reliable fingerprint is reported on standard error and never compared by
/// fingerprint: such texts form a cluster only if they are equal. Blank texts form none.
///
/// Memory: about 30 bytes per document, its id, and the short texts. The search keeps to --memory; texts
/// that are needed again (--check, --unique) are kept in a temporary file.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex dedup articles.jsonl --json
  hamdex dedup /usr/share/doc --out clusters.csv
  hamdex dedup news/*.jsonl.zst --unique --out unique.jsonl --keep longest
  hamdex dedup today.csv --against old.hamdex --unique --out new.jsonl")]
pub(crate) struct Args {
    /// Documents within this many bits are near-duplicates
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// Leave out documents that are near a fingerprint of this index; its recipe is used
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Which document of a cluster is kept
    #[arg(long, value_enum, default_value = "first")]
    keep: Kept,
    /// Confirm candidates by their texts: the least share of word shingles in common, as in jaccard=0.8
    #[arg(long, value_name = "jaccard=X")]
    check: Option<Threshold>,
    /// Words per shingle for --check
    #[arg(long, value_name = "N", default_value = "4", requires = "check", value_parser = shingle_width)]
    check_words: NonZeroUsize,
    /// Write the documents without the duplicates instead of the clusters: lines of JSON Lines as they
    /// are, other documents by id and text; to standard output unless --out is given
    #[arg(long)]
    unique: bool,
    /// Write to this file, by its ending .jsonl, .csv or .parquet, instead of standard output
    #[arg(short, long, value_name = "OUT", alias = "output")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// A JSON object for each document in a cluster
    #[arg(long, conflicts_with_all = ["out", "unique"])]
    json: bool,
    /// Memory of the search; beyond it, it goes through temporary files [default: a quarter of the available memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    memory: Option<ByteSize>,
    /// Where temporary files go [default: the directory of the output; without one, $TMPDIR or /var/tmp]
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

/// Which document of a cluster is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// The first in the input
    First,
    /// The one with the longest text, of equal ones the first
    Longest,
}

fn shingle_width(text: &str) -> Result<NonZeroUsize, String> {
    let max = hamdex_simhash::Shingle::MAX_WIDTH;
    let width = text.parse::<NonZeroUsize>().ok().filter(|width| width.get() <= max);
    width.ok_or_else(|| format!("expected a number from 1 to {max}"))
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    if let Some(out) = &args.out {
        output::format_of(Some(out))?;
    }
    let against_width = match &args.against {
        Some(path) => Some(hamdex::width(path).map_err(Failure::Index)?),
        None => None,
    };
    let width = against_width.map(|bits| bits.to_string());
    let (recipe, lists) = args.recipe.load(args.width.as_deref().or(width.as_deref()))?;
    match against_width.unwrap_or(recipe.width.bits()) {
        128 => dedup::<u128>(args, recipe, lists),
        _ => dedup::<u64>(args, recipe, lists),
    }
}

fn dedup<F: Engine>(args: &Args, recipe: Recipe, lists: Lists) -> Result<(), Failure> {
    let started = Instant::now();
    let against = match &args.against {
        Some(path) => Some((path, Index::<F>::open(path).map_err(Failure::Index)?)),
        None => None,
    };
    let (recipe, lists) = match &against {
        // With an index of bare fingerprints, the user names the recipe.
        Some((_, index)) if args.recipe.recipe.is_some() && !index.metadata().contains_key(RECIPE_KEY) => {
            (recipe, lists)
        }
        Some((path, index)) => args.recipe.of_index(path, index.metadata())?,
        None => (recipe, lists),
    };
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(usage)?;
    let format = output::format_of(args.out.as_deref())?;
    let file = create_output(args)?;
    let reading = args.inputs.reading()?;
    let bars = Bars::new(reading.bar().clone());
    let bar = reading.bar().clone();
    let mut dedup = options(args, format, fingerprinter)?
        .on_progress(bars.reporter())
        .on_too_short(move |documents| bar.suspend(|| report::too_short(documents)));
    if let Some((_, index)) = &against {
        dedup = dedup.against(index);
    }
    let clusters = reading.read(|documents| Ok(dedup.run(documents)?));
    bars.finish();
    let clusters = clusters?;
    report::require_some(clusters.counts())?;
    if args.unique {
        let fields = &args.inputs.fields;
        let unique = Unique { clusters: &clusters, fields: [fields.id_name(), &fields.text_fields[0]] };
        unique.write(file, format)?;
    } else {
        output::clusters(file, format, args.json, &clusters)?;
    }
    summarise(&clusters, started);
    Ok(())
}

/// Starts the file of results, if there is to be one.
fn create_output(args: &Args) -> Result<Option<AtomicFile>, Failure> {
    let mut inputs = inputs_or_standard_input(&args.inputs.paths);
    args.recipe.files().for_each(|list| inputs.add(list));
    if let Some(index) = &args.against {
        inputs.add(index);
        inputs.add(names_path(index));
    }
    args.out.as_deref().map(|path| Output::new(path, args.force, &inputs).create()).transpose()
}

fn options<'a, F: Engine>(
    args: &Args,
    format: TableFormat,
    fingerprinter: Fingerprinter<F>,
) -> Result<Dedup<'a, F>, Failure> {
    let directory = temp_dir(args.temp_dir.as_deref(), args.out.as_deref());
    check_temp_dir(&directory)?;
    let mut dedup = Dedup::new(fingerprinter)
        .temp_dir(directory)
        .distance(args.distance)
        .prefer(match args.keep {
            Kept::First => Preference::First,
            Kept::Longest => Preference::Longest,
        })
        .keep_texts(args.unique && format != TableFormat::Jsonl)
        .keep_lines(args.unique && format == TableFormat::Jsonl);
    if let Some(threshold) = args.check {
        dedup = dedup.check(Check::new(threshold.jaccard, args.check_words)?);
    }
    if let Some(memory) = args.memory {
        dedup = dedup.memory(memory.as_u64());
    }
    Ok(dedup)
}

fn summarise(clusters: &Clusters, started: Instant) {
    let mut parts = vec![
        counted(clusters.count(), "cluster", "clusters"),
        counted(clusters.duplicates(), "duplicate", "duplicates"),
    ];
    if let Some(known) = clusters.known() {
        parts.push(format!("{} known already", HumanCount(known)));
    }
    if let Some(unconfirmed) = clusters.unconfirmed() {
        parts.push(format!("{} candidate pairs not confirmed", HumanCount(unconfirmed)));
    }
    if clusters.too_short().count() > 0 {
        parts.push(format!("{} too short", HumanCount(clusters.too_short().count())));
    }
    let (rate, skipped) = (report::rate(clusters.counts(), started), report::skipped(clusters.counts()));
    say::summary(format_args!("{rate}; {}{skipped}", parts.join(", ")));
}
