//! The `hamdex` command. One file or folder per command:
//!
//! - [`dedup`]: the near-duplicates of a corpus, as clusters
//! - [`fingerprint`]: a fingerprint for each document
//! - [`idf`]: how telling each word of a corpus is
//! - [`evaluate`]: how well near-duplicates are found
//! - [`build`]: fingerprints or documents in, one index file out
//! - [`query`]: what is near
//! - [`pairs`]: what is near what
//! - [`dump`]: what a file is made of, down to the bit
//! - [`verify`]: is a file whole
//! - [`designs`]: which tables to choose
//! - [`demo`]: all of it, on data it makes itself
//!
//! and what they share: [`input`], [`documents`], [`names`], [`rows`], [`failure`], [`bars`].

mod bars;
mod build;
mod dedup;
mod demo;
mod designs;
mod documents;
mod dump;
mod evaluate;
mod failure;
mod fingerprint;
mod idf;
mod ids;
mod input;
mod names;
mod pairs;
mod query;
mod rows;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  done (a query that finds nothing too)
  1  an input or the system refused: malformed data, unreadable file, no space
  2  the command line is wrong
  3  an index file is damaged, not a hamdex file, or of another version

Example:
  hamdex dedup articles.jsonl
  hamdex build -o news.hamdex fingerprints.txt
  hamdex query news.hamdex 0123456789abcdef";

/// Find near-duplicates: a compressed index of simhash fingerprints that tells all within k bits.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Dedup(dedup::Args),
    Fingerprint(fingerprint::Args),
    Idf(idf::Args),
    Evaluate(evaluate::Args),
    Build(build::Args),
    Query(query::Args),
    Pairs(pairs::Args),
    Dump(dump::Args),
    Verify(verify::Args),
    Designs(designs::Args),
    Demo(demo::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Dedup(args) => dedup::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Idf(args) => idf::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Pairs(args) => pairs::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Designs(args) => designs::run(&args),
        Command::Demo(args) => demo::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("hamdex: {failure}");
            failure.exit_code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Example:\n  hamdex "), "{}", command.get_name());
        }
    }
}
