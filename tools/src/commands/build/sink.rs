//! The output of a build: one file, or a set of shards.

use hamdex::{BuildOptions, Builder, Fingerprint};
use hamdex_shards::ShardsBuilder;

use crate::build_report::Finished;
use crate::commands::build::Args;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{self, Phases};

/// Receives the fingerprints of a build.
pub(super) enum Sink<F: Fingerprint> {
    File(Box<Builder<F>>),
    Shards(Box<ShardsBuilder<F>>),
}

/// An id, with its name and its shingles.
#[derive(Clone, Copy, Default)]
pub(super) struct Record<'r> {
    pub(super) id: u64,
    pub(super) name: Option<&'r [u8]>,
    /// Sorted hashes.
    pub(super) shingles: Option<&'r [u64]>,
}

impl<F: Fingerprint> Sink<F> {
    pub(super) fn start(args: &Args, output: &Output<'_>, options: BuildOptions<F>) -> Result<Self, Failure> {
        match args.shards.shards {
            None => Ok(Self::File(Box::new(Builder::with_options(output.path(), options)?))),
            Some(shards) => {
                let layout = args.shards.layout.into();
                let builder = ShardsBuilder::create(&args.output, layout, shards, options)?;
                Ok(Self::Shards(Box::new(builder)))
            }
        }
    }

    /// Adds a fingerprint without an id.
    pub(super) fn push(&mut self, fingerprint: F) -> Result<(), Failure> {
        match self {
            Self::File(builder) => builder.push(fingerprint)?,
            Self::Shards(builder) => builder.push(fingerprint)?,
        }
        Ok(())
    }

    /// Adds a fingerprint with an id, and the name and the shingles that the options call for.
    pub(super) fn push_record(&mut self, fingerprint: F, record: Record<'_>) -> Result<(), Failure> {
        let Record { id, name, shingles } = record;
        match self {
            Self::File(builder) => {
                builder.push_with_id(fingerprint, id)?;
                if let Some(name) = name {
                    builder.push_name(id, name)?;
                }
                if let Some(shingles) = shingles {
                    builder.push_shingles(id, shingles)?;
                }
            }
            Self::Shards(builder) => match (name, shingles) {
                (name, Some(shingles)) => builder.push_document(fingerprint, id, name, shingles)?,
                (Some(name), None) => builder.push_named(fingerprint, id, name)?,
                (None, None) => builder.push_with_id(fingerprint, id)?,
            },
        }
        Ok(())
    }

    /// Finishes the output and gives it its name.
    pub(super) fn finish(self, phases: &Phases) -> Result<Finished, Failure> {
        match self {
            Self::File(builder) => {
                let sealed = (*builder).seal();
                phases.finish();
                Ok(Finished::File(sealed?.publish()?))
            }
            Self::Shards(builder) => {
                let bar = progress::of_items("Building shards", 0);
                let sealed = builder.seal(&mut |built, all| {
                    bar.set_length(all as u64);
                    bar.set_position(built as u64);
                });
                bar.finish_and_clear();
                Ok(Finished::Shards(sealed?.publish()?))
            }
        }
    }
}
