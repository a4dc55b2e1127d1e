//! hamdex compared with other exact Hamming indexes: the same data, the same queries, the same run.
//!
//! - [`options`]: the command line
//! - [`data`]: stored fingerprints, and queries
//! - [`contender`]: the interface of contenders; [`mih`], [`hamdex`], [`bk_tree`] and [`brute`] implement it;
//!   [`registry`] lists them
//! - [`judge`]: checks that all give the same answers
//! - [`queries`]: single queries, timed
//! - [`memory`], [`environment`]: bytes on the heap, and the machine
//! - [`report`]: a table, JSON, a picture

mod bk_tree;
mod brute;
#[path = "../../common/chart/mod.rs"]
mod chart;
#[path = "../../common/mod.rs"]
mod common;
mod contender;
mod data;
mod environment;
mod hamdex;
mod judge;
#[path = "../../common/machine.rs"]
mod machine;
mod memory;
mod mih;
mod options;
mod queries;
mod registry;
mod report;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::data::Data;
use crate::environment::Environment;
use crate::options::Options;
use crate::registry::Kind;
use crate::report::{Report, svg, table};

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hamdex-peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let kinds = Kind::chosen(&options.only, options.distance)?;
    let environment = Environment::here();
    println!("{}", table::preface(&environment, options.rounds, options.distance));
    let Options { distance, rounds, .. } = *options;
    let mut report = Report { environment, distance, rounds, queries: Vec::new() };
    for &count in &options.count {
        for shape in &options.shape {
            let data = Data::new(shape, count, options);
            let comparison = queries::compare(&data, count, &kinds, options)?;
            println!("{}", table::table(&comparison));
            report.queries.push(comparison);
            // After each comparison: a run over large sets takes hours and may be interrupted.
            write(&report, options)?;
        }
    }
    Ok(())
}

fn write(report: &Report, options: &Options) -> Result<()> {
    let write = |path: &Path, text: String| {
        fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
    };
    if let Some(path) = &options.json {
        write(path, serde_json::to_string_pretty(report)? + "\n")?;
    }
    if let Some(path) = &options.svg {
        write(path, svg::picture(report))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
