//! The builder: fingerprints in any order, one index out.

use std::fmt;
use std::io::Write;
use std::path::Path;

use crate::error::{BuildError, IdColumn};
use crate::format::FileId;
use crate::names::MAX_NAME_BYTES;
use crate::progress::{Counter, Phase, Progress};
use crate::shingles;
use crate::widths::per_width;
use crate::writer::assemble::Columns;
use crate::writer::directory::NameSpool;
use crate::writer::options::BuildOptions;
use crate::writer::pairs::ShingleSpool;
use crate::writer::sort::{Pushed, Sorter};
use crate::writer::{Job, Output, Record, SealedIndex, Summary, WithId};
use hamdex_atomic_file::AtomicFile;
use hamdex_fingerprint::Fingerprint;

/// Fingerprints read between two reports.
const REPORT_EVERY: u64 = 1 << 16;

/// Builds an index: a file ([`Builder::new`]), or bytes for any writer ([`Builder::to_writer`]).
///
/// The same fingerprints, ids and options give the same bytes, for any order of input, any memory limit and any
/// number of threads. Until [`Builder::finish`] has succeeded, the path has no file, or its old one.
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
    core: Core<F>,
    output: W,
}

/// A build without its output.
struct Core<F: Fingerprint> {
    job: Job<F>,
    input: Input<F>,
    /// The names of ids, and the shingles of their documents.
    pub(super) names: Option<NameSpool>,
    pub(super) shingles: Option<ShingleSpool<'static>>,
    /// Memory for a decoded set.
    set: Vec<u64>,
    pushed: u64,
    /// The last fingerprint and id pushed.
    last: Option<(F, u64)>,
    /// Number of pushed records that have been reported.
    reading: Counter,
}

/// An index file that has no name yet: what a [`Builder`] writes to unless it is given a writer.
#[derive(Debug)]
pub struct IndexFile(AtomicFile);

enum Input<F: Fingerprint> {
    Plain(Sorter<F>),
    WithIds(Sorter<WithId<F>>),
}

type Push<F> = fn(&mut Core<F>, F) -> Result<(), BuildError>;
type PushWithId<F> = fn(&mut Core<F>, F, u64) -> Result<(), BuildError>;
type WriteTo<F> = fn(Core<F>, Output<'_>) -> Result<(Summary, FileId), BuildError>;

per_width! {
    compiled_push: Push = push;
    compiled_push_with_id: PushWithId = push_with_id;
    compiled_write: WriteTo = write;
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
        Self::start(Job::new(options, Some(path))?, IndexFile(output))
    }

    /// Sorts, compresses and writes everything; publishes the file once it is durable.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, the file exists by then, or the build is
    /// cancelled. The target is untouched then, unless the error is [`BuildError::is_in_place`].
    pub fn finish(self) -> Result<Summary, BuildError> {
        self.seal()?.publish()
    }

    /// As [`Builder::finish`], without publishing the file: for other files that contain its id, and are
    /// published together with it.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, or the build is cancelled. The
    /// target is untouched then.
    pub fn seal(self) -> Result<SealedIndex, BuildError> {
        let report = self.core.job.options.report.clone();
        SealedIndex::of(self.output.0, &report, |output| compiled_write()(self.core, output))
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
    /// let index = Index::<u64>::from_bytes(bytes)?;
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
        Self::start(Job::new(options, None)?, writer)
    }

    /// Sorts, compresses and writes everything, and flushes the writer. Nothing is written before that.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, the writer fails, or the build is
    /// cancelled. The writer may have a part of the index then.
    pub fn into_inner(self) -> Result<(W, Summary), BuildError> {
        let Self { core, mut output } = self;
        let (summary, _) = compiled_write()(core, Output::new(&mut output, None))?;
        Ok((output, summary))
    }
}

impl<F: Fingerprint, W> Builder<F, W> {
    fn start(job: Job<F>, output: W) -> Result<Self, BuildError> {
        let input = if job.options.ids { Input::WithIds(job.sorter()) } else { Input::Plain(job.sorter()) };
        let names = job.options.names.then(|| NameSpool::new(&job.temp_dir)).transpose()?;
        let shingles = job.options.shingles.then(|| ShingleSpool::new(&job.temp_dir)).transpose()?;
        let reading = job.options.silent_counter(Phase::Read);
        Ok(Self {
            core: Core { job, input, names, shingles, set: Vec::new(), pushed: 0, last: None, reading },
            output,
        })
    }

    /// Adds a fingerprint to an index without ids.
    ///
    /// # Errors
    /// When the index was to have ids; when fingerprints were to be sorted and this one is below the one before
    /// it; when memory or disk run out, or the build is cancelled.
    pub fn push(&mut self, fingerprint: F) -> Result<(), BuildError> {
        compiled_push()(&mut self.core, fingerprint)
    }

    /// Adds a fingerprint and one of its ids to an index with ids.
    ///
    /// # Errors
    /// When the index was to have none; otherwise as for [`Builder::push`].
    pub fn push_with_id(&mut self, fingerprint: F, id: u64) -> Result<(), BuildError> {
        compiled_push_with_id()(&mut self.core, fingerprint, id)
    }
}

fn push<F: Fingerprint>(core: &mut Core<F>, fingerprint: F) -> Result<(), BuildError> {
    core.check_order((fingerprint, 0))?;
    match &mut core.input {
        Input::Plain(sorter) => sorter.push_in(&core.job.pool, fingerprint, &core.reading)?,
        Input::WithIds(_) => return Err(BuildError::IdMissing),
    }
    core.count_push((fingerprint, 0))
}

fn push_with_id<F: Fingerprint>(core: &mut Core<F>, fingerprint: F, id: u64) -> Result<(), BuildError> {
    core.check_order((fingerprint, id))?;
    match &mut core.input {
        Input::WithIds(sorter) => {
            sorter.push_in(&core.job.pool, WithId { fingerprint, id }, &core.reading)?;
        }
        Input::Plain(_) => return Err(BuildError::IdUnexpected),
    }
    core.count_push((fingerprint, id))
}

fn write<F: Fingerprint>(core: Core<F>, output: Output<'_>) -> Result<(Summary, FileId), BuildError> {
    let Core { job, input, names, shingles, pushed, reading, .. } = core;
    reading.check()?;
    let columns = Columns {
        names: names.map(|names| Box::new(names) as _),
        shingles: shingles.map(|sets| Box::new(sets) as _),
    };
    match input {
        Input::Plain(sorter) => job.write(output, |job| job.pushed(sorter, pushed), columns),
        Input::WithIds(sorter) => job.write(output, |job| job.pushed(sorter, pushed), columns),
    }
}

impl<F: Fingerprint> Core<F> {
    #[inline]
    fn check_order(&self, pair: (F, u64)) -> Result<(), BuildError> {
        if self.job.options.sorted && self.last > Some(pair) {
            return Err(BuildError::Unsorted { number: self.pushed });
        }
        Ok(())
    }

    fn count_push(&mut self, pair: (F, u64)) -> Result<(), BuildError> {
        self.last = Some(pair);
        self.pushed += 1;
        if self.pushed.is_multiple_of(REPORT_EVERY) {
            self.reading.add(REPORT_EVERY)?;
        }
        Ok(())
    }
}

impl<F: Fingerprint> Job<F> {
    /// Takes the pushed records.
    fn sorter<R: Record<Fingerprint = F>>(&self) -> Sorter<R> {
        let sorter = Sorter::new(self.options.sort_memory(), &self.temp_dir);
        if self.options.sorted { sorter.of_sorted() } else { sorter }
    }

    /// Returns the tables of what has been pushed.
    fn pushed<R: Record<Fingerprint = F>>(
        &self,
        sorter: Sorter<R>,
        pushed: u64,
    ) -> Result<Pushed<'_, R>, BuildError> {
        self.options.progressed(Progress::new(Phase::Read, pushed, Some(pushed)))?;
        Pushed::new(sorter, &self.options, &self.temp_dir, pushed)
    }
}

impl<F: Fingerprint, W> fmt::Debug for Builder<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("options", &self.core.job.options)
            .field("pushed", &self.core.pushed)
            .finish_non_exhaustive()
    }
}

impl<F: Fingerprint, W> Builder<F, W> {
    /// Adds the name of an id to an index with names: ascending by id, each id once, before, between or after the
    /// fingerprints. Names may be any bytes, and equal.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().names(true))?;
    /// for (id, (fingerprint, name)) in (0..).zip([(0x00ff_u64, "first"), (0xff00, "second")]) {
    ///     builder.push_with_id(fingerprint, id)?;
    ///     builder.push_name(id, name)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// let names = index.names()?.expect("it has names");
    /// let id = index.ids(0xff00)?.next().expect("it is stored");
    /// assert_eq!(names.get(id)?, Some(&b"second"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index was to have no names, the name has more than [`MAX_NAME_BYTES`] bytes, the id does not come after
    /// the one before, or the disk is full.
    pub fn push_name(&mut self, id: u64, name: impl AsRef<[u8]>) -> Result<(), BuildError> {
        let name = name.as_ref();
        if name.len() > MAX_NAME_BYTES {
            return Err(BuildError::NameTooLong { id, bytes: name.len() });
        }
        self.push_stored_name(id, name)
    }

    /// As [`Builder::push_name`], for a name that is stored already: it may be longer.
    ///
    /// # Errors
    /// As for [`Builder::push_name`].
    #[doc(hidden)]
    pub fn push_stored_name(&mut self, id: u64, name: &[u8]) -> Result<(), BuildError> {
        let Some(names) = &mut self.core.names else {
            return Err(BuildError::ColumnUnexpected { column: IdColumn::Names });
        };
        names.push(id, name)
    }

    /// Adds the shingles of the document of an id to an index with shingles: hashes of
    /// [`BITS`](crate::shingles::BITS) bits, ascending, each once. Ids ascend as for [`Builder::push_name`].
    ///
    /// # Errors
    /// When the index was to have no shingles, they do not ascend or exceed their bits, the id does not come after the
    /// one before, or the disk is full.
    pub fn push_shingles(&mut self, id: u64, shingles: &[u64]) -> Result<(), BuildError> {
        let Some(column) = &mut self.core.shingles else {
            return Err(BuildError::ColumnUnexpected { column: IdColumn::Shingles });
        };
        column.push(id, shingles)
    }

    /// As [`Builder::push_shingles`], for shingles as [`encode`](crate::shingles::encode) returns them.
    ///
    /// # Errors
    /// As for [`Builder::push_shingles`].
    pub fn push_encoded_shingles(&mut self, id: u64, bytes: &[u8]) -> Result<(), BuildError> {
        let mut set = std::mem::take(&mut self.core.set);
        let is_set = shingles::decode(bytes, &mut set);
        let pushed =
            if is_set { self.push_shingles(id, &set) } else { Err(BuildError::InvalidShingles { id }) };
        self.core.set = set;
        pushed
    }
}
