//! `hamdex dedup`: the near-duplicates of a corpus, as clusters.
//!
//! - [`method`]: the definition of near-duplicates
//! - [`fingerprints`]: inputs that are fingerprints
//! - [`known`]: known documents, in indexes and stores or as they are
//! - [`output`]: clusters, or ids alone, and the summary on standard error
//! - [`page`]: clusters as a page of HTML

mod fingerprints;
mod known;
mod method;
mod output;
mod page;

use std::path::{Path, PathBuf};
use std::time::Instant;

use bytesize::ByteSize;
use clap::builder::ArgPredicate;
use hamdex::{Fingerprint, OutputError};
use hamdex_any::for_width;
use hamdex_atomic_file::{AtomicDirectory, AtomicFile, Inputs};
use hamdex_documents::Dedup;
use hamdex_documents::tables::TableFormat;
use hamdex_simhash::{Fingerprinter, Lists, Recipe};
use indicatif::ProgressBar;

use crate::commands::dedup::fingerprints::Target;
use crate::commands::dedup::known::{Against, Source};
use crate::commands::dedup::output::{Kind, Which};
use crate::documents;
use crate::documents::inputs::{self, Reading};
use crate::documents::recipe::{self, usage};
use crate::failure::Failure;
use crate::input::InputKinds;
use crate::option_values;
use crate::option_values::Threads;
use crate::output::{
    Force, Output, check_distinct, check_not_mixed, check_temp_dir, inputs_or_standard_input, temp_dir,
};
use crate::progress::SearchBars;
use crate::standard_output::print_json;

/// The memory of the program itself, and the least in which it finds anything.
const PROGRAM_BYTES: u64 = 32 << 20;
const MIN_MEMORY: u64 = 64 << 20;

/// Find the near-duplicates in a corpus.
///
/// Two documents are near-duplicates if their texts share at least --similarity (0.7) of their shingles, the
/// runs of five words in them. The order of words counts; case and punctuation do not. All such pairs are
/// found, and every duplicate was compared with the document that is kept.
///
/// With -k alone, documents are near-duplicates if their fingerprints are within K bits, the method of Manku,
/// Jain and Das Sarma. It takes half the time and less memory. It misses copies (at 3 bits a fifth of the texts
/// that are 0.8 similar), removes texts that are less similar, and ignores the order of words. Texts too short
/// for a reliable fingerprint are then reported on standard error, and are near-duplicates only of equal ones.
///
/// Prints a line for each document in a cluster of two or more: the number of the cluster, kept or duplicate, the
/// distance of its fingerprint and the similarity of its text to the kept document, and its id, in the form that
/// `hamdex build --ids names` reads. Clusters are numbered from 1 in the order of their first documents.
///
/// Documents are taken in the order of --keep. A near-duplicate of kept documents joins the first of them; any
/// other document is kept. With --clusters linked, a cluster is all documents that chains of near-duplicates
/// connect. Blank texts are in no cluster.
///
/// Memory stays within --memory; ids and shingles beyond that go to a temporary file.
#[derive(clap::Args)]
#[command(
    before_help = "\
Common uses:
  hamdex dedup articles.jsonl                           list near-duplicates
  hamdex dedup articles.jsonl --unique -o unique.jsonl  remove near-duplicates
  hamdex dedup folder/ --print duplicates               name duplicate files
  hamdex dedup new.csv --against old/ --print kept      name new documents",
    after_long_help = "\
Example:
  hamdex dedup articles.jsonl --json
  hamdex dedup /usr/share/doc --out clusters.csv
  hamdex dedup pages.csv --similarity 0.9 --print duplicates
  hamdex dedup /usr/share/doc --html duplicates.html
  hamdex dedup --fingerprints -k 6 phashes.tsv
  hamdex dedup --fingerprints -k 6 photos.csv --keep max:bytes --unique
  hamdex dedup news/*.jsonl.zst --unique --out unique.jsonl --keep longest
  hamdex dedup shards/ --output-dir clean
  find pages -name '*.html' | hamdex dedup --files-from -
  hamdex dedup today.csv --against last-week/ --unique --out new.jsonl
  hamdex dedup today.csv --against old.hamdex -k 3 --print kept"
)]
pub(crate) struct Args {
    #[command(flatten)]
    method: method::Options,
    #[command(flatten)]
    fingerprints: fingerprints::Options,
    /// Leave out documents that are known already
    ///
    /// PATH is a file, archive or folder of documents, read as INPUT is, or an index, a store or a set of shards made
    /// with --shingles. Known documents are near-duplicates of these, by the same rule. They are printed after the
    /// clusters, each with the most similar known document. With -k K, known documents are within K bits of a
    /// fingerprint of an index, a store or a set of shards, whose recipe is used. The option may be repeated, with sets
    /// and documents; the known ids of a set are then PATH:ID. All sets must have the same width, recipe and shingles
    #[arg(long, value_name = "PATH")]
    against: Vec<PathBuf>,
    /// Write the documents that remain instead of the clusters, with all columns
    ///
    /// They go to --out, to --output-dir, or to standard output: as CSV or TSV if the inputs are, otherwise as JSON
    /// Lines. Parquet keeps its compression. If columns differ between inputs, the file has the union by name. Each
    /// column has a type that takes all values, or is text. Rows without a usable text never count as duplicates; they
    /// are kept. Inputs are read twice (standard input is spooled). With --fingerprints, tables keep all columns too.
    /// Lists remain lines of fingerprint and id, or become the columns id and fingerprint
    #[arg(long, default_value_if("output_dir", ArgPredicate::IsPresent, "true"))]
    unique: bool,
    /// With --unique: write ids and texts alone to a file that cannot hold all columns of the inputs
    #[arg(long, requires = "unique", conflicts_with = "output_dir")]
    drop_columns: bool,
    /// Write a copy of the inputs without duplicates to this new or empty directory, file by file
    ///
    /// Each file keeps its own format, columns and compression. A file that loses no row is copied byte for byte. A
    /// file that is one duplicate document is left out. A table that loses all rows keeps its header. Files that are
    /// not read are not copied. The directory appears when it is complete
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "print"])]
    output_dir: Option<PathBuf>,
    /// Write to this file, not to standard output. The ending says the format: .jsonl, .csv, .tsv (with .zst or .gz after
    /// it: compressed), .parquet or .arrow
    #[arg(short, long, value_name = "OUT", alias = "output")]
    out: Option<PathBuf>,
    /// Write an HTML page of the largest clusters
    ///
    /// It shows each duplicate next to the kept text, with their differences marked. Nothing is printed unless --json,
    /// --print or --unique is given. Inputs are read twice
    #[arg(long, value_name = "OUT", conflicts_with = "fingerprints")]
    html: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Print only the ids of these documents, one per line, as `hamdex store remove` and --files-from read them
    #[arg(long, value_enum, value_name = "WHICH", conflicts_with_all = ["json", "out", "unique"])]
    print: Option<Which>,
    /// With --print: end each id with a zero byte instead of a line end, for xargs -0 and `hamdex store remove -0`
    #[arg(short = '0', long, requires = "print")]
    null: bool,
    /// Print a JSON object for each document in a cluster; with --out or --output-dir, one object with counts and the
    /// problems of the inputs
    #[arg(long)]
    json: bool,
    /// Limit the memory of the whole program, at least 64MiB; the rest goes to temporary files [default: a quarter
    /// of the usable memory]
    #[arg(long, value_name = "SIZE", value_parser = option_values::size)]
    memory: Option<ByteSize>,
    /// The directory for temporary files [default: the directory of the output; without one, $TMPDIR or
    /// /var/tmp]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Bits of a fingerprint [default: the recipe's]
    #[arg(long, value_name = "BITS", value_parser = option_values::width(), help_heading = "Fingerprints")]
    width: Option<u32>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    inputs: inputs::Inputs,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.method.check(args.fingerprints.are_given(), !args.against.is_empty())?;
    if args.json && args.unique && args.out.is_none() && args.output_dir.is_none() {
        return Err(Failure::Usage(
            "--json is for clusters, and --unique writes documents: name a file with --out".to_owned(),
        ));
    }
    if let Some(out) = &args.out {
        check_not_mixed(out, args.json)?;
    }
    args.threads.start()?;
    if let Some(out) = &args.out {
        output::format_of(Some(out))?;
    }
    if args.memory.is_some_and(|memory| memory.as_u64() < MIN_MEMORY) {
        return Err(Failure::Usage(format!("--memory: the program needs at least {} MiB", MIN_MEMORY >> 20)));
    }
    let against = Source::open(&args.against)?;
    let against_width = against.as_ref().and_then(Source::width);
    let (recipe, lists) = args.recipe.load(args.width.or(against_width))?;
    let width = against_width.unwrap_or(recipe.width.bits());
    for_width!(width, F => dedup::<F>(args, against.as_ref(), recipe, lists))
}

fn dedup<F: Fingerprint>(
    args: &Args,
    source: Option<&Source<'_>>,
    recipe: Recipe,
    lists: Lists,
) -> Result<(), Failure> {
    let started = Instant::now();
    let (recipe, lists) = match source {
        // Fingerprints from elsewhere are compared as they are.
        Some(source) if !args.fingerprints.are_given() => source.recipe(&args.recipe, (recipe, lists))?,
        Some(_) | None => (recipe, lists),
    };
    let fingerprinter = Fingerprinter::<F>::with_lists(&recipe, lists).map_err(usage)?;
    let format = output::format_of(args.out.as_deref())?;
    if let (Some(out), Some(html)) = (&args.out, &args.html) {
        check_distinct(out, html)?;
    }
    let file = create_output(args)?;
    let page = match &args.html {
        Some(path) => Some(Output::new(path, args.force, &inputs(args)?).create()?),
        None => None,
    };
    let output = args.out.as_deref().or(args.output_dir.as_deref());
    let directory = temp_dir(args.temp_dir.as_deref(), output);
    check_temp_dir(&directory)?;
    let against = source.map(|source| Against::<F>::new(args, source, &directory)).transpose()?;
    let reading = reading_of(args, format, &directory)?;
    let bar = reading.as_ref().map_or_else(ProgressBar::hidden, |reading| reading.bar().clone());
    let bars = SearchBars::new(bar.clone());
    let mut dedup = options(args, &directory, fingerprinter)?
        .on_progress(bars.reporter())
        .on_too_short(move |documents| bar.suspend(|| documents::too_short(documents)));
    if let Some(against) = &against {
        dedup = against.apply(dedup);
    }
    let of_texts = reading.as_ref().filter(|_| !args.fingerprints.are_given());
    let found = match of_texts {
        Some(reading) => reading.read(|documents| Ok((dedup.run(documents)?, InputKinds::default()))),
        None => fingerprints::clusters(args, &dedup, reading.as_ref()),
    };
    bars.finish();
    let has_summary = args.json && (args.out.is_some() || args.output_dir.is_some());
    let notices = reading.as_ref().filter(|_| has_summary).map(Reading::notices);
    let (clusters, inputs) = match found.map_err(with_program) {
        Ok(found) => found,
        Err(failure) => {
            if let Some(notices) = notices {
                print_json(&serde_json::json!({ "error": failure.line(), "problems": notices }))?;
            }
            return Err(failure);
        }
    };
    if of_texts.is_some() {
        documents::require_some(clusters.counts())?;
    }
    let mut copied = None;
    let has_page = page.is_some();
    if let (Some(page), Some(reading)) = (page, &reading) {
        let rule = args.method.described();
        reading.read(|documents| page::write(page, &clusters, &documents.quiet(), &rule))?;
    }
    match (args.print, file, reading) {
        (None, None, _) if has_page && !args.json && !args.unique => {}
        (Some(which), ..) => output::ids(&clusters, which, args.null)?,
        (None, file, Some(reading)) if args.unique => {
            let target = match (file, &args.output_dir) {
                (Some(file), _) => Target::File(file),
                (None, directory) => Target::Directory(AtomicDirectory::create(
                    directory.as_deref().expect("without a file, it is given"),
                )?),
            };
            copied = Some(match target {
                target if args.fingerprints.are_given() => {
                    fingerprints::unique::<F>(args, (&clusters, &inputs), &reading, target)?
                }
                target => reading.read(|documents| {
                    Ok(match target {
                        Target::File(file) => documents.copy(clusters.unique(), file)?,
                        Target::Directory(directory) => documents.copy_files(clusters.unique(), directory)?,
                    })
                })?,
            });
        }
        (None, file, _) => {
            let is_printed = file.is_none();
            output::clusters(file, format.unwrap_or(TableFormat::Jsonl), args.json, &clusters)?;
            if let Some(against) = against.as_ref().filter(|_| is_printed) {
                output::known(&clusters, against, args.json)?;
            }
        }
    }
    if has_summary {
        output::summary(&clusters, copied.as_ref(), notices)?;
    }
    if clusters.counts().documents == 1 && args.inputs.is_one_file() && !args.fingerprints.are_given() {
        output::alone();
    }
    let kind = if args.fingerprints.are_given() { Kind::Fingerprints } else { Kind::Texts };
    output::print_summary(&clusters, copied.as_ref(), kind, args.method.are_linked(), started)?;
    match copied {
        Some(copied)
            if !args.inputs.fields.skip_unreadable
                && (copied.left_out > 0 || copied.without_text > 0 && !args.drop_columns) =>
        {
            Err(output::incomplete(&copied, kind))
        }
        _ => Ok(()),
    }
}

/// Returns the documents to read, as often as the output needs them; `None` if the inputs are fingerprints that are read
/// once.
fn reading_of(args: &Args, format: Option<TableFormat>, temp_dir: &Path) -> Result<Option<Reading>, Failure> {
    let reading = match args.fingerprints.are_given() {
        true if args.unique => fingerprints::reading_of(args)?,
        true => return Ok(None),
        false => {
            let reading = args.inputs.reading()?;
            reading.with(|documents| match args.method.kept_field() {
                Some(name) => documents.extra_field(name),
                None => documents,
            })
        }
    };
    let reading = reading.temp_dir(temp_dir).hold_notices();
    Ok(Some(reading.with(|documents| {
        let documents = if args.html.is_some() { documents.repeatable() } else { documents };
        match (args.unique, &args.output_dir) {
            (false, _) => documents,
            (true, None) => documents.drop_columns(args.drop_columns).copyable(format),
            (true, Some(_)) => documents.copyable_as_files(),
        }
    })))
}

/// Returns all files that are read.
fn inputs(args: &Args) -> Result<Inputs, Failure> {
    let mut inputs = inputs_or_standard_input(args.inputs.paths()?);
    args.recipe.files().for_each(|list| inputs.add(list));
    args.against.iter().for_each(|known| inputs.add(known));
    Ok(inputs)
}

/// Creates the output file, unless results are printed or a directory is written. Unique documents go to standard output
/// as to a file.
fn create_output(args: &Args) -> Result<Option<AtomicFile>, Failure> {
    let inputs = inputs(args)?;
    if let Some(directory) = &args.output_dir {
        return match AtomicDirectory::check(directory, &inputs) {
            // With --force, too: it may hold what nothing else does.
            Err(OutputError::Exists { path }) => Err(Failure::Wrong(format!(
                "{}: exists already; --output-dir replaces nothing: remove it, or name another",
                path.display()
            ))),
            outcome => Ok(outcome.map(|()| None)?),
        };
    }
    let path = match &args.out {
        None if args.unique => Some(Path::new("-")),
        out => out.as_deref(),
    };
    path.map(|path| Output::new(path, args.force, &inputs).create()).transpose()
}

/// Adds the memory of the program to that of the search, in an error about it.
fn with_program(failure: Failure) -> Failure {
    use hamdex_documents::Error::Memory;
    match failure {
        Failure::Documents(Memory { documents, bytes, allowed }) => {
            Memory { documents, bytes: bytes + PROGRAM_BYTES, allowed: allowed + PROGRAM_BYTES }.into()
        }
        other => other,
    }
}

fn options<'a, F: Fingerprint>(
    args: &Args,
    directory: &Path,
    fingerprinter: Fingerprinter<F>,
) -> Result<Dedup<'a, F>, Failure> {
    let mut dedup = Dedup::new(fingerprinter).temp_dir(directory);
    if let Some(memory) = args.memory {
        dedup = dedup.memory(memory.as_u64().saturating_sub(PROGRAM_BYTES));
    }
    args.method.apply(dedup, args.fingerprints.are_given(), !args.against.is_empty())
}
