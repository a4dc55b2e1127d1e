//! A consistent set of files for long reads.

use std::sync::Arc;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::inner::StoreInner;
use crate::log::Sealed;
use crate::manifest::Manifest;
use crate::view::View;

/// A consistent set of the files of a store, which stay as long as this is held.
pub(crate) struct Pinned<'s, F: Fingerprint> {
    inner: &'s StoreInner<F>,
    pub(crate) manifest: Arc<Manifest>,
    /// The end of the logs, which are durable up to there.
    pub(crate) end: Sealed,
    /// Keeps the segments.
    _state: Arc<View<F>>,
}

impl<F: Fingerprint> StoreInner<F> {
    /// Pins the files of this moment, with every write before.
    ///
    /// # Errors
    /// When the disk refuses to sync the log.
    pub(crate) fn pin(&self) -> Result<Pinned<'_, F>, Error> {
        // Most of the log is synced while writers go on.
        self.sync_concurrently()?;
        // Manifest and view match as long as nothing is published.
        let _publisher = self.lock_manifest();
        let end = {
            let mut writer = self.writer();
            writer.sync()?;
            writer.log.sealed()
        };
        self.stale_files.pin();
        Ok(Pinned { inner: self, manifest: self.manifest.load_full(), end, _state: self.view.load_full() })
    }
}

impl<F: Fingerprint> Drop for Pinned<'_, F> {
    fn drop(&mut self) {
        self.inner.remove_files(self.inner.stale_files.unpin());
    }
}
