//! Building an index: fingerprints in any order, in bounded memory, one file out.
//!
//! - [`options`]: what can be chosen
//! - [`record`]: what is sorted
//! - [`sort`], [`spill`]: sorting within a memory limit
//! - [`census`]: what is known of a table before its code is chosen
//! - [`assemble`]: from sorted records to the sections of a file, front to back
//! - [`temporary`]: files without a name
//!
//! The output is an [`AtomicFile`]: nothing is under its name until it is whole.

mod assemble;
mod census;
mod options;
mod record;
mod sort;
mod spill;
mod summary;
mod temporary;

use std::path::{Path, PathBuf};

use hamdex_atomic_file::{AtomicFile, temporary_directory};

pub use options::{BuildOptions, DesignChoice};
pub use summary::{SealedIndex, Summary};

use crate::build::assemble::Assembly;
use crate::build::record::WithId;
use crate::build::sort::Sorter;
use crate::error::BuildError;
use crate::memory::{BUILD_HEADROOM_BYTES, affordable};
use crate::progress::{Phase, Progress};
use crate::threads::Pool;
use hamdex_fingerprint::Fingerprint;

/// Fingerprints between two reports while they are taken in.
const REPORT_EVERY: u64 = 1 << 16;

/// Builds an index file.
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
pub struct Builder<F: Fingerprint> {
    options: BuildOptions<F>,
    output: AtomicFile,
    temp_dir: PathBuf,
    pool: Pool,
    input: Input<F>,
    pushed: u64,
}

enum Input<F: Fingerprint> {
    Plain(Sorter<F>),
    /// With the least and the greatest id so far.
    WithIds(Sorter<WithId<F>>, Option<(u64, u64)>),
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
        let temp_dir = options.temp_dir.clone().unwrap_or_else(|| temporary_directory(Some(path)));
        // Better now than after an hour, when memory no longer suffices.
        drop(temporary::file(&temp_dir)?);
        let pool = Pool::new(options.threads).map_err(|source| BuildError::Threads { source })?;
        let memory = affordable(options.memory, BUILD_HEADROOM_BYTES)
            .map_err(|bytes| BuildError::OutOfMemory { bytes })?;
        let options = options.memory(memory);
        let memory = options.sort_memory();
        let input = if options.ids {
            Input::WithIds(Sorter::new(memory, &temp_dir), None)
        } else {
            Input::Plain(Sorter::new(memory, &temp_dir))
        };
        Ok(Self { options, output, temp_dir, pool, input, pushed: 0 })
    }

    /// Adds a fingerprint to an index without ids.
    ///
    /// # Errors
    /// When the index was to have ids, or memory or disk run out.
    pub fn push(&mut self, fingerprint: F) -> Result<(), BuildError> {
        match &mut self.input {
            Input::Plain(sorter) => sorter.push_in(&self.pool, fingerprint)?,
            Input::WithIds(..) => {
                return Err(BuildError::Ids("this index has ids: give one with each fingerprint"));
            }
        }
        self.count_push();
        Ok(())
    }

    /// Adds a fingerprint and one of its ids to an index with ids.
    ///
    /// # Errors
    /// When the index was to have none, or memory or disk run out.
    pub fn push_with_id(&mut self, fingerprint: F, id: u64) -> Result<(), BuildError> {
        match &mut self.input {
            Input::WithIds(sorter, range) => {
                let (least, most) = range.unwrap_or((id, id));
                *range = Some((least.min(id), most.max(id)));
                sorter.push_in(&self.pool, WithId { fingerprint, id })?;
            }
            Input::Plain(_) => {
                return Err(BuildError::Ids("this index has no ids: they are an option of the build"));
            }
        }
        self.count_push();
        Ok(())
    }

    fn count_push(&mut self) {
        self.pushed += 1;
        if self.pushed.is_multiple_of(REPORT_EVERY) {
            self.options.report(Progress::new(Phase::Read, self.pushed, None));
        }
    }

    /// Sorts, compresses and writes everything; gives the file its name when it is durable.
    ///
    /// # Errors
    /// When memory or disk run out, the design is refused, or the file has come to exist meanwhile.
    /// The target is untouched then, unless the error is [`BuildError::is_in_place`].
    pub fn finish(self) -> Result<Summary, BuildError> {
        self.seal()?.publish()
    }

    /// Does all that [`Builder::finish`] does but give the file its name: for files beside the index that
    /// must know its id, and are to appear together with it.
    ///
    /// # Errors
    /// When memory or disk run out, or the design is refused. The target is untouched then.
    pub fn seal(self) -> Result<SealedIndex, BuildError> {
        let Self { options, output, temp_dir, pool, input, pushed } = self;
        options.report(Progress::new(Phase::Read, pushed, Some(pushed)));
        let mut sealed = pool.install(|| {
            let assembly = Assembly::new(options, output, temp_dir);
            match input {
                Input::Plain(sorter) => assembly.plain(sorter),
                Input::WithIds(sorter, range) => assembly.with_ids(sorter, range.unwrap_or((0, 0))),
            }
        })?;
        sealed.summary.pushed = pushed;
        Ok(sealed)
    }
}
