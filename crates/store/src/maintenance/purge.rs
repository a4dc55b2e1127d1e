//! Purge: no file holds removed pairs any longer.

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use hamdex::{Fingerprint, Progress, ProgressCallback};

use crate::disk::layout::{DAMAGED, DELETES, LOGS, SEGMENTS};
use crate::error::Error;
use crate::manifest;
use crate::store::Store;

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
        self.purge_with(|_| ControlFlow::Continue(()))
    }

    /// Purges the store with a progress callback, as [`Store::compact_with`].
    ///
    /// # Errors
    /// As for [`Store::purge`]; when the callback cancels it. Some removed pairs may be gone then, and all others are
    /// still removed.
    pub fn purge_with(
        &self,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<Purged, Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        // Logs name removed pairs, so they have to go even if the memtable is empty.
        inner.flush_all()?;
        let pairs = inner.rewrite_removed(&(Arc::new(report) as ProgressCallback))?;
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
