//! Work on a store as a whole.
//!
//! - [`verify`]: reading and checking everything
//! - [`backup`]: backups and checkpoints, consistent copies
//! - [`ingest`]: adding a file that was built elsewhere
//! - [`repair`]: salvaging a damaged store
//! - [`inspect`]: the parts of a store, whatever its width; counts and costs
//!
//! This file has flushes, merges and purges on request. After a purge no file holds removed pairs any longer.

pub(crate) mod backup;
mod ingest;
pub(crate) mod inspect;
pub(crate) mod repair;
pub(crate) mod verify;

use std::io::ErrorKind;
use std::path::PathBuf;

use hamdex::{Fingerprint, Report};

use crate::disk::layout::{DAMAGED, DELETES, LOGS, SEGMENTS};
use crate::error::Error;
use crate::manifest;
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Flushes the memtables to segments. Every write before this call is durable when it returns. It waits for merges
    /// if there are too many segments.
    ///
    /// # Errors
    /// When the disk refuses an operation. Nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()
    }

    /// Merges the segments of the time of this call until no merge of them is due, as background merges do when nothing
    /// is written for a while. Pairs in memory stay there, unless memory was full. It merges even if merges are paused
    /// or disabled, and returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn settle(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_frozen()?;
        self.inner().merge_until_settled()
    }

    /// Merges everything that was written before this call into one segment, without the removed pairs. Many segments
    /// are merged in steps. It returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn compact(&self) -> Result<(), Error> {
        self.compact_with(&Report::new())
    }

    /// Compacts the store with a progress callback, which any thread may call, and a cancellation: see [the
    /// engine](hamdex#threads-memory-progress).
    ///
    /// ```
    /// use hamdex::Report;
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.store");
    /// let store = Store::<u64>::create(path, &CreateOptions::new(), StoreOptions::new())?;
    /// store.insert(0x00ff, 1)?;
    /// store.flush()?;
    /// store.insert(0xff00, 2)?;
    /// let report = Report::new().progress(|progress| {
    ///     println!("{:?}: {} of {:?}", progress.phase, progress.done, progress.total);
    /// });
    /// store.compact_with(&report)?;
    /// assert_eq!(store.stats().segments.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::compact`]; when it is cancelled. Merges that have ended stay.
    pub fn compact_with(&self, report: &Report) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()?;
        self.inner().merge_all(report)
    }

    /// Pauses or resumes background merges. While they are paused, the number of segments is unbounded
    /// ([`Health::merges`](crate::health::Health::merges)).
    pub fn pause_merges(&self, is_paused: bool) {
        self.inner().pause_merges(is_paused);
    }
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// Removed pairs that were dropped from segments.
    pub pairs: u64,
    /// Files that may still hold removed pairs. Those in use by snapshots, backups and verifications of this process
    /// are removed with the last of these, or when the store is opened next. Files that a repair has kept aside stay.
    pub held: Vec<PathBuf>,
}

impl<F: Fingerprint> Store<F> {
    /// Rewrites files until none of the store, logs included, holds a pair that was removed before this call.
    ///
    /// It cannot reach files that open snapshots ([`Purged::held`]) or other processes use, backups, checkpoints, the
    /// originals of ingested files, and the remains of deleted files in the file system or the device.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged.
    pub fn purge(&self) -> Result<Purged, Error> {
        self.purge_with(&Report::new())
    }

    /// Purges the store with a progress callback and a cancellation, as [`Store::compact_with`].
    ///
    /// # Errors
    /// As for [`Store::purge`]; when it is cancelled. Some removed pairs may be gone then, and all others are
    /// still removed.
    pub fn purge_with(&self, report: &Report) -> Result<Purged, Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        // Logs name removed pairs, so they have to go even if the memtable is empty.
        inner.flush_all()?;
        let pairs = inner.rewrite_removed(report)?;
        let held = self.remove_unreferenced()?;
        for directory in [SEGMENTS, DELETES, LOGS] {
            let path = inner.disk.path(directory);
            inner.disk.sync_directory(directory).map_err(Error::io("sync it", path))?;
        }
        Ok(Purged { pairs, held })
    }

    /// Removes logs and removals files that no manifest names, which earlier failures have left. Returns the files that
    /// have to stay, and the ones that a repair has kept aside.
    fn remove_unreferenced(&self) -> Result<Vec<PathBuf>, Error> {
        let disk = &*self.inner().disk;
        // The manifest cannot change meanwhile.
        let current = self.inner().lock_manifest();
        current.check()?;
        let mut held = Vec::new();
        for name in manifest::leftovers(disk, current.manifest())?.own {
            let path = disk.path(&name);
            if name.starts_with(SEGMENTS) || self.inner().stale_files.holds(&name) {
                held.push(path);
            } else {
                disk.remove(&name).map_err(Error::io("remove it", path))?;
            }
        }
        match disk.list(DAMAGED) {
            Ok(names) => held.extend(names.iter().map(|name| disk.path(&format!("{DAMAGED}/{name}")))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list it", disk.path(DAMAGED))(error)),
        }
        Ok(held)
    }
}
