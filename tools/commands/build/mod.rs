//! `hamdex build`: fingerprints or documents in, one index file out.
//!
//! - [`design`]: which tables
//! - [`documents`]: texts to fingerprints and names
//! - [`skew`]: a word of warning

mod design;
mod documents;
mod skew;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use clap::ValueEnum;
use hamdex::{BuildOptions, Builder, Codec, Fingerprint, Index, Summary};
use hamdex_atomic_file::STANDARD_OUTPUT;
use hamdex_simhash::Width;
use indicatif::{HumanBytes, HumanCount};

use crate::bars::Phases;
use crate::documents::inputs::{self as texts, Fields, Reading};
use crate::documents::{recipe, report as documents_report};
use crate::failure::Failure;
use crate::input::{self, Format, IdSource};
use crate::output::{Force, Output, inputs_or_standard_input, path_of, temp_dir};

pub(crate) use design::choose;

/// Build an index file from fingerprints, or from documents.
///
/// Reads files, or standard input when none is named (or for -). The output appears under its name
/// only when it is whole. The same input and options give the same bytes, whatever the memory limit
/// and the number of threads.
///
/// With --documents the inputs are texts. The index keeps the recipe by which they became fingerprints
/// (metadata hamdex.recipe), so that a query by text uses the same one, and ids are the documents' own:
/// their names lie in a file beside the index, OUT.ids, which belongs to this very index (move both).
/// Texts too short for a reliable fingerprint are named, counted and left out.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex build -o news.hamdex --distance 3 fingerprints.txt
  hamdex build -o articles.hamdex --documents articles.jsonl
  cut -f2 pages.tsv | hamdex build -o pages.hamdex --ids row --memory 2GiB")]
pub(crate) struct Args {
    /// The index file to write; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Find everything within this many bits
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// Which tables to keep: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// Bits of a fingerprint
    /// [default: 64; of documents, the recipe's]
    #[arg(long, value_name = "BITS", value_parser = ["64", "128"])]
    width: Option<String>,
    /// How blocks are coded: huffman is the smaller one where fingerprints lie in clusters, as those of
    /// documents do; elias-fano is several times faster to ask, and the smaller one where they do not
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// Bytes of a block: a power of two from 512 to 8192 [default: 4096, for elias-fano 1024]
    #[arg(long, value_name = "BYTES")]
    block_size: Option<usize>,
    /// Entries from one raw fingerprint to the next, for huffman [default: 128]: with fewer, queries are
    /// faster and the file is larger
    #[arg(long, value_name = "N")]
    restart_interval: Option<usize>,
    /// How the fingerprints are written down
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// Where ids come from [default: none; of documents, names]
    #[arg(long, value_enum)]
    ids: Option<IdSource>,
    /// The inputs are documents: texts, not fingerprints; FORMAT is as for `hamdex dedup`
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with = "format"
    )]
    documents: Option<texts::Format>,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    fields: Fields,
    /// Memory to keep to; beyond it, sorting goes through temporary files [default: a quarter of what there is]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Where temporary files go [default: the directory of the output]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    force: Force,
    /// Files of fingerprints or documents (or directories of these); - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let (Some(threads), Some(_)) = (args.threads, args.documents) {
        // Texts are worked on by the pool of the whole program.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|error| Failure::Usage(format!("--threads {threads}: {error}")))?;
    }
    if let Some(format) = args.documents {
        let (recipe, lists) = args.recipe.load(args.width.as_deref())?;
        let source = Texts { format, recipe: &recipe, lists };
        return match recipe.width {
            Width::Bits64 => build::<u64>(args, Some(source)),
            Width::Bits128 => build::<u128>(args, Some(source)),
        };
    }
    if args.recipe.recipe.is_some() || args.recipe.idf.is_some() || args.recipe.stop_words.is_some() {
        return Err(Failure::Usage("--recipe, --idf and --stop-words are for --documents".to_owned()));
    }
    if args.width.as_deref() == Some("128") { build::<u128>(args, None) } else { build::<u64>(args, None) }
}

/// Texts to build an index of.
struct Texts<'a> {
    format: texts::Format,
    recipe: &'a hamdex_simhash::Recipe,
    lists: hamdex_simhash::Lists,
}

fn build<F: Fingerprint>(args: &Args, texts: Option<Texts<'_>>) -> Result<(), Failure> {
    let started = Instant::now();
    let phases = Arc::new(Phases::default());
    let ids = id_source(args)?;
    let options = options::<F>(args, &phases)?;
    let mut inputs = inputs_or_standard_input(&args.inputs);
    args.recipe.files().for_each(|list| inputs.add(list));
    let output = Output::new(&args.output, args.force, &inputs);
    output.check()?;
    if args.output.as_os_str() == "-" && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "an index is no text for a terminal: redirect it, or name a file".to_owned(),
        ));
    }
    if let Some(texts) = texts {
        let reading = Reading::new(&args.inputs, texts.format, &args.fields);
        let temp_dir = temp_dir(args.temp_dir.as_deref(), Some(&args.output));
        let recipe = (texts.recipe, texts.lists);
        let built = documents::build(&reading, ids, recipe, options, &output, &temp_dir, &phases)?;
        documents_report::summary(&built.counts, &built.too_short, started);
        return report::<F>(args, ids, &built.summary, started);
    }
    let mut builder = Builder::with_options(output.path(), options.ids(ids != IdSource::None))?;
    let mut row = 0u64;
    input::read::<F>(&args.inputs, args.format, ids == IdSource::Pairs, &mut |fingerprint, id| {
        match (ids, id) {
            (IdSource::None, _) => builder.push(fingerprint)?,
            (_, Some(id)) => builder.push_with_id(fingerprint, id)?,
            (_, None) => builder.push_with_id(fingerprint, row)?,
        }
        row += 1;
        Ok(())
    })?;
    let outcome = builder.finish();
    phases.finish();
    report::<F>(args, ids, &outcome?, started)
}

fn options<F: Fingerprint>(args: &Args, phases: &Arc<Phases>) -> Result<BuildOptions<F>, Failure> {
    let shown = Arc::clone(phases);
    let mut options = choose(BuildOptions::<F>::new(), &args.design, args.distance)?
        .codec(args.codec)
        .overwrite(args.force.force)
        .progress(move |progress| shown.show(progress));
    if let Some(bytes) = args.block_size {
        options = options.block_bytes(bytes);
    }
    if let Some(entries) = args.restart_interval {
        options = options.restart_interval(entries);
    }
    if let Some(memory) = args.memory {
        options = options.memory(memory.as_u64());
    }
    if let Some(threads) = args.threads {
        options = options.threads(threads);
    }
    if let Some(directory) = &args.temp_dir {
        options = options.temp_dir(directory);
    }
    Ok(options)
}

/// Where ids come from; refused where they cannot.
fn id_source(args: &Args) -> Result<IdSource, Failure> {
    let (fits, default): (&[IdSource], _) = if args.documents.is_some() {
        (&[IdSource::Names, IdSource::Numbers, IdSource::Row, IdSource::None], IdSource::Names)
    } else {
        (&[IdSource::None, IdSource::Row, IdSource::Pairs], IdSource::None)
    };
    let asked = args.ids.unwrap_or(default);
    if fits.contains(&asked) {
        return Ok(asked);
    }
    let names = fits.iter().filter_map(|fit| Some(fit.to_possible_value()?.get_name().to_owned()));
    let names: Vec<String> = names.collect();
    let what = if args.documents.is_some() { "documents" } else { "fingerprints" };
    Err(Failure::Usage(format!("--ids for {what} is one of: {}", names.join(", "))))
}

/// Says what has been built; if that fails, that the index is there all the same.
fn report<F: Fingerprint>(
    args: &Args,
    ids: IdSource,
    summary: &Summary,
    started: Instant,
) -> Result<(), Failure> {
    print_summary(args, ids, summary, started)
        .and_then(|()| warn_of_skew::<F>(args, summary))
        .map_err(|failure| Failure::InPlace { path: args.output.clone(), source: Box::new(failure) })
}

fn print_summary(args: &Args, ids: IdSource, summary: &Summary, started: Instant) -> Result<(), Failure> {
    let seconds = started.elapsed().as_secs_f64();
    let per_fingerprint = summary.bytes as f64 / summary.fingerprints.max(1) as f64;
    let line = format!(
        "{}: {} fingerprints read, {} distinct{}; design {}, {}; {} ({per_fingerprint:.2} bytes each) in {seconds:.1} s",
        args.output.display(),
        HumanCount(summary.pushed),
        HumanCount(summary.fingerprints),
        if ids == IdSource::None { String::new() } else { format!(", {} ids", HumanCount(summary.ids)) },
        summary.design,
        args.codec,
        HumanBytes(summary.bytes),
    );
    if path_of(&args.output) == Path::new(STANDARD_OUTPUT) {
        // That is where the index has gone.
        anstream::eprintln!("{line}");
    } else {
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

fn warn_of_skew<F: Fingerprint>(args: &Args, summary: &Summary) -> Result<(), Failure> {
    if !path_of(&args.output).is_file() {
        // What a stream has taken cannot be opened.
        return Ok(());
    }
    let index = Index::<F>::open(&args.output).map_err(Failure::index(&args.output))?;
    if let Some(warning) = skew::warning(summary.pushed, &index.stats()) {
        anstream::eprintln!("hamdex: {}: {warning}", args.output.display());
    }
    Ok(())
}
