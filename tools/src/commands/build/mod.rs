//! `hamdex build`: fingerprints or documents in, one index file out.
//!
//! - [`sink`]: the output, one file or a set of shards

mod sink;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use clap::ValueEnum;
use hamdex::{AUTO, BuildOptions, Codec, Design, DesignError, FilterChoice, Fingerprint, Summary, shingles};
use hamdex_any::for_width;
use hamdex_documents::{Counts, RECIPE_KEY, TooShort};
use hamdex_simhash::{Fingerprinter, Lists, Recipe, Shingler, Shingles};

use crate::build_report::{BuildReport, Finished, skew_warning, stats_of};
use crate::commands::build::sink::{Record, Sink};
use crate::documents;
use crate::documents::inputs::{Fields, Reading};
use crate::documents::recipe::{self, usage};
use crate::failure::{Failure, shown};
use crate::input::{self, Beside, Columns, Format, Found, IdSource};
use crate::option_values::Threads;
use crate::output::{Force, Output, check_index_output, inputs_or_standard_input, path_of, temp_dir};
use crate::progress::Phases;
use crate::{messages, option_values};

/// Build an index file from fingerprints, or from documents.
///
/// Reads files, or standard input if none is named (or for -). The output appears only when it is complete.
/// The same input and options give the same bytes, whatever the memory limit and the number of threads.
///
/// Raw binary numbers are read from files with a matching extension (.u64, .u64le, .bin, .raw; for 128 bits
/// .u128, .u128le), and with --format.
///
/// The first lines of a text decide whether its numbers are hexadecimal or decimal. Numbers of exactly 16
/// (for 128 bits, 32) decimal digits fit both and are read as hexadecimal, unless --format decimal is given.
/// A later line that contradicts is an error.
///
/// With --ids names each line is a fingerprint, a tab and a name; in tables, --id-field is the column of names. Use
/// it for fingerprints of other programs, such as those of images. The index keeps the names, and queries print
/// them. A name is the rest of the line. In double quotes, \n, \r, \t, \", \\ and \xff (a byte) are escapes; all
/// commands print names with control characters in this form.
///
/// With --documents the inputs are texts. The index keeps the names of the documents and the recipe of their
/// fingerprints (metadata hamdex.recipe), which queries by text use. Ids are the numbers of documents in the order
/// of the input; queries print the names. Texts too short for a reliable fingerprint are reported and skipped.
///
/// With --shingles, the index also keeps the shingles of the texts. It then has every text that is not blank, since
/// the shingles of a short text are reliable.
///
/// With --shards the output is a set of shards: a directory of index files, which `hamdex query`, `pairs`, `dump`
/// and `verify` take like an index file. The layout families keeps every fingerprint K + 1 times, split by
/// different bits, and a query reads K + 1 shards, however many there are. The layout hash keeps it once, and a
/// query reads all shards. Input that exceeds --memory goes to temporary files.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex build -o news.hamdex --distance 3 fingerprints.txt
  hamdex build -o articles.hamdex --documents --shingles articles.jsonl
  hamdex build -o hashes.hamdex --ids pairs --id-field page hashes.parquet
  hamdex build -o images.hamdex --ids names phashes.txt
  hamdex build -o small.hamdex --filter none web.u64
  hamdex build -o web.shards --shards 16 --ids row web.u64
  cut -f2 pages.tsv | hamdex build -o pages.hamdex --ids row"
)]
pub(crate) struct Args {
    /// The index file to write, - for standard output; with --shards, the directory
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    shards: sink::ShardOptions,
    /// The distance, in bits: queries find everything within it
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// The tables: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// Bits of a fingerprint
    /// [default: 64; of documents, the recipe's]
    #[arg(long, value_name = "BITS", value_parser = option_values::width())]
    width: Option<u32>,
    /// The block codec: huffman is smaller for clustered fingerprints, such as those of documents; elias-fano
    /// answers queries 1.5 to 1.8 times as fast with filters, and is smaller for evenly spread ones
    #[arg(long, value_name = "NAME", default_value_t)]
    codec: Codec,
    /// The prefix filters, which save queries from reading blocks without a match: auto, none, or a number N for at
    /// most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// Bytes per block: a power of two from 512 to 8192 [default: 1024]
    #[arg(long, value_name = "BYTES", value_parser = option_values::block_bytes)]
    block_size: Option<u32>,
    /// The format of the inputs
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// The column of fingerprints in Parquet, Arrow, CSV and TSV files
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// The source of ids [default: none; of documents, names]
    #[arg(long, value_enum)]
    ids: Option<IdSource>,
    /// The inputs are documents: texts, not fingerprints; FORMAT is as for --format
    #[arg(
        long,
        value_enum,
        hide_possible_values = true,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with = "fingerprint_field"
    )]
    documents: Option<Format>,
    /// With --documents: also keep the shingles of every document, runs of N words (5), by which `hamdex query` and
    /// `hamdex dedup --against` compare texts. They take about 5 bytes per word of text. In a set of shards, one family
    /// keeps them. With --ids numbers, ids must ascend from document to document
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        requires = "documents",
        value_parser = option_values::shingle_words
    )]
    shingles: Option<NonZeroUsize>,
    /// Find fingerprints by id, and ids by name, without a pass over the file (`hamdex dump --id`, `--name`). Takes
    /// about 5 bytes per id, and as much per name
    #[arg(long, conflicts_with = "shards")]
    lookups: bool,
    #[command(flatten)]
    recipe: recipe::Options,
    #[command(flatten)]
    fields: Fields,
    /// Memory for sorting; beyond that, temporary files are used [default: a quarter of the usable memory]
    #[arg(long, value_name = "SIZE", value_parser = option_values::size)]
    memory: Option<ByteSize>,
    /// The directory for temporary files [default: the directory of the output]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print a summary as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
    /// Files of fingerprints; or with --documents files of documents, archives or directories; - or none for standard
    /// input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.documents.is_some() {
        // Texts are processed by the global thread pool.
        args.threads.start()?;
    }
    if let Some(format) = args.documents {
        let (recipe, lists) = args.recipe.load(args.width)?;
        let source = Texts { format: args.format.either(format)?, recipe: &recipe, lists };
        return for_width!(recipe.width.bits(), F => build::<F>(args, Some(source)));
    }
    args.recipe.refuse_without("--documents")?;
    args.fields.refuse_for("fingerprints")?;
    for_width!(args.width.unwrap_or(64), F => build::<F>(args, None))
}

/// Texts to index.
struct Texts<'a> {
    format: Format,
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
    match args.shards.shards {
        Some(_) => sink::check_output(args)?,
        None => {
            output.check()?;
            check_index_output(&args.output, args.json)?;
        }
    }
    let temp_dir = temp_dir(args.temp_dir.as_deref(), Some(&args.output));
    if let Some(texts) = texts {
        let reading = Reading::new(&args.inputs, texts.format, &args.fields)?.temp_dir(&temp_dir);
        let recipe = (texts.recipe, texts.lists);
        let start = |options| sink::start(args, &output, options);
        let built = build_documents(&reading, ids, args.shingles, recipe, options, start, &phases)?;
        documents::summary(&built.counts, &built.too_short, started);
        let documents = (built.counts.documents, built.too_short.count());
        return report::<F>(args, &built.finished, Some(documents), started);
    }
    let options = options.ids(ids != IdSource::None).names(ids == IdSource::Names);
    let mut sink = sink::start(args, &output, options)?;
    let mut row = 0u64;
    let reading = input::Reading {
        paths: args.inputs.clone(),
        format: args.format,
        columns: Columns {
            fingerprint: args.fingerprint_field.clone(),
            id: args.fields.id_name().to_owned(),
            ..Columns::default()
        },
        beside: match ids {
            IdSource::Pairs => Beside::Id,
            IdSource::Names => Beside::Name,
            _ => Beside::Nothing,
        },
        temp_dir: Some(temp_dir),
        ..input::Reading::default()
    };
    input::read::<F>(&reading, &mut |fingerprint, found| {
        if ids == IdSource::None {
            return sink.push(fingerprint);
        }
        let record = match &found {
            Found::Id(id) => Record { id: *id, ..Record::default() },
            Found::Nothing => Record { id: row, ..Record::default() },
            Found::Row(row) => Record { id: *row, ..Record::default() },
            Found::Name(name) => Record { id: row, name: Some(name.as_ref()), ..Record::default() },
        };
        row += 1;
        sink.push_record(fingerprint, record)
    })?;
    report::<F>(args, &sink.finish(&phases)?, None, started)
}

fn options<F: Fingerprint>(args: &Args, phases: &Arc<Phases>) -> Result<BuildOptions<F>, Failure> {
    let mut options = choose(BuildOptions::<F>::new(), &args.design, args.distance)?
        .codec(args.codec)
        .filter(args.filter)
        .lookups(args.lookups)
        .overwrite(args.force.force)
        .threads(args.threads.count());
    if args.shards.shards.is_none() {
        // Per-shard phases say less than the number of finished shards.
        options = options.progress(phases.reporter());
    }
    if let Some(bytes) = args.block_size {
        options = options.block_bytes(bytes as usize);
    }
    if let Some(memory) = args.memory {
        options = options.memory(memory.as_u64());
    }
    if let Some(directory) = &args.temp_dir {
        options = options.temp_dir(directory);
    }
    Ok(options)
}

/// Returns the source of ids; refuses one that does not fit the input.
fn id_source(args: &Args) -> Result<IdSource, Failure> {
    let (fits, default): (&[IdSource], _) = if args.documents.is_some() {
        (&[IdSource::Names, IdSource::Numbers, IdSource::Row, IdSource::None], IdSource::Names)
    } else {
        (&[IdSource::None, IdSource::Row, IdSource::Pairs, IdSource::Names], IdSource::None)
    };
    let asked = args.ids.unwrap_or(default);
    if fits.contains(&asked) {
        if asked == IdSource::None && args.shingles.is_some() {
            return Err(Failure::Usage("shingles need ids: leave --ids none out".to_owned()));
        }
        if asked == IdSource::None && args.lookups {
            return Err(Failure::Usage("look-ups need ids: choose their source with --ids".to_owned()));
        }
        if args.documents.is_none() && matches!(asked, IdSource::None | IdSource::Row) {
            args.fields.refuse_id_field()?;
        }
        return Ok(asked);
    }
    let names = fits.iter().filter_map(|fit| Some(fit.to_possible_value()?.get_name().to_owned()));
    let names: Vec<String> = names.collect();
    let what = if args.documents.is_some() { "documents" } else { "fingerprints" };
    Err(Failure::Usage(format!("--ids for {what} is one of: {}", names.join(", "))))
}

/// Reports on the index. If that fails, the index is in place nevertheless. `documents` is the number of
/// documents, and of the ones that were too short.
fn report<F: Fingerprint>(
    args: &Args,
    finished: &Finished,
    documents: Option<(u64, u64)>,
    started: Instant,
) -> Result<(), Failure> {
    let (output, codec) = (args.output.as_path(), args.codec);
    let seconds = started.elapsed().as_secs_f64();
    let report = BuildReport { output, finished, codec, documents, merged: None, seconds };
    let said = report.print(args.json).and_then(|()| match finished {
        Finished::File(summary) => warn_of_skew::<F>(args, summary),
        _ => Ok(()),
    });
    said.map_err(|failure| failure.in_place(&args.output))
}

fn warn_of_skew<F: Fingerprint>(args: &Args, summary: &Summary) -> Result<(), Failure> {
    let path = path_of(&args.output);
    if !path.metadata().is_ok_and(|file| file.is_file() && file.len() == summary.bytes) {
        // A stream's output, or one appended to another file, cannot be opened.
        return Ok(());
    }
    if let Some(stats) = stats_of::<F>(path)?
        && let Some(warning) = skew_warning(summary.pushed, &stats)
    {
        messages::warning(format_args!("{}: {warning}", args.output.display()));
    }
    Ok(())
}

/// Returns the named design for a distance, or one chosen by the number of fingerprints.
pub(crate) fn choose<F: Fingerprint>(
    options: BuildOptions<F>,
    name: &str,
    distance: u32,
) -> Result<BuildOptions<F>, DesignError> {
    if name == AUTO {
        Ok(options.distance(distance))
    } else {
        Ok(options.design(Design::named(name, distance)?))
    }
}

/// An index built from documents.
pub(super) struct Built {
    pub(super) finished: Finished,
    pub(super) counts: Counts,
    pub(super) too_short: TooShort,
}

/// Adds all documents to the output that `start` creates, and finishes it. Ids are numbers of documents, or
/// their names if all of these are numbers. With shingles no text is too short.
fn build_documents<F: Fingerprint>(
    reading: &Reading,
    ids: IdSource,
    words: Option<NonZeroUsize>,
    (recipe, lists): (&Recipe, Lists),
    options: BuildOptions<F>,
    start: impl FnOnce(BuildOptions<F>) -> Result<Box<dyn Sink<F>>, Failure>,
    phases: &Phases,
) -> Result<Built, Failure> {
    let fingerprinter = Fingerprinter::<F>::with_lists(recipe, lists).map_err(usage)?;
    let options = options
        .ids(ids != IdSource::None)
        .names(ids == IdSource::Names)
        .metadata(RECIPE_KEY, recipe.to_string());
    let options = match words {
        Some(words) => options.shingles(true).metadata(shingles::KEY, Shingler::new(words).definition()),
        None => options,
    };
    let mut built = start(options)?;
    let mut too_short = TooShort::default();
    let mut row = 0u64;
    let counts = reading.fingerprint(&fingerprinter, words, |document, outcome, shingles| {
        let number = row;
        row += 1;
        let Some(fingerprint) = documents::kept(&document, &outcome, shingles, &mut too_short) else {
            return Ok(());
        };
        let (id, name) = match ids {
            IdSource::None => return built.push(fingerprint),
            IdSource::Numbers => (numeric(&document.id)?, None),
            IdSource::Names => (number, Some(document.id_bytes())),
            _ => (number, None),
        };
        built.push_record(fingerprint, Record { id, name, shingles: shingles.map(Shingles::hashes) })
    })?;
    documents::require_some(&counts)?;
    Ok(Built { finished: built.finish(phases)?, counts, too_short })
}

fn numeric(id: &str) -> Result<u64, Failure> {
    u64::parse_decimal(id).map_err(|_| {
        Failure::Wrong(format!("the id {} is not a number of at most 64 bits; use --ids names", shown(id)))
    })
}
