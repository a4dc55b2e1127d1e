//! `hamdex merge`: several index files into one.
//!
//! - [`inputs`]: what the files have in common, or why they cannot be merged

mod inputs;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{BuildOptions, Codec, Fingerprint, Merger};
use hamdex_any::for_width;
use hamdex_atomic_file::Inputs;

use crate::bars::Phases;
use crate::built::Built;
use crate::commands::build::choose;
use crate::failure::Failure;
use crate::output::{Force, Output, check_index_output};
use crate::threads::Threads;
use crate::values;

use inputs::Merging;

/// Merge index files into one.
///
/// The output has every fingerprint that some input has, once, with its ids from all inputs. It is the file that
/// `hamdex build` makes of all fingerprints, and it is made much faster: inputs of one design are not sorted
/// again.
///
/// Design, codec and block size are those of the inputs. Where these differ, options say which to take. Files
/// with ids and files without, files of 64 and of 128 bits, and files whose recipes or metadata differ are not
/// merged.
///
/// Where ids have names, as those of documents do, each file was numbered by itself. Their ids are moved up: those of
/// the second file come after those of the first, and so on, and every name stays with its fingerprint. A
/// document that is in two files is in the output twice, under the same name. Files with names and files without
/// are not merged.
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
    /// Which tables to keep: a name that `hamdex designs` lists, or auto [default: those of the inputs]
    #[arg(long, value_name = "NAME")]
    design: Option<String>,
    /// Find everything within this many bits, with --design [default: the greatest of the inputs]
    #[arg(short = 'k', long, value_name = "K", requires = "design")]
    distance: Option<u32>,
    /// How blocks are coded: huffman or elias-fano [default: as in the inputs]
    #[arg(long, value_name = "NAME")]
    codec: Option<Codec>,
    /// Bytes per block: a power of two from 512 to 8192 [default: as in the inputs, or what suits the codec]
    #[arg(long, value_name = "BYTES", value_parser = values::block_bytes)]
    block_size: Option<u32>,
    /// Memory for sorting the tables that some input lacks [default: a quarter of the usable memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    memory: Option<ByteSize>,
    /// Where temporary files go [default: the directory of the output]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print what was merged as a JSON object
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
    let built = Built {
        output: &args.output,
        summary: &summary,
        codec,
        documents: None,
        merged: Some(args.inputs.len()),
        seconds: started.elapsed().as_secs_f64(),
    };
    let printed = built.print(args.json);
    printed.map_err(|failure| Failure::InPlace { path: args.output.clone(), source: Box::new(failure) })
}

fn options<F: Fingerprint>(
    args: &Args,
    merging: &Merging<'_, F>,
    phases: &Arc<Phases>,
) -> Result<(BuildOptions<F>, Codec), Failure> {
    let mut options = BuildOptions::new()
        .overwrite(args.force.force)
        .threads(args.threads.count())
        .progress(phases.reporter());
    options = match &args.design {
        Some(name) => choose(options, name, args.distance.unwrap_or(merging.greatest_distance()))?,
        None => options.design(merging.design()?.clone()),
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
