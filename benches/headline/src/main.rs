//! Billions of fingerprints on one machine (Manku, Jain and Das Sarma, WWW 2007, have 8 billion on 200): makes a
//! set of 2^n, builds an index of it in bounded memory, queries it cold, runs a batch, and checks the answers.
//!
//! `cargo run --release --manifest-path benches/headline/Cargo.toml -- --help`

mod bar;
#[path = "../../common/chart/mod.rs"]
mod chart;
mod figures;
#[path = "../../common/machine.rs"]
mod machine;
mod picture;
mod run;
mod set;
mod stages;
mod system;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

/// Measure hamdex with 2^n fingerprints, n up to 33 and beyond.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, query, and check an index; a killed run continues with its unfinished stage
    #[command(after_help = "\
Example:
  headline run --log2 28 --design halves --dir /data
  headline run --log2 33 --design single --strategy scan --dir /data --remove")]
    Run(run::Args),
    /// Draw the figures of several runs: time and bytes by the number of fingerprints
    #[command(after_help = "\
Example:
  headline picture results/*.json -o results/headline.svg")]
    Picture(PictureArgs),
}

#[derive(Args)]
struct PictureArgs {
    /// Figures of runs
    #[arg(required = true)]
    figures: Vec<PathBuf>,
    /// The SVG file to write
    #[arg(short, long)]
    output: PathBuf,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Picture(args) => picture::draw(&args.figures, &args.output),
    }
}
