//! Reading a store that another process may write to.

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

/// Maximum number of retries after a writer has replaced files meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A store that is open for reading only. It takes no lock and changes nothing. Any number of processes may have one,
/// also while another process writes. It has every write that was acknowledged before it was opened or last refreshed.
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
    /// The removals in the live logs; `None` after a failure, so that everything is read again.
    removed: Option<LoggedRemovals<F>>,
}

/// Options for opening a store for reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadOptions {
    in_memory: bool,
}

impl ReadOptions {
    /// Returns the defaults: files are mapped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether segments are read into process memory, in huge pages if the system has them, instead of mapped.
    /// Queries never wait for storage then, and later damage to the files does no harm.
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
    /// When the directory is not a store, is damaged or has another width, or the disk refuses an operation.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, ReadOptions::new())
    }

    /// Opens a store for reading with options.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, Error> {
        Self::open_on(RealDisk::new(path), options)
    }

    /// Opens a store for reading on any disk.
    ///
    /// # Errors
    /// As for [`StoreReader::open`].
    #[doc(hidden)]
    pub fn open_on(disk: impl Disk, options: ReadOptions) -> Result<Self, Error> {
        let mut removed = Vec::new();
        let opening = options.opening();
        let seen =
            retry_if_manifest_changed(&disk, |manifest| Seen::of(&disk, manifest, opening, &mut removed))?;
        Ok(Self { disk: Box::new(disk), options, seen, removed: Some(removed) })
    }

    /// Reads later writes: the end of the log, and new segments. It reads no pair again that was flushed or merged. If
    /// the path leads to another store by now, it opens that.
    ///
    /// # Errors
    /// As for [`StoreReader::open`]. The previous view stays in use then.
    pub fn refresh(&mut self) -> Result<(), Error> {
        if check_held(&*self.disk).is_err() {
            return self.follow();
        }
        let (disk, opening) = (&*self.disk, self.options.opening());
        let manifest = manifest::read(disk)?;
        if let Some(mut removed) = self.removed.take()
            && let Ok(refreshed) = self.seen.refreshed(disk, manifest, opening, &mut removed)
        {
            (self.seen, self.removed) = (refreshed, Some(removed));
            return Ok(());
        }
        // Files of the previous view may have been removed meanwhile.
        let mut removed = Vec::new();
        self.seen =
            retry_if_manifest_changed(disk, |manifest| Seen::of(disk, manifest, opening, &mut removed))?;
        self.removed = Some(removed);
        Ok(())
    }

    /// Opens the store to which the path leads now.
    fn follow(&mut self) -> Result<(), Error> {
        let (disk, opening) = (self.disk.opened_anew(), self.options.opening());
        let mut removed = Vec::new();
        self.seen =
            retry_if_manifest_changed(&*disk, |manifest| Seen::of(&*disk, manifest, opening, &mut removed))?;
        (self.disk, self.removed) = (disk, Some(removed));
        Ok(())
    }

    /// Whether [`StoreReader::refresh`] may find later writes, by the manifest and the length of the log. It may return
    /// true for a batch that is only partly written.
    ///
    /// # Errors
    /// When the manifest cannot be read, or the disk refuses an operation.
    pub fn has_changed(&self) -> Result<bool, Error> {
        if check_held(&*self.disk).is_err() {
            // Another store is there, if there is one.
            return manifest::read(&*self.disk.opened_anew()).map(|_| true);
        }
        self.seen.has_changed(&*self.disk, &manifest::read(&*self.disk)?)
    }

    /// Returns a snapshot of the current view.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<F> {
        Snapshot::new(Arc::clone(&self.seen.view), Arc::clone(&self.seen.schema))
    }

    /// Returns counts and costs of the store: see [`Store::stats`](crate::Store::stats).
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let health = holder_and_status(&*self.disk).map(|(holder, status)| Health::parse(holder, &status));
        StoreStats { health, ..StoreStats::of(&self.seen.manifest, &self.seen.view) }
    }

    /// Reads and checks all files of the store.
    ///
    /// # Errors
    /// The first damage that is found; when the disk refuses an operation.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, Error> {
        retry_if_manifest_changed(&*self.disk, |_| verify::<F>(&*self.disk, options))
    }
}

/// Reads the manifest and calls `read` with it. Retries if that fails and a writer has replaced the manifest meanwhile.
pub(crate) fn retry_if_manifest_changed<T>(
    disk: &dyn Disk,
    mut read: impl FnMut(Manifest) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut attempts = 0;
    let mut attempt = || loop {
        let manifest = manifest::read(disk)?;
        match read(manifest.clone()) {
            Err(_) if attempts < MAX_ATTEMPTS && manifest::read(disk)? != manifest => attempts += 1,
            outcome => return outcome,
        }
    };
    // Files of a directory that was removed are not damaged.
    attempt().or_else(|error| check_held(disk).and(Err(error)))
}

/// Checks that the path of a store still leads to the directory that was opened.
fn check_held(disk: &dyn Disk) -> Result<(), Error> {
    disk.check_held().map_err(Error::io("look for it", disk.path("")))
}

impl<F: Fingerprint> fmt::Debug for StoreReader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReader").field("disk", &*self.disk).finish_non_exhaustive()
    }
}
