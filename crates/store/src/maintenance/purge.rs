//! What has been removed leaves the disk.

use std::io::ErrorKind;
use std::path::PathBuf;

use hamdex::Fingerprint;

use crate::disk::layout::{DAMAGED, DELETES, LOGS, SEGMENTS};
use crate::error::Error;
use crate::manifest;
use crate::store::Store;

/// What a purge has reached, and what not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// Pairs that files have lost.
    pub pairs: u64,
    /// Files that may still hold removed pairs: those that snapshots, backups and verifications of this process use, which
    /// go with the last of these, or at the next opening; and what a repair has kept aside, which nothing removes.
    pub held: Vec<PathBuf>,
}

impl<F: Fingerprint> Store<F> {
    /// Rewrites what is needed so that no file of the store, logs included, holds a pair that was removed before
    /// this was called.
    ///
    /// What it cannot reach: files that open snapshots use ([`Purged::held`]), and that other processes have open;
    /// backups; other links of a file that was ingested; what a file system or a device keeps of deleted files.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged.
    pub fn purge(&self) -> Result<Purged, Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        // Logs say what was removed. Even if nothing recent is left, they have to go.
        inner.flush_logs()?;
        let pairs = inner.rewrite_removed()?;
        let held = self.remove_unreferenced()?;
        for directory in [SEGMENTS, DELETES, LOGS] {
            let path = inner.disk.path(directory);
            inner.disk.sync_directory(directory).map_err(Error::io("sync it", path))?;
        }
        Ok(Purged { pairs, held })
    }

    /// Removes logs and removals that are still there although nothing names them, since an earlier removal failed.
    /// Returns the files that have to stay, or are no part of the store any more.
    fn remove_unreferenced(&self) -> Result<Vec<PathBuf>, Error> {
        let disk = &*self.inner().disk;
        // No file gets its name in a manifest meanwhile.
        let current = self.inner().lock_manifest();
        let mut held = Vec::new();
        for name in manifest::leftovers(disk, current.manifest())?.own {
            let path = disk.path(&name);
            if name.starts_with(SEGMENTS) || self.inner().pins.holds(&name) {
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
