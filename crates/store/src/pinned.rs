//! One moment of the files of a store, for whoever reads them for long.

use std::sync::Arc;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::error::Error;
use crate::log::Sealed;
use crate::manifest::Manifest;
use crate::shared::Shared;
use crate::state::State;

/// One moment of the files of a store, all of which stay as long as this is held.
pub(crate) struct Pinned<'s, F: Fingerprint, D: Disk> {
    shared: &'s Shared<F, D>,
    pub(crate) manifest: Arc<Manifest>,
    /// Where the logs end: everything before is durable.
    pub(crate) end: Sealed,
    /// Keeps the segments.
    _state: Arc<State<F, D>>,
}

impl<F: Fingerprint, D: Disk> Shared<F, D> {
    /// Keeps all files of this moment, with everything written before.
    ///
    /// # Errors
    /// When the disk refuses to sync the log.
    pub(crate) fn pin(&self) -> Result<Pinned<'_, F, D>, Error> {
        // Most of the log, without keeping writers waiting.
        self.sync_beside()?;
        // Manifest and state belong together while nothing is published.
        let _publisher = self.publisher();
        let end = {
            let mut writer = self.writer();
            writer.sync()?;
            writer.log.sealed()
        };
        self.pins.pin();
        Ok(Pinned { shared: self, manifest: self.manifest.load_full(), end, _state: self.state.load_full() })
    }
}

impl<F: Fingerprint, D: Disk> Drop for Pinned<'_, F, D> {
    fn drop(&mut self) {
        self.shared.remove_unneeded(self.shared.pins.unpin());
    }
}
