//! `hamdex merge`: several index files into one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{BuildOptions, Codec, Design, FilterChoice, Fingerprint, Index, Merger};
use hamdex_any::for_width;
use hamdex_atomic_file::Inputs;
use hamdex_documents::RECIPE_KEY;

use crate::build_report::{BuildReport, Finished};
use crate::commands::build::choose;
use crate::failure::Failure;
use crate::option_values;
use crate::option_values::Threads;
use crate::output::{Force, Output, check_index_output};
use crate::progress::Phases;

/// Merge index files into one.
///
/// The output has every fingerprint of the inputs once, with its ids from all inputs. It equals the output of
/// `hamdex build` from all fingerprints, and is made much faster, since inputs of one design are not sorted again.
///
/// Design, codec and block size are those of the inputs. If the designs differ, one is chosen as by `hamdex build`,
/// for all fingerprints and the greatest of the distances. If the codecs differ, give --codec. Filters are made
/// anew, as are look-ups if an input has them. These are errors: files with and without ids, files of 64 and of 128
/// bits, different recipes or metadata, and an id with different shingles in two files.
///
/// Names, such as those of documents, stay with their fingerprints. Their ids are renumbered: the ids of the second
/// file follow those of the first, and so on. A document in two files is in the output twice, under the same name.
/// Files with names and files without are not merged.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  hamdex merge monday.hamdex tuesday.hamdex -o both.hamdex
  hamdex merge news.hamdex --design cover-8 -o fast.hamdex"
)]
pub(crate) struct Args {
    /// The index files to merge, at most 256
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// The index file to write; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The tables: a name that `hamdex designs` lists, or auto [default: those of the inputs,
    /// or auto if they differ]
    #[arg(long, value_name = "NAME")]
    design: Option<String>,
    /// The distance, in bits, with --design [default: the greatest of the inputs]
    #[arg(short = 'k', long, value_name = "K", requires = "design")]
    distance: Option<u32>,
    /// The block codec: huffman or elias-fano [default: as in the inputs]
    #[arg(long, value_name = "NAME")]
    codec: Option<Codec>,
    /// The prefix filters: auto, none, or a number N for at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// Bytes per block: a power of two from 512 to 8192 [default: as in the inputs, or the default of the
    /// codec]
    #[arg(long, value_name = "BYTES", value_parser = option_values::block_bytes)]
    block_size: Option<u32>,
    /// Memory for sorting the tables that some input lacks [default: a quarter of the usable memory]
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
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    for_width!(width(&args.inputs)?, F => merge::<F>(args))
}

fn merge<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let started = Instant::now();
    let files = Inputs::of(&args.inputs);
    let output = Output::new(&args.output, args.force, &files);
    output.check()?;
    check_index_output(&args.output, args.json)?;
    let merging = Merging::<F>::open(&args.inputs)?;
    let phases = Arc::new(Phases::default());
    let (options, codec) = options(args, &merging, &phases)?;
    let merger = Merger::new(&merging.indexes)?.options(options).renumber(merging.has_names());
    let sealed = merger.seal(output.path());
    phases.finish();
    let summary = sealed?.publish()?;
    let report = BuildReport {
        output: &args.output,
        finished: &Finished::File(summary),
        codec,
        documents: None,
        merged: Some(args.inputs.len()),
        seconds: started.elapsed().as_secs_f64(),
    };
    let printed = report.print(args.json);
    printed.map_err(|failure| failure.in_place(&args.output))
}

fn options<F: Fingerprint>(
    args: &Args,
    merging: &Merging<'_, F>,
    phases: &Arc<Phases>,
) -> Result<(BuildOptions<F>, Codec), Failure> {
    let mut options = BuildOptions::new()
        .filter(args.filter)
        .lookups(merging.has_lookups())
        .overwrite(args.force.force)
        .threads(args.threads.count())
        .progress(phases.reporter());
    options = match &args.design {
        Some(name) => choose(options, name, args.distance.unwrap_or(merging.greatest_distance()))?,
        None => match merging.design() {
            Some(design) => options.design(design.clone()),
            None => options.distance(merging.greatest_distance()),
        },
    };
    let codec = args.codec.map_or_else(|| merging.codec(), Ok)?;
    options = options.codec(codec);
    if let Some(bytes) = args.block_size.or_else(|| merging.block_bytes(codec)) {
        options = options.block_bytes(bytes as usize);
    }
    if let Some(memory) = args.memory {
        options = options.memory(memory.as_u64());
    }
    if let Some(directory) = &args.temp_dir {
        options = options.temp_dir(directory);
    }
    for (name, value) in merging.metadata()? {
        options = options.metadata(name, value.clone());
    }
    Ok((options, codec))
}

/// Returns the width of all files.
fn width(paths: &[PathBuf]) -> Result<u32, Failure> {
    let widths = paths.iter().map(|path| hamdex::width(path).map_err(Failure::Index));
    let widths: Vec<u32> = widths.collect::<Result<_, _>>()?;
    match widths.iter().position(|width| *width != widths[0]) {
        None => Ok(widths[0]),
        Some(other) => Err(Failure::Wrong(format!(
            "{} holds fingerprints of {} bits, and {} of {}: they cannot be merged",
            paths[0].display(),
            widths[0],
            paths[other].display(),
            widths[other],
        ))),
    }
}

/// Open indexes.
struct Merging<'p, F> {
    paths: &'p [PathBuf],
    indexes: Vec<Index<F>>,
}

impl<'p, F: Fingerprint> Merging<'p, F> {
    /// Opens all files; refuses a mix of files with and without ids, or names.
    fn open(paths: &'p [PathBuf]) -> Result<Self, Failure> {
        if paths.len() > hamdex::MAX_MERGED {
            return Err(Failure::Usage(format!(
                "{} files are more than the {} that can be merged at once: merge them in steps",
                paths.len(),
                hamdex::MAX_MERGED
            )));
        }
        let indexes = paths.iter().map(|path| Index::open(path).map_err(Failure::Index));
        let merging = Self { paths, indexes: indexes.collect::<Result<_, _>>()? };
        merging.all_or_none("ids", Index::has_ids)?;
        merging.all_or_none("names", Index::has_names)?;
        Ok(merging)
    }

    /// Refuses files of which some have a property and others do not.
    fn all_or_none(&self, what: &str, has: impl Fn(&Index<F>) -> bool) -> Result<(), Failure> {
        let outcome = self.common(&has).map(drop);
        outcome.map_err(|(a, b)| {
            let (with, without) = if has(&self.indexes[0]) { (a, b) } else { (b, a) };
            Failure::Wrong(format!(
                "{} has {what}, and {} has none: they cannot be merged",
                with.display(),
                without.display()
            ))
        })
    }

    /// Whether ids have names.
    fn has_names(&self) -> bool {
        self.indexes.iter().any(Index::has_names)
    }

    /// Whether any index has look-ups.
    fn has_lookups(&self) -> bool {
        self.indexes.iter().any(Index::has_lookups)
    }

    /// Returns the property that all indexes share, or two files that differ in it.
    fn common<'m, T: PartialEq>(&'m self, of: impl Fn(&'m Index<F>) -> T) -> Result<T, (&'p Path, &'p Path)> {
        let first = of(&self.indexes[0]);
        match self.indexes.iter().position(|index| of(index) != first) {
            None => Ok(first),
            Some(other) => Err((&self.paths[0], &self.paths[other])),
        }
    }

    /// Returns the design of the inputs; `None` if they differ.
    fn design(&self) -> Option<&Design<F>> {
        self.common(Index::design).ok()
    }

    fn greatest_distance(&self) -> u32 {
        self.indexes.iter().map(|index| index.design().distance()).max().expect("there is an input")
    }

    fn codec(&self) -> Result<Codec, Failure> {
        self.common(|index| index.stats().codec).map_err(|(a, b)| {
            Failure::Usage(format!(
                "the codecs of {} and {} differ: choose one with --codec",
                a.display(),
                b.display()
            ))
        })
    }

    /// Returns the bytes per block of the inputs of this codec; `None` if they differ.
    fn block_bytes(&self, codec: Codec) -> Option<u32> {
        let of_codec = self.indexes.iter().map(Index::stats).filter(|stats| stats.codec == codec);
        let mut sizes: Vec<u32> = of_codec.map(|stats| stats.block_bytes).collect();
        sizes.dedup();
        <[u32; 1]>::try_from(sizes).ok().map(|[bytes]| bytes)
    }

    /// Returns the metadata of the output: that of all inputs, which must agree.
    fn metadata(&self) -> Result<&BTreeMap<String, Vec<u8>>, Failure> {
        let recipes = self.common(|index| index.metadata().get(RECIPE_KEY));
        recipes.map_err(|(a, b)| {
            Failure::Wrong(format!(
                "{} and {} were built by different recipes, or one of them without one: their fingerprints \
                 cannot be compared",
                a.display(),
                b.display()
            ))
        })?;
        self.common(Index::metadata).map_err(|(a, b)| {
            Failure::Wrong(format!(
                "the metadata of {} and {} differ: they cannot be merged",
                a.display(),
                b.display()
            ))
        })
    }
}
