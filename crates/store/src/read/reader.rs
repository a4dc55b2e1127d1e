//! Reading a store that another process may be writing to.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, Verified, VerifyOptions};

use crate::disk::lock::holder_and_status;
use crate::disk::{Disk, RealDisk};
use crate::error::Error;
use crate::health::Health;
use crate::maintenance::stats::StoreStats;
use crate::maintenance::verify::verify;
use crate::manifest::{self, Manifest};
use crate::read::seen::{LoggedRemovals, Seen};
use crate::read::snapshot::Snapshot;
use crate::segment::Opening;

/// How often the files of a store are read again because a writer has replaced them meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A store that is open for reading only. It takes no lock and changes nothing; any number of processes may have one,
/// also while another process writes. It shows what had been acknowledged when it was opened or refreshed last.
///
/// ```
/// use hamdex_store::{CreateOptions, Store, StoreOptions, StoreReader};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.store");
/// let store = Store::<u64>::create(&path, &CreateOptions::new(), StoreOptions::new())?;
/// store.insert(0x00ff, 1)?;
///
/// let mut reader = StoreReader::<u64>::open(&path)?;
/// assert!(reader.snapshot().contains(0x00ff)?);
/// store.insert(0xff00, 2)?;
/// assert!(!reader.snapshot().contains(0xff00)?);
/// reader.refresh()?;
/// assert_eq!(reader.snapshot().ids(0xff00)?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StoreReader<F: Fingerprint> {
    disk: Box<dyn Disk>,
    options: ReadOptions,
    seen: Seen<F>,
    /// Those in the logs that were seen; `None` after a failure, so that all is read anew.
    removed: Option<LoggedRemovals<F>>,
}

/// How a store is opened for reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    in_memory: bool,
}

impl ReadOptions {
    /// Files are mapped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the files of the store into memory of the process, in huge pages where the system has them, instead of
    /// mapping them: a query then waits for no storage, and damage to the storage meanwhile does no harm.
    #[must_use]
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    fn opening(self) -> Opening {
        Opening { in_memory: self.in_memory, is_checked: false }
    }
}

impl<F: Fingerprint> StoreReader<F> {
    /// Opens a store for reading.
    ///
    /// # Errors
    /// When it is no store, is damaged or holds another width, or the disk refuses it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, ReadOptions::new())
    }

    /// As [`StoreReader::open`], with options.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }

    /// As [`StoreReader::open_with`], on any disk.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    pub fn open_on(disk: impl Disk, options: ReadOptions) -> Result<Self, Error> {
        let mut removed = Vec::new();
        let opening = options.opening();
        let seen = steadily(&disk, |manifest| Seen::of(&disk, manifest, opening, &mut removed))?;
        Ok(Self { disk: Box::new(disk), options, seen, removed: Some(removed) })
    }

    /// Reads what has been written since: the end of the log, and files that have come meanwhile. What was flushed to a
    /// file or merged into another one is not read again.
    ///
    /// # Errors
    /// As for [`StoreReader::open`]; what was seen before is still there then.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let (disk, opening) = (&*self.disk, self.options.opening());
        let manifest = manifest::read(disk)?;
        if let Some(mut removed) = self.removed.take()
            && let Ok(refreshed) = self.seen.refreshed(disk, manifest, opening, &mut removed)
        {
            (self.seen, self.removed) = (refreshed, Some(removed));
            return Ok(());
        }
        // What it goes on from may have gone meanwhile.
        let mut removed = Vec::new();
        self.seen = steadily(disk, |manifest| Seen::of(disk, manifest, opening, &mut removed))?;
        self.removed = Some(removed);
        Ok(())
    }

    /// Whether [`StoreReader::refresh`] may find something new: a look at the manifest and at the length of the log. It
    /// may say so where a batch is being written that is not whole yet.
    ///
    /// # Errors
    /// When the manifest cannot be read, or the disk refuses it.
    pub fn has_changed(&self) -> Result<bool, Error> {
        self.seen.has_changed(&*self.disk, &manifest::read(&*self.disk)?)
    }

    /// The set as it was last seen, for as long as it is held.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(Arc::clone(&self.seen.view), Arc::clone(&self.seen.schema))
    }

    /// What the store held, and what that cost: see [`Store::stats`](crate::Store::stats).
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let health = holder_and_status(&*self.disk).map(|(holder, status)| Health::parse(holder, &status));
        StoreStats { health, ..StoreStats::of(&self.seen.manifest, &self.seen.view) }
    }

    /// Reads and checks all files of the store.
    ///
    /// # Errors
    /// The first damage that is found; when the disk refuses something.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, Error> {
        steadily(&*self.disk, |_| verify::<F>(&*self.disk, options))
    }
}

/// Reads the manifest, and what it names. If that fails and the manifest is another one by then, a writer has
/// replaced files meanwhile, and all is read again.
pub(crate) fn steadily<T>(
    disk: &dyn Disk,
    mut read: impl FnMut(Manifest) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut attempts = 0;
    loop {
        let manifest = manifest::read(disk)?;
        match read(manifest.clone()) {
            Err(_) if attempts < MAX_ATTEMPTS && manifest::read(disk)? != manifest => attempts += 1,
            outcome => return outcome,
        }
    }
}

impl<F: Fingerprint> fmt::Debug for StoreReader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("disk", &*self.disk).finish_non_exhaustive()
    }
}
