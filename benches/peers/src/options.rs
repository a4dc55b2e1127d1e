//! The command line.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use crate::common::SHAPES;

const HELP: &str = "\
How it measures:
  One thread. Every contender runs the same queries, all different: half of them a few bits from a
  stored fingerprint, half anywhere. An untimed round with other queries comes right before each timed
  one, so that memory is as warm as steady use makes it, and no warmer. The contenders take turns round
  by round, so that other load on the machine affects all alike. Brute force gets only the --scanned
  queries.

  The answers to each query are compared with those of all others, and the scanned ones with brute
  force. If any differ, the run ends at once, with exit code 1.

  From --alone-from fingerprints up, contenders no longer share memory: each is built and measured
  alone, in turn with the reference (mih-rs with its default blocks), which stays. At 100 million the
  reference takes 10 GB and the largest hamdex file 5 GB, so 24 GiB do. A ratio is always to the
  reference as it was measured in turn with that contender.

  Hamdex files lie in the system's temporary directory (TMPDIR), are read into memory, and are
  removed afterwards.

Examples:
  cargo run --release --manifest-path benches/peers/Cargo.toml -- --json peers.json --svg peers.svg
  cargo run --release --manifest-path benches/peers/Cargo.toml -- --count 100000000 --shape uniform \\
      --only mih-rs/default --only cover-8

Exit codes: 0 done, 1 contenders disagree or something failed, 2 the command line is wrong.";

/// Measure hamdex against other exact Hamming indexes, on the same data in the same run.
#[derive(Parser)]
#[command(name = "hamdex-peers", after_help = HELP)]
pub(crate) struct Options {
    /// Number of fingerprints; may be repeated
    #[arg(long, value_name = "N", default_values_t = [1_000_000, 10_000_000], value_parser = clap::value_parser!(u32).range(1..))]
    pub count: Vec<u32>,
    /// The distribution of the fingerprints; may be repeated
    #[arg(long, value_name = "SHAPE", default_values = SHAPES.map(|(name, _)| name), value_parser = PossibleValuesParser::new(SHAPES.map(|(name, _)| name)))]
    pub shape: Vec<String>,
    /// Find everything within this many bits
    #[arg(long = "k", value_name = "K", default_value_t = 3)]
    pub distance: u32,
    /// Queries per round
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(2..))]
    pub queries: u32,
    /// Number of queries that brute force answers, both timed and to check all others
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub scanned: u32,
    /// Timed rounds
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Measure only contenders whose name is this or has this between its slashes; may be repeated
    #[arg(long, visible_alias = "peers", value_name = "NAME")]
    pub only: Vec<String>,
    /// Measure each contender alone from this number of fingerprints up
    #[arg(long, value_name = "N", default_value_t = 50_000_000)]
    pub alone_from: u32,
    /// Write all measurements to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw time against memory to this file, a panel for each number and shape of fingerprints
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}
