//! Options of a set of shards, and the report on it.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use hamdex_shards::{Manifest, ShardsSummary};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::commands::build::Args;
use crate::failure::Failure;
use crate::messages::{self, counted};
use crate::output::is_standard_output;
use crate::standard_output;

/// The number of shards, and their layout.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Options {
    /// Build a set of N shards (with families, N in each): the output is a directory
    #[arg(long, value_name = "N")]
    pub(super) shards: Option<usize>,
    /// The layout: how fingerprints are spread over shards
    #[arg(long, value_enum, default_value = "families", requires = "shards")]
    pub(super) layout: Layout,
}

/// The layout: how fingerprints are spread over shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Layout {
    /// K + 1 times, each time split by another part of the bits: a query reads K + 1 shards
    Families,
    /// Once, in any shard: a query reads all of them
    Hash,
}

impl From<Layout> for hamdex_shards::Layout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Families => Self::Families,
            Layout::Hash => Self::Hash,
        }
    }
}

/// The object that `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    output: Cow<'a, str>,
    layout: String,
    families: usize,
    shards: usize,
    read: u64,
    fingerprints: u64,
    ids: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    too_short: Option<u64>,
    codec: &'static str,
    bytes: u64,
    bytes_per_fingerprint: f64,
    seconds: f64,
}

/// Refuses an output that cannot be the directory of a set, before any work, and raises the limit of open
/// files.
pub(super) fn check_output(args: &Args) -> Result<(), Failure> {
    if is_standard_output(&args.output) {
        let text = "a set of shards is a directory, not standard output: name one with --output";
        return Err(Failure::Usage(text.to_owned()));
    }
    if let Ok(output) = args.output.canonicalize() {
        let is_inside = |input: &&PathBuf| input.canonicalize().is_ok_and(|input| input.starts_with(&output));
        if let Some(input) = args.inputs.iter().find(is_inside) {
            let (path, input) = (args.output.clone(), input.clone());
            return Err(hamdex::OutputError::IsInput { path, input }.into());
        }
    }
    raise_open_files();
    Ok(())
}

/// Raises the limit of open files to the highest that the system permits: each shard is an open file until
/// all are complete. A refusal is not an error yet.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Reports on the set.
pub(super) fn report(
    args: &Args,
    summary: &ShardsSummary,
    documents: Option<(u64, u64)>,
    seconds: f64,
) -> Result<(), Failure> {
    let manifest: &Manifest = &summary.manifest;
    let bytes_per_fingerprint = manifest.bytes() as f64 / manifest.fingerprints().max(1) as f64;
    if !args.json {
        let ids = match manifest.ids() {
            0 => String::new(),
            some => format!(", {}", counted(some, "id", "ids")),
        };
        let shards = match manifest.families() {
            1 => format!("{} shards", HumanCount(manifest.shards.len() as u64)),
            families => format!("{families} families of {} shards", manifest.first_family().len()),
        };
        messages::summary(format_args!(
            "{}: {} read, {} distinct{ids}; {shards}, {}; {} ({bytes_per_fingerprint:.2} bytes per fingerprint) in \
             {seconds:.1} s",
            args.output.display(),
            counted(summary.pushed, "fingerprint", "fingerprints"),
            HumanCount(manifest.fingerprints()),
            args.codec,
            HumanBytes(manifest.bytes()),
        ));
        return Ok(());
    }
    let report = Report {
        output: args.output.to_string_lossy(),
        layout: manifest.layout.to_string(),
        families: manifest.families(),
        shards: manifest.shards.len(),
        read: summary.pushed,
        fingerprints: manifest.fingerprints(),
        ids: manifest.ids(),
        documents: documents.map(|(all, _)| all),
        too_short: documents.map(|(_, too_short)| too_short),
        codec: args.codec.name(),
        bytes: manifest.bytes(),
        bytes_per_fingerprint,
        seconds,
    };
    let mut output = standard_output::lines();
    serde_json::to_writer(&mut output, &report).map_err(std::io::Error::from)?;
    writeln!(output)?;
    Ok(())
}
