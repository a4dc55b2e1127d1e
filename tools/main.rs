//! The `hamdex` command: one file or folder per subcommand in [`commands`], and what they share beside it.

mod bars;
mod causes;
mod commands;
mod counted;
mod documents;
mod failure;
mod ids;
mod input;
mod names;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{build, dedup, demo, designs, dump, evaluate, fingerprint, idf, pairs, query, verify};

const EXIT_CODES: &str = "\
Exit codes:
  0  done (a query that finds nothing too)
  1  an input or the system refused: malformed data, unreadable file, no space
  2  the command line is wrong
  3  an index file is damaged, not a hamdex file, or of another version
  4  the output is complete and in place, but something failed after that: its directory could not be synced
     to disk, or what was to be printed about it could not

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
            anstream::eprintln!("hamdex: {}", failure.line());
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
