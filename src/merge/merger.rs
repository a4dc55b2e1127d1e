//! Several indexes into one: what can be chosen.

use std::fmt;
use std::io::Write;
use std::path::Path;

use hamdex_atomic_file::{AtomicFile, Inputs};

use crate::build::{BuildOptions, Job, SealedIndex, Summary, WithId};
use crate::error::BuildError;
use crate::index::Index;
use crate::mapping::Mapping;
use crate::merge::merged::Merged;
use crate::merge::records::Filter;
use hamdex_fingerprint::Fingerprint;

/// The most indexes that are merged at once.
pub const MAX_MERGED: usize = 256;

/// Merges indexes into one.
///
/// The output has every fingerprint that some input has, once, and its ids from all inputs, each once. It has
/// the bytes that a build from all fingerprints and ids with the same options has. Tables that all inputs
/// have are merged in the memory of a few blocks per input and without sorting; others are sorted as by a
/// [`Builder`](crate::Builder).
///
/// ```
/// use hamdex::{BuildOptions, Builder, Index, Merger};
///
/// let directory = tempfile::tempdir()?;
/// let path = |name| directory.path().join(name);
/// for (name, fingerprints) in [("a.hamdex", [1, 2]), ("b.hamdex", [2, 3])] {
///     let mut builder = Builder::<u64>::new(path(name))?;
///     fingerprints.into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?;
///     builder.finish()?;
/// }
/// let inputs = [Index::<u64>::open(path("a.hamdex"))?, Index::open(path("b.hamdex"))?];
/// let summary = Merger::new(&inputs)?.finish(path("both.hamdex"))?;
/// assert_eq!(summary.fingerprints, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merger<'i, F: Fingerprint, D = Mapping> {
    inputs: Vec<&'i Index<F, D>>,
    options: BuildOptions<F>,
    filter: Option<Box<Filter<'i, F>>>,
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// The options with which a build shapes a file as this one is: design, codec, bytes per block, and whether
    /// there are ids.
    #[must_use]
    pub fn build_options(&self) -> BuildOptions<F> {
        let stats = self.stats();
        BuildOptions::new()
            .design(self.design().clone())
            .codec(stats.codec)
            .block_bytes(stats.block_bytes as usize)
            .ids(self.has_ids())
    }
}

impl<'i, F: Fingerprint, D: AsRef<[u8]> + Sync> Merger<'i, F, D> {
    /// Starts a merge. The output is shaped as the first input is ([`Index::build_options`]), and has no
    /// metadata.
    ///
    /// # Errors
    /// When there is no index, or more than [`MAX_MERGED`]; or when some have ids and others have none.
    pub fn new(inputs: impl IntoIterator<Item = &'i Index<F, D>>) -> Result<Self, BuildError> {
        let inputs: Vec<&Index<F, D>> = inputs.into_iter().collect();
        let Some(first) = inputs.first().filter(|_| inputs.len() <= MAX_MERGED) else {
            return Err(BuildError::Option {
                option: "the number of indexes to merge",
                given: inputs.len().to_string(),
                expected: format!("from 1 to {MAX_MERGED}; merge more in steps"),
            });
        };
        if inputs.iter().any(|index| index.has_ids() != first.has_ids()) {
            return Err(BuildError::Ids("some of the indexes to merge have ids, and others have none"));
        }
        let options = first.build_options();
        Ok(Self { inputs, options, filter: None })
    }

    /// Shapes the output by these options. It has ids if the inputs have, whatever the options say.
    #[must_use]
    pub fn options(mut self, options: BuildOptions<F>) -> Self {
        self.options = options;
        self
    }

    /// Keeps only the records for which `keep` returns `true`, given the number of the input, a fingerprint, and
    /// one of its ids if there are ids. A record that several inputs have is kept if it is kept from one of them.
    /// A fingerprint of which no record is kept is not in the output.
    ///
    /// It is called from any thread, in no particular order, and twice for each record: it must return the
    /// same both times.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(usize, F, Option<u64>) -> bool + Sync + 'i) -> Self {
        self.filter = Some(Box::new(keep));
        self
    }

    /// Merges into a file, and gives it its name when it is durable.
    ///
    /// # Errors
    /// When an option is out of its range, the file cannot be created, is an input, or may not be replaced; when
    /// an input is damaged, or memory or disk run out. The target is untouched then, unless the error is
    /// [`BuildError::is_in_place`].
    pub fn finish(self, path: impl AsRef<Path>) -> Result<Summary, BuildError> {
        self.seal(path)?.publish()
    }

    /// Does all that [`Merger::finish`] does but give the file its name: see
    /// [`Builder::seal`](crate::Builder::seal).
    ///
    /// # Errors
    /// As for [`Merger::finish`].
    pub fn seal(self, path: impl AsRef<Path>) -> Result<SealedIndex, BuildError> {
        let path = path.as_ref();
        let Self { inputs, options, filter } = self;
        let options = checked(&inputs, options)?;
        let files = Inputs::of(inputs.iter().filter_map(|index| index.path()));
        let output = AtomicFile::options().overwrite(options.overwrites()).inputs(&files).create(path)?;
        let job = Job::new(options, Some(path))?;
        let (inputs, filter) = (inputs.as_slice(), filter.as_deref());
        if job.options.ids {
            job.seal(output, |job| Ok(Merged::<F, D, WithId<F>>::new(job, inputs, filter)))
        } else {
            job.seal(output, |job| Ok(Merged::<F, D, F>::new(job, inputs, filter)))
        }
    }

    /// Merges into any writer, front to back, and flushes it: into a `Vec<u8>`, say, for
    /// [`Index::from_bytes`].
    ///
    /// # Errors
    /// As for [`Merger::finish`]; the writer may have a part of the index then.
    pub fn write_to(self, writer: &mut (impl Write + Send)) -> Result<Summary, BuildError> {
        let Self { inputs, options, filter } = self;
        let job = Job::new(checked(&inputs, options)?, None)?;
        let (inputs, filter) = (inputs.as_slice(), filter.as_deref());
        if job.options.ids {
            job.write(writer, |job| Ok(Merged::<F, D, WithId<F>>::new(job, inputs, filter)))
        } else {
            job.write(writer, |job| Ok(Merged::<F, D, F>::new(job, inputs, filter)))
        }
    }
}

fn checked<F: Fingerprint, D: AsRef<[u8]>>(
    inputs: &[&Index<F, D>],
    options: BuildOptions<F>,
) -> Result<BuildOptions<F>, BuildError> {
    let options = options.ids(inputs.iter().any(|index| index.has_ids()));
    options.check()?;
    Ok(options)
}

impl<F: Fingerprint, D> fmt::Debug for Merger<'_, F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merger")
            .field("inputs", &self.inputs)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
