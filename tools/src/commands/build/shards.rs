//! Options of a set of shards.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::commands::build::Args;
use crate::failure::Failure;
use crate::output::is_standard_output;

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
