//! The builder: fingerprints in any order, one index out.

use std::io::Write;
use std::path::Path;

use hamdex_atomic_file::AtomicFile;

use crate::build::job::Job;
use crate::build::options::BuildOptions;
use crate::build::pushed::Pushed;
use crate::build::record::{Record, WithId};
use crate::build::sort::Sorter;
use crate::build::summary::{SealedIndex, Summary};
use crate::error::BuildError;
use crate::progress::{Counter, Phase, Progress};
use hamdex_fingerprint::Fingerprint;

/// Fingerprints between two reports while they are taken in.
const REPORT_EVERY: u64 = 1 << 16;

/// Builds an index: a file ([`Builder::new`]), or bytes for any writer ([`Builder::to_writer`]).
///
/// The same fingerprints, ids and options give the same bytes, in whatever order they come, whatever
/// the memory limit and the number of threads. Until [`Builder::finish`] has succeeded there is
/// nothing under the file's name, or what was there before.
///
/// ```
/// use hamdex::{BuildOptions, Builder, Design, Index};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("pages.hamdex");
/// let options = BuildOptions::new().design(Design::named("cover-6", 3)?).ids(true);
/// let mut builder = Builder::<u64>::with_options(&path, options)?;
/// builder.push_with_id(0x1234, 17)?;
/// builder.push_with_id(0x1234, 4)?;
/// let summary = builder.finish()?;
/// assert_eq!((summary.fingerprints, summary.ids), (1, 2));
///
/// let index = Index::<u64>::open(&path)?;
/// assert_eq!(index.ids(0x1234)?.collect::<Vec<_>>(), [4, 17]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Builder<F: Fingerprint, W = IndexFile> {
    job: Job<F>,
    output: W,
    input: Input<F>,
    pushed: u64,
    /// Of those pushed, as many as have been reported.
    reading: Counter,
}

/// An index file that has no name yet: what a [`Builder`] writes to unless it is given a writer.
pub struct IndexFile(AtomicFile);

enum Input<F: Fingerprint> {
    Plain(Sorter<F>),
    WithIds(Sorter<WithId<F>>),
}

impl<F: Fingerprint> Builder<F> {
    /// Starts a build with default options: distance 3, a design chosen by the number of
    /// fingerprints, no ids; refuses to replace a file.
    ///
    /// # Errors
    /// When the file exists or cannot be created.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, BuildError> {
        Self::with_options(path, BuildOptions::new())
    }

    /// Starts a build.
    ///
    /// # Errors
    /// When an option is out of its range, or the file cannot be created or may not be replaced.
    pub fn with_options(path: impl AsRef<Path>, options: BuildOptions<F>) -> Result<Self, BuildError> {
        options.check()?;
        let path = path.as_ref();
        let output = AtomicFile::options().overwrite(options.overwrite).create(path)?;
        Ok(Self::start(Job::new(options, Some(path))?, IndexFile(output)))
    }

    /// Sorts, compresses and writes everything; gives the file its name when it is durable.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, the file has come to exist meanwhile, or the
    /// progress callback stops the build. The target is untouched then, unless the error is [`BuildError::is_in_place`].
    pub fn finish(self) -> Result<Summary, BuildError> {
        self.seal()?.publish()
    }

    /// Does all that [`Builder::finish`] does but give the file its name: for files beside the index that
    /// must know its id, and are to appear together with it.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, or the progress callback stops the build. The
    /// target is untouched then.
    pub fn seal(self) -> Result<SealedIndex, BuildError> {
        let Self { job, output: IndexFile(output), input, pushed, reading } = self;
        reading.check()?;
        let mut sealed = match input {
            Input::Plain(sorter) => job.seal(output, |job| job.pushed(sorter, pushed)),
            Input::WithIds(sorter) => job.seal(output, |job| job.pushed(sorter, pushed)),
        }?;
        sealed.summary.pushed = pushed;
        Ok(sealed)
    }
}

impl<F: Fingerprint> Builder<F, Vec<u8>> {
    /// Starts a build of an index in memory, for [`Index::from_bytes`](crate::Index::from_bytes). See
    /// [`Builder::to_writer`].
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new())?;
    /// [0x00ff_u64, 0xff00].into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?;
    /// let (bytes, summary) = builder.into_inner()?;
    /// assert_eq!((bytes.len() as u64, summary.fingerprints), (summary.bytes, 2));
    ///
    /// let index = Index::<u64, _>::from_bytes(bytes)?;
    /// assert!(index.contains(0xff00)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Builder::to_writer`].
    pub fn in_memory(options: BuildOptions<F>) -> Result<Self, BuildError> {
        Self::to_writer(Vec::new(), options)
    }
}

impl<F: Fingerprint, W: Write + Send> Builder<F, W> {
    /// Starts a build whose bytes go to a writer, front to back. [`BuildOptions::overwrite`] has no meaning
    /// then.
    ///
    /// # Errors
    /// When an option is out of its range, or temporary files cannot be created.
    pub fn to_writer(writer: W, options: BuildOptions<F>) -> Result<Self, BuildError> {
        options.check()?;
        Ok(Self::start(Job::new(options, None)?, writer))
    }

    /// Sorts, compresses and writes everything, and flushes the writer. Nothing is written before that.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, the writer fails, or the progress callback stops
    /// the build. The writer may have a part of the index then.
    pub fn into_inner(self) -> Result<(W, Summary), BuildError> {
        let Self { job, mut output, input, pushed, reading } = self;
        reading.check()?;
        let mut summary = match input {
            Input::Plain(sorter) => job.write(&mut output, |job| job.pushed(sorter, pushed)),
            Input::WithIds(sorter) => job.write(&mut output, |job| job.pushed(sorter, pushed)),
        }?;
        summary.pushed = pushed;
        Ok((output, summary))
    }
}

impl<F: Fingerprint, W> Builder<F, W> {
    fn start(job: Job<F>, output: W) -> Self {
        let memory = job.options.sort_memory();
        let input = if job.options.ids {
            Input::WithIds(Sorter::new(memory, &job.temp_dir))
        } else {
            Input::Plain(Sorter::new(memory, &job.temp_dir))
        };
        let reading = job.options.silent_counter(Phase::Read);
        Self { job, output, input, pushed: 0, reading }
    }

    /// Adds a fingerprint to an index without ids.
    ///
    /// # Errors
    /// When the index was to have ids, memory or disk run out, or the progress callback stops the build.
    pub fn push(&mut self, fingerprint: F) -> Result<(), BuildError> {
        match &mut self.input {
            Input::Plain(sorter) => sorter.push_in(&self.job.pool, fingerprint, &self.reading)?,
            Input::WithIds(..) => {
                return Err(BuildError::Ids("this index has ids: give one with each fingerprint"));
            }
        }
        self.count_push()
    }

    /// Adds a fingerprint and one of its ids to an index with ids.
    ///
    /// # Errors
    /// When the index was to have none, memory or disk run out, or the progress callback stops the build.
    pub fn push_with_id(&mut self, fingerprint: F, id: u64) -> Result<(), BuildError> {
        match &mut self.input {
            Input::WithIds(sorter) => {
                sorter.push_in(&self.job.pool, WithId { fingerprint, id }, &self.reading)?;
            }
            Input::Plain(_) => {
                return Err(BuildError::Ids("this index has no ids: they are an option of the build"));
            }
        }
        self.count_push()
    }

    fn count_push(&mut self) -> Result<(), BuildError> {
        self.pushed += 1;
        if self.pushed.is_multiple_of(REPORT_EVERY) {
            self.reading.add(REPORT_EVERY)?;
        }
        Ok(())
    }
}

impl<F: Fingerprint> Job<F> {
    /// The tables of what has been pushed.
    fn pushed<R: Record<Fingerprint = F>>(
        &self,
        sorter: Sorter<R>,
        pushed: u64,
    ) -> Result<Pushed<'_, R>, BuildError> {
        self.options.report(Progress::new(Phase::Read, pushed, Some(pushed)))?;
        Pushed::new(sorter, &self.options, &self.temp_dir)
    }
}
