//! `hamdex build`: fingerprints in, one index file out.

mod design;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use hamdex::{BuildOptions, Builder, Fingerprint, Summary};
use indicatif::{HumanBytes, HumanCount};

use crate::bars::Phases;
use crate::failure::Failure;
use crate::input::{self, Format, IdSource};

pub(crate) use design::choose;

/// Build an index file from fingerprints.
///
/// Reads files, or standard input when none is named (or for -). The output appears under its name
/// only when it is whole. The same input and options give the same bytes, whatever the memory limit
/// and the number of threads.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex build -o news.hamdex --distance 3 fingerprints.txt
  cut -f2 pages.tsv | hamdex build -o pages.hamdex --ids row --memory 2GiB")]
pub(crate) struct Args {
    /// The index file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Find everything within this many bits
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// Which tables to keep: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// Bits of a fingerprint
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = ["64", "128"])]
    width: String,
    /// Bytes of a block: a power of two from 512 to 8192
    #[arg(long, value_name = "BYTES")]
    block_size: Option<usize>,
    /// How the fingerprints are written down
    #[arg(long, value_enum, default_value = "auto")]
    format: Format,
    /// Where ids come from
    #[arg(long, value_enum, default_value = "none")]
    ids: IdSource,
    /// Memory to keep to; beyond it, sorting goes through temporary files [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Where temporary files go [default: the system's place]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Files of fingerprints; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.width == "128" { build::<u128>(args) } else { build::<u64>(args) }
}

fn build<F: Fingerprint>(args: &Args) -> Result<(), Failure> {
    let started = Instant::now();
    let phases = Arc::new(Phases::default());
    let shown = Arc::clone(&phases);
    let mut options = choose(BuildOptions::<F>::new(), &args.design, args.distance)?
        .ids(args.ids != IdSource::None)
        .overwrite(args.force)
        .progress(move |progress| shown.show(progress));
    if let Some(bytes) = args.block_size {
        options = options.block_bytes(bytes);
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

    let mut builder = Builder::with_options(&args.output, options)?;
    let mut row = 0u64;
    input::read::<F>(&args.inputs, args.format, args.ids == IdSource::Pairs, &mut |fingerprint, id| {
        match args.ids {
            IdSource::None => builder.push(fingerprint)?,
            IdSource::Row => builder.push_with_id(fingerprint, row)?,
            IdSource::Pairs => {
                builder.push_with_id(fingerprint, id.expect("pairs come with ids"))?;
            }
        }
        row += 1;
        Ok(())
    })?;
    let outcome = builder.finish();
    phases.finish();
    report(args, &outcome?, started)
}

fn report(args: &Args, summary: &Summary, started: Instant) -> Result<(), Failure> {
    let seconds = started.elapsed().as_secs_f64();
    let per_fingerprint = summary.bytes as f64 / summary.fingerprints.max(1) as f64;
    writeln!(
        std::io::stdout(),
        "{}: {} fingerprints read, {} distinct{}; design {}; {} ({per_fingerprint:.2} bytes each) in {seconds:.1} s",
        args.output.display(),
        HumanCount(summary.pushed),
        HumanCount(summary.fingerprints),
        if args.ids == IdSource::None { String::new() } else { format!(", {} ids", HumanCount(summary.ids)) },
        summary.design,
        HumanBytes(summary.bytes),
    )?;
    Ok(())
}
