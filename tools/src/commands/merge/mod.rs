//! `hamdex merge`: several index files into one.
//!
//! - [`inputs`]: the files, and checks that they fit together

mod inputs;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{BuildOptions, Codec, FilterChoice, Fingerprint, Merger};
use hamdex_any::for_width;
use hamdex_atomic_file::Inputs;

use crate::build_report::{BuildReport, Finished};
use crate::commands::build::choose;
use crate::failure::Failure;
use crate::option_values;
use crate::output::{Force, Output, check_index_output};
use crate::progress::Phases;
use crate::threads::Threads;

use inputs::Merging;

/// Merge index files into one.
///
/// The output has every fingerprint of the inputs once, with its ids from all inputs. It equals the file that
/// `hamdex build` makes of all fingerprints, and is made much faster: inputs of one design are not sorted
/// again.
///
/// Design, codec and block size are those of the inputs. Where the designs differ, one is chosen as `hamdex
/// build` does, by the number of all fingerprints, for the greatest of the distances; if the codecs differ,
/// --codec chooses. Filters are made anew, by the number of all fingerprints, and so are look-ups if an input has them. Files with and
/// without ids, files of 64 and of 128 bits, and files whose recipes or metadata differ are not merged; nor are
/// files with shingles in which one id has different ones.
///
/// Names, such as those of documents, stay with their fingerprints, but ids are renumbered: the ids of the
/// second file follow those of the first, and so on. A document that is in two files is in the output twice,
/// under the same name. Files with and without names are not merged.
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
    for_width!(inputs::width(&args.inputs)?, F => merge::<F>(args))
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
    printed.map_err(|failure| Failure::InPlace { path: args.output.clone(), source: Box::new(failure) })
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
