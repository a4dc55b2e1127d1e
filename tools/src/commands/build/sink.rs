//! The output of a build: one file, or a set of shards, and the options of the latter.

use std::path::PathBuf;

use hamdex::{BuildOptions, Builder, Fingerprint};
use hamdex_shards::{Layout, ShardsBuilder};

use crate::build_report::Finished;
use crate::commands::build::Args;
use crate::failure::Failure;
use crate::option_values::{Named, named};
use crate::output::{Output, is_standard_output};
use crate::progress::{self, Phases};

/// An id, with its name and its shingles.
#[derive(Clone, Copy, Default)]
pub(super) struct Record<'r> {
    pub(super) id: u64,
    pub(super) name: Option<&'r [u8]>,
    /// Sorted hashes.
    pub(super) shingles: Option<&'r [u64]>,
}

/// Receives the fingerprints of a build.
pub(super) trait Sink<F> {
    /// Adds a fingerprint without an id.
    fn push(&mut self, fingerprint: F) -> Result<(), Failure>;

    /// Adds a fingerprint with an id, and the name and the shingles that the options call for.
    fn push_record(&mut self, fingerprint: F, record: Record<'_>) -> Result<(), Failure>;

    /// Finishes the output and gives it its name.
    fn finish(self: Box<Self>, phases: &Phases) -> Result<Finished, Failure>;
}

/// Starts the output that the options call for.
pub(super) fn start<F: Fingerprint>(
    args: &Args,
    output: &Output<'_>,
    options: BuildOptions<F>,
) -> Result<Box<dyn Sink<F>>, Failure> {
    let Some(shards) = args.shards.shards else {
        return Ok(Box::new(Builder::with_options(output.path(), options)?));
    };
    Ok(Box::new(ShardsBuilder::create(&args.output, args.shards.layout, shards, options)?))
}

impl<F: Fingerprint> Sink<F> for Builder<F> {
    fn push(&mut self, fingerprint: F) -> Result<(), Failure> {
        Ok(Self::push(self, fingerprint)?)
    }

    fn push_record(&mut self, fingerprint: F, record: Record<'_>) -> Result<(), Failure> {
        let Record { id, name, shingles } = record;
        self.push_with_id(fingerprint, id)?;
        if let Some(name) = name {
            self.push_name(id, name)?;
        }
        if let Some(shingles) = shingles {
            self.push_shingles(id, shingles)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>, phases: &Phases) -> Result<Finished, Failure> {
        let sealed = self.seal();
        phases.finish();
        Ok(Finished::File(sealed?.publish()?))
    }
}

impl<F: Fingerprint> Sink<F> for ShardsBuilder<F> {
    fn push(&mut self, fingerprint: F) -> Result<(), Failure> {
        Ok(Self::push(self, fingerprint)?)
    }

    fn push_record(&mut self, fingerprint: F, record: Record<'_>) -> Result<(), Failure> {
        let Record { id, name, shingles } = record;
        match (name, shingles) {
            (name, Some(shingles)) => self.push_document(fingerprint, id, name, shingles)?,
            (Some(name), None) => self.push_named(fingerprint, id, name)?,
            (None, None) => self.push_with_id(fingerprint, id)?,
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _phases: &Phases) -> Result<Finished, Failure> {
        let bar = progress::of_items("Building shards", 0);
        let sealed = self.seal(&mut |built, all| {
            bar.set_length(all as u64);
            bar.set_position(built as u64);
        });
        bar.finish_and_clear();
        Ok(Finished::Shards(sealed?.publish()?))
    }
}

/// The number of shards, and their layout.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct ShardOptions {
    /// Build a set of N shards (with families, N in each): the output is a directory
    #[arg(long, value_name = "N")]
    pub(super) shards: Option<usize>,
    /// The layout: how fingerprints are spread over shards
    #[arg(long, value_parser = named(LAYOUTS), default_value = "families", requires = "shards")]
    pub(super) layout: Layout,
}

const LAYOUTS: &Named<Layout> = &[
    (
        "families",
        "K + 1 times, each time split by another part of the bits: a query reads K + 1 shards",
        Layout::Families,
    ),
    ("hash", "Once, in any shard: a query reads all of them", Layout::Hash),
];

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
