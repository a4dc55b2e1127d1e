//! What has been removed leaves the disk.

use std::path::PathBuf;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::error::Error;
use crate::layout::{self, DELETES, LOGS, SEGMENTS};
use crate::store::Store;

/// What a purge has reached, and what not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// Pairs that files have lost.
    pub pairs: u64,
    /// Files that still hold removed pairs, as snapshots of this process use them: they go with the last of these.
    pub held: Vec<PathBuf>,
}

impl<F: Fingerprint, D: Disk> Store<F, D> {
    /// Rewrites what is needed so that no file of the store, logs included, holds a pair that was removed before
    /// this was called.
    ///
    /// What it cannot reach: files that open snapshots use ([`Purged::held`]), and that other processes have open;
    /// backups; other links of a file that was ingested; what a file system or a device keeps of deleted files.
    ///
    /// # Errors
    /// When the disk refuses it, or a file is damaged.
    pub fn purge(&self) -> Result<Purged, Error> {
        let shared = self.shared();
        shared.check_process()?;
        // Logs say what was removed. Even if nothing recent is left, they have to go.
        shared.freeze_always()?;
        while shared.flush_oldest()? {}
        let affected: Vec<u64> = {
            let state = shared.state.load();
            let removed = state.segments.iter().filter(|live| !live.removed.is_empty());
            removed.map(|live| live.segment.number).collect()
        };
        let mut pairs = 0;
        for &number in &affected {
            pairs += shared.rewrite(number)?;
        }
        for directory in [SEGMENTS, DELETES, LOGS] {
            let path = shared.disk.path(directory);
            shared.disk.sync_directory(directory).map_err(Error::io("sync it", path))?;
        }
        let mut held = Vec::new();
        for number in affected {
            let name = layout::segment(number);
            let path = shared.disk.path(&name);
            if shared.disk.exists(&name).map_err(Error::io("look for it", &path))? {
                held.push(path);
            }
        }
        Ok(Purged { pairs, held })
    }
}
