//! `hamdex demo`: everything once, on generated data.
//!
//! - [`data`]: fingerprints with planted near-duplicates
//! - [`measure`]: builds, verifies and queries an index of one codec, and compares it with brute force
//! - [`report`]: the codecs next to each other

mod data;
mod measure;
mod report;

use std::path::PathBuf;

use clap::value_parser;
use hamdex::{Codec, FilterChoice};

use crate::failure::Failure;
use crate::output::temp_dir;
use crate::threads::Threads;
use measure::Measured;

/// Build, verify and query an index of made-up fingerprints, and check it against brute force.
///
/// Makes fingerprints with planted near-duplicates. For each codec it builds an index in a temporary
/// directory, verifies it, queries it, and compares a sample of the answers with brute force. Prints the
/// measurements and commands to try next. Leaves no index behind.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex demo
  hamdex demo --count 10000000 --design cover-8 --codec elias-fano")]
pub(crate) struct Args {
    /// The number of fingerprints
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000_000, value_parser = value_parser!(u32).range(1..=1_000_000_000))]
    count: u32,
    /// The tables: a name that `hamdex designs` lists, or auto
    #[arg(long, value_name = "NAME", default_value = hamdex::AUTO)]
    design: String,
    /// The block codec: huffman or elias-fano [default: both, one after the other]
    #[arg(long, value_name = "NAME")]
    codec: Option<Codec>,
    /// The prefix filters: auto, none, or a number N for at most N bits per fingerprint and table
    #[arg(long, value_name = "FILTER", default_value_t)]
    filter: FilterChoice,
    /// The distance, in bits: queries find everything within it
    #[arg(short = 'k', long, value_name = "K", default_value_t = 3)]
    distance: u32,
    /// The directory of the index while the demo runs [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Print a JSON array with an object per codec
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    args.threads.start()?;
    let data = data::make(args.count as usize);
    let directory = temp_dir(args.temp_dir.as_deref(), None);
    let codecs = args.codec.map_or_else(|| Codec::ALL.to_vec(), |codec| vec![codec]);
    let measured: Vec<Measured> = codecs
        .into_iter()
        .map(|codec| measure::measure(args, codec, &data, &directory))
        .collect::<Result<_, _>>()?;
    if args.json {
        report::print_json(&measured)?;
    } else {
        report::print(&measured)?;
    }
    if measured.iter().all(Measured::is_exact) {
        Ok(())
    } else {
        Err(Failure::Wrong("the index and brute force disagree: this is a bug, please report it".to_owned()))
    }
}
