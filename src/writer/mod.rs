//! Building an index: fingerprints in any order, in bounded memory, one file out.
//!
//! - [`options`]: the options of a build
//! - [`builder`]: fingerprints are pushed, an index comes out
//! - [`sort`], [`spill`]: sorting within a memory limit
//! - [`assemble`]: from tables to a file, front to back
//! - [`tables_writer`]: the code, the blocks, the keys and the filter of a table
//! - [`ids`]: the ids of table 0, and the tables of look-ups
//! - [`directory`]: the ids of names and of documents, and where each entry ends; the names
//! - [`pairs`]: the shingles of documents
//! - [`sections`]: the sections of a file, one after the other, and their output
//!
//! This file has the records that are sorted, the source of tables, and the end of a build.
//! The output is an [`AtomicFile`](hamdex_atomic_file::AtomicFile): its path has no file until it is complete.

mod assemble;
mod builder;
mod directory;
mod ids;
mod options;
mod pairs;
mod sections;
mod sort;
mod spill;
mod tables_writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

pub(crate) use assemble::Columns;
use assemble::assemble;
pub use builder::Builder;
use byteorder::{ByteOrder, LittleEndian};
pub(crate) use directory::{ColumnSource, DirectorySpool, NameSpool};
pub use options::BuildOptions;
pub(crate) use pairs::{PairSource, ShingleSpool, digested};
pub(crate) use sections::Output;
pub(crate) use sort::{OneByOne, Sorted, Sorter};

use crate::digest::SetDigest;
use crate::error::BuildError;
use crate::format::FileId;
use crate::memory::{BUILD_HEADROOM_BYTES, MIN_MEMORY, affordable};
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase, Progress, Report, Stopped};
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
        let pool = Pool::new(options.threads, least).map_err(|source| BuildError::Threads { source })?;
        let memory = affordable(options.memory, BUILD_HEADROOM_BYTES)
            .map_err(|bytes| BuildError::OutOfMemory { bytes })?;
        Ok(Self { options: options.memory(memory), temp_dir, pool })
    }

    /// Writes an index. `columns` are those of its ids.
    pub(crate) fn write<'j, T: TableSource<F>>(
        &'j self,
        output: Output<'_>,
        tables: impl FnOnce(&'j Self) -> Result<T, BuildError> + Send,
        columns: Columns<'_>,
    ) -> Result<(Summary, FileId), BuildError> {
        self.pool.install(|| assemble(&self.options, &self.temp_dir, output, tables(self)?, columns))
    }
}

/// Syncs a file. The system call cannot be interrupted; so a thread of its own makes it if the build can be
/// cancelled, and is abandoned if it is. The file has no name, and is gone when the call ends.
fn sync(file: AtomicFile, report: &Report) -> Result<SealedFile, BuildError> {
    let progressed = || report.progressed(Progress::new(Phase::Sync, 0, None));
    progressed()?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let (hand_over, handed_over) = mpsc::sync_channel::<AtomicFile>(1);
    let sync = move || {
        if let Ok(file) = handed_over.recv() {
            // There is no receiver if the build was cancelled.
            let _ = sender.send(file.seal());
        }
    };
    // Without memory for a thread, or without a callback and a cancellation, the call is made here.
    let may_start = report.is_watched() && threads::count(2).get() == 2;
    let thread = thread::Builder::new().name("hamdex-sync".to_owned());
    if !may_start || thread.spawn(sync).is_err() {
        return Ok(file.seal()?);
    }
    hand_over.send(file).expect("the thread waits for it");
    loop {
        match receiver.recv_timeout(SYNC_POLL) {
            Ok(sealed) => return Ok(sealed?),
            Err(RecvTimeoutError::Timeout) => progressed()?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("what is sent comes before the end"),
        }
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
    /// Seals a file that `write` writes.
    pub(crate) fn of(
        mut file: AtomicFile,
        report: &Report,
        write: impl FnOnce(Output<'_>) -> Result<(Summary, FileId), BuildError>,
    ) -> Result<Self, BuildError> {
        let path = file.path().to_owned();
        let (summary, file_id) = write(Output::new(&mut file, Some(&path)))?;
        Ok(Self { summary, file_id, file: sync(file, report)? })
    }

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

/// Records between cancellation checks.
const PIECE: usize = 1 << 20;

/// Something that is sorted by fingerprint, first of all.
pub(crate) trait Record: Copy + Ord + Send + Sync + 'static {
    /// The type of its fingerprint.
    type Fingerprint: Fingerprint;

    /// Bytes when spilled.
    const BYTES: usize;

    /// Bytes of memory that it takes while a table is sorted and the next one prepared.
    const MEMORY_BYTES: usize;

    fn fingerprint(&self) -> Self::Fingerprint;

    /// Returns its id, if it has one.
    fn id(&self) -> Option<u64>;

    fn write(&self, bytes: &mut [u8]);

    fn read(bytes: &[u8]) -> Self;

    fn digest(&self, digest: &mut SetDigest);

    /// Returns the distinct fingerprints of sorted records.
    fn into_fingerprints(records: Vec<Self>, done: &Counter) -> Result<Vec<Self::Fingerprint>, Stopped>;
}

impl<F: Fingerprint> Record for F {
    type Fingerprint = F;
    const BYTES: usize = F::BYTES;
    const MEMORY_BYTES: usize = size_of::<F>();

    fn fingerprint(&self) -> F {
        *self
    }

    fn id(&self) -> Option<u64> {
        None
    }

    fn write(&self, bytes: &mut [u8]) {
        self.write_le(bytes);
    }

    fn read(bytes: &[u8]) -> Self {
        F::read_le(bytes)
    }

    fn digest(&self, digest: &mut SetDigest) {
        digest.add(*self);
    }

    fn into_fingerprints(records: Vec<Self>, _: &Counter) -> Result<Vec<Self>, Stopped> {
        Ok(records)
    }
}

/// A fingerprint and one of its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WithId<F> {
    pub(crate) fingerprint: F,
    pub(crate) id: u64,
}

impl<F: Fingerprint> Record for WithId<F> {
    type Fingerprint = F;
    const BYTES: usize = F::BYTES + 8;
    const MEMORY_BYTES: usize = size_of::<Self>() + size_of::<F>();

    fn fingerprint(&self) -> F {
        self.fingerprint
    }

    fn id(&self) -> Option<u64> {
        Some(self.id)
    }

    fn write(&self, bytes: &mut [u8]) {
        self.fingerprint.write_le(bytes);
        LittleEndian::write_u64(&mut bytes[F::BYTES..], self.id);
    }

    fn read(bytes: &[u8]) -> Self {
        Self { fingerprint: F::read_le(bytes), id: LittleEndian::read_u64(&bytes[F::BYTES..]) }
    }

    fn digest(&self, digest: &mut SetDigest) {
        digest.add_pair(self.fingerprint, self.id);
    }

    fn into_fingerprints(records: Vec<Self>, done: &Counter) -> Result<Vec<F>, Stopped> {
        let mut fingerprints = Vec::with_capacity(records.len());
        for piece in records.chunks(PIECE) {
            done.check()?;
            for record in piece {
                if fingerprints.last() != Some(&record.fingerprint) {
                    fingerprints.push(record.fingerprint);
                }
            }
        }
        Ok(fingerprints)
    }
}

/// Takes a batch.
pub(crate) type Visit<'v, R> = dyn FnMut(&[R]) -> Result<(), BuildError> + Send + 'v;

/// A set of records: for each table its values in ascending order, any number of times.
pub(crate) trait TableSource<F: Fingerprint>: Send {
    /// The records of table 0.
    type Record: Record<Fingerprint = F>;

    /// Returns the number of records read for these, repeats counted.
    fn read(&self) -> u64;

    /// Delivers all records, strictly ascending, in batches.
    fn records(&mut self, visit: &mut Visit<'_, Self::Record>) -> Result<(), BuildError>;

    /// Switches to a later table; earlier ones become unavailable.
    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError>;

    /// Delivers the values of the selected table, strictly ascending, in batches.
    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError>;
}

/// A table other than the first.
#[derive(Clone, Copy)]
pub(crate) struct Select<'a, F> {
    pub(crate) number: usize,
    /// Number of tables.
    pub(crate) tables: usize,
    pub(crate) permutation: &'a Permutation<F>,
    /// Distinct fingerprints.
    pub(crate) fingerprints: u64,
}
