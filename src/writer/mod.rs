//! Building an index: fingerprints in any order, in bounded memory, one file out.
//!
//! - [`options`]: the options of a build
//! - [`builder`]: fingerprints are pushed, an index comes out
//! - [`record`]: the sorted records
//! - [`sort`], [`spill`]: sorting within a memory limit
//! - [`assemble`]: from tables to a file, front to back
//! - [`tables_writer`]: the code, the blocks, the keys and the filter of a table
//! - [`ids`]: the ids of table 0, and the tables of look-ups
//! - [`directory`]: the ids of names and of documents, and where each entry ends
//! - [`columns`], [`pairs`]: the names of ids, and the shingles of documents
//! - [`sections`]: the sections of a file, one after the other, and their output
//!
//! The output is an [`AtomicFile`](hamdex_atomic_file::AtomicFile): its path has no file until it is complete.

mod assemble;
mod builder;
mod columns;
mod directory;
mod ids;
mod options;
mod pairs;
mod record;
mod sections;
mod sort;
mod spill;
mod tables_writer;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use assemble::assemble;
pub use builder::Builder;
pub(crate) use columns::{Columns, NameSpool};
pub(crate) use directory::{ColumnSource, DirectorySpool};
pub use options::BuildOptions;
pub(crate) use pairs::{PairSource, ShingleSpool, digested};
pub(crate) use record::{Record, Select, TableSource, Visit, WithId};
use sections::Output;
pub(crate) use sort::{OneByOne, Sorted, Sorter};

use crate::error::BuildError;
use crate::format::FileId;
use crate::memory::{BUILD_HEADROOM_BYTES, MIN_MEMORY, affordable};
use crate::progress::{Phase, Progress};
use crate::threads::{self, Pool};
use hamdex_atomic_file::{AtomicDirectory, AtomicFile, SealedFile, temporary_directory};
use hamdex_fingerprint::Fingerprint;

/// Interval of cancellation checks while a file is synced.
const SYNC_POLL: Duration = Duration::from_millis(20);

/// Options that have been checked, and what follows from them.
pub(crate) struct Job<F> {
    pub(crate) options: BuildOptions<F>,
    pub(crate) temp_dir: PathBuf,
    pub(crate) pool: Pool,
}

impl<F: Fingerprint> Job<F> {
    /// Checks what can be checked before there is any work. `output` is the file to write, if it is one.
    pub(crate) fn new(options: BuildOptions<F>, output: Option<&Path>) -> Result<Self, BuildError> {
        let temp_dir = options.temp_dir.clone().unwrap_or_else(|| temporary_directory(output));
        // Better now than after an hour, when memory no longer suffices.
        drop(spill::file(&temp_dir)?);
        let least = options.memory.min(MIN_MEMORY) + BUILD_HEADROOM_BYTES;
        let pool = Pool::leaving(options.threads, least).map_err(|source| BuildError::Threads { source })?;
        let memory = affordable(options.memory, BUILD_HEADROOM_BYTES)
            .map_err(|bytes| BuildError::OutOfMemory { bytes })?;
        Ok(Self { options: options.memory(memory), temp_dir, pool })
    }

    /// Writes an index to a file that has no name yet. `columns` are those of its ids.
    pub(crate) fn seal<'j, T: TableSource<F>>(
        &'j self,
        mut file: AtomicFile,
        tables: impl FnOnce(&'j Self) -> Result<T, BuildError> + Send,
        columns: Columns<'_>,
    ) -> Result<SealedIndex, BuildError> {
        let path = file.path().to_owned();
        let (summary, file_id) = self.assemble(Output::new(&mut file, Some(&path)), tables, columns)?;
        Ok(SealedIndex { summary, file_id, file: self.sync(file)? })
    }

    /// Syncs a file. The system call cannot be interrupted; so a thread of its own makes it if the build can be
    /// cancelled, and is abandoned if it is. The file has no name, and is gone when the call ends.
    fn sync(&self, file: AtomicFile) -> Result<SealedFile, BuildError> {
        let report = || self.options.progressed(Progress::new(Phase::Sync, 0, None));
        report()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let (hand_over, handed_over) = mpsc::sync_channel::<AtomicFile>(1);
        let sync = move || {
            if let Ok(file) = handed_over.recv() {
                // There is no receiver if the build was cancelled.
                let _ = sender.send(file.seal());
            }
        };
        // Without memory for a thread, or without a callback and a cancellation, the call is made here.
        let may_start = self.options.report.is_watched() && threads::count(2).get() == 2;
        let thread = thread::Builder::new().name("hamdex-sync".to_owned());
        if !may_start || thread.spawn(sync).is_err() {
            return Ok(file.seal()?);
        }
        hand_over.send(file).expect("the thread waits for it");
        loop {
            match receiver.recv_timeout(SYNC_POLL) {
                Ok(sealed) => return Ok(sealed?),
                Err(RecvTimeoutError::Timeout) => report()?,
                Err(RecvTimeoutError::Disconnected) => unreachable!("what is sent comes before the end"),
            }
        }
    }

    /// Writes an index to a writer.
    pub(crate) fn write<'j, T: TableSource<F>>(
        &'j self,
        writer: &mut (dyn Write + Send),
        tables: impl FnOnce(&'j Self) -> Result<T, BuildError> + Send,
        columns: Columns<'_>,
    ) -> Result<Summary, BuildError> {
        Ok(self.assemble(Output::new(writer, None), tables, columns)?.0)
    }

    fn assemble<'j, T: TableSource<F>>(
        &'j self,
        output: Output<'_>,
        tables: impl FnOnce(&'j Self) -> Result<T, BuildError> + Send,
        columns: Columns<'_>,
    ) -> Result<(Summary, FileId), BuildError> {
        self.pool.install(|| assemble(&self.options, &self.temp_dir, output, tables(self)?, columns))
    }
}

/// The summary of a build.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Fingerprints pushed, or read from a source or from the indexes that are merged, repeats counted.
    pub pushed: u64,
    /// Distinct fingerprints stored.
    pub fingerprints: u64,
    /// Ids stored, a pair of fingerprint and id counted once.
    pub ids: u64,
    /// The name of the design.
    pub design: String,
    /// Bytes of the file.
    pub bytes: u64,
}

/// An index file that is complete and durable, and has no name yet: made by
/// [`Builder::seal`](crate::Builder::seal). Dropped, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "an index that is not published is gone"]
pub struct SealedIndex {
    summary: Summary,
    file_id: FileId,
    file: SealedFile,
}

impl SealedIndex {
    /// Returns the id of the file, by which other files can refer to it.
    #[must_use]
    pub fn file_id(&self) -> FileId {
        self.file_id
    }

    /// Publishes the file under its path.
    ///
    /// # Errors
    /// When the file exists by then, or cannot be named. The target is untouched then, unless
    /// the error is [`BuildError::is_in_place`].
    pub fn publish(self) -> Result<Summary, BuildError> {
        self.file.publish()?;
        Ok(self.summary)
    }

    /// Returns the summary of a build.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Gives the file a name in a directory that is not in place yet, instead of the name that it was built for: so
    /// that files which belong together appear together.
    ///
    /// # Errors
    /// When the name is taken, or cannot be given.
    pub fn put_into(
        self,
        directory: &AtomicDirectory,
        name: impl AsRef<Path>,
    ) -> Result<Summary, BuildError> {
        directory.take(name, self.file)?;
        Ok(self.summary)
    }
}
