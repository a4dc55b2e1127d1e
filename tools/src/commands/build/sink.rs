//! The output of a build: one file, or a set of shards.

use hamdex::{BuildOptions, Builder, Fingerprint, Summary};
use hamdex_shards::{ShardsBuilder, ShardsSummary};

use crate::commands::build::Args;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{self, Phases};

/// Receives the fingerprints of a build.
pub(super) enum Sink<F: Fingerprint> {
    File(Box<Builder<F>>),
    Shards(Box<ShardsBuilder<F>>),
}

/// A finished build.
pub(super) enum Finished {
    File(Summary),
    Shards(ShardsSummary),
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

    /// Adds a fingerprint, with the id, the name and the shingles that the options call for.
    pub(super) fn push(
        &mut self,
        fingerprint: F,
        id: Option<u64>,
        name: Option<&[u8]>,
        shingles: Option<&[u64]>,
    ) -> Result<(), Failure> {
        match (self, id, name, shingles) {
            (Self::File(builder), None, ..) => builder.push(fingerprint)?,
            (Self::File(builder), Some(id), name, shingles) => {
                builder.push_with_id(fingerprint, id)?;
                if let Some(name) = name {
                    builder.push_name(id, name)?;
                }
                if let Some(shingles) = shingles {
                    builder.push_shingles(id, shingles)?;
                }
            }
            (Self::Shards(builder), None, ..) => builder.push(fingerprint)?,
            (Self::Shards(builder), Some(id), name, Some(shingles)) => {
                builder.push_document(fingerprint, id, name, shingles)?;
            }
            (Self::Shards(builder), Some(id), None, None) => builder.push_with_id(fingerprint, id)?,
            (Self::Shards(builder), Some(id), Some(name), None) => {
                builder.push_named(fingerprint, id, name)?;
            }
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
