//! The state of every build, for any source of fingerprints.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hamdex_atomic_file::{AtomicFile, SealedFile, temporary_directory};

use crate::error::BuildError;
use crate::format::FileId;
use crate::memory::{BUILD_HEADROOM_BYTES, MIN_MEMORY, affordable};
use crate::progress::{Phase, Progress};
use crate::threads::{self, Pool};
use crate::writer::assemble::assemble;
use crate::writer::columns::Columns;
use crate::writer::options::BuildOptions;
use crate::writer::output::Output;
use crate::writer::summary::{SealedIndex, Summary};
use crate::writer::table_source::TableSource;
use crate::writer::temporary;
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
        drop(temporary::file(&temp_dir)?);
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
        let report = || self.options.report(Progress::new(Phase::Sync, 0, None));
        report()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let (hand_over, handed_over) = mpsc::sync_channel::<AtomicFile>(1);
        let sync = move || {
            if let Ok(file) = handed_over.recv() {
                // There is no receiver if the build was cancelled.
                let _ = sender.send(file.seal());
            }
        };
        // Without memory for a thread, or without a callback, the call is made here.
        let may_start = self.options.progress.has_callback() && threads::count(2).get() == 2;
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
