//! One moment of the files of a store, for whoever reads them for long.

use std::sync::Arc;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::inner::StoreInner;
use crate::log::Sealed;
use crate::manifest::Manifest;
use crate::view::View;

/// One moment of the files of a store, all of which stay as long as this is held.
pub(crate) struct Pinned<'s, F: Fingerprint> {
    inner: &'s StoreInner<F>,
    pub(crate) manifest: Arc<Manifest>,
    /// Where the logs end: everything before is durable.
    pub(crate) end: Sealed,
    /// Keeps the segments.
    _state: Arc<View<F>>,
}

impl<F: Fingerprint> StoreInner<F> {
    /// Keeps all files of this moment, with everything written before.
    ///
    /// # Errors
    /// When the disk refuses to sync the log.
    pub(crate) fn pin(&self) -> Result<Pinned<'_, F>, Error> {
        // Most of the log, without keeping writers waiting.
        self.sync_beside()?;
        // Manifest and state belong together while nothing is published.
        let _publisher = self.lock_manifest();
        let end = {
            let mut writer = self.writer();
            writer.sync()?;
            writer.log.sealed()
        };
        self.pins.pin();
        Ok(Pinned { inner: self, manifest: self.manifest.load_full(), end, _state: self.view.load_full() })
    }
}

impl<F: Fingerprint> Drop for Pinned<'_, F> {
    fn drop(&mut self) {
        self.inner.remove_unneeded(self.inner.pins.unpin());
    }
}
