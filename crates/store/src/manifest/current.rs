//! The one who changes the manifest.

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::{Manifest, ManifestFile};

/// The one who changes the manifest.
pub(crate) struct CurrentManifest {
    file: ManifestFile,
    /// As it is on the disk.
    manifest: Manifest,
}

impl CurrentManifest {
    pub(crate) fn new(disk: &dyn Disk, manifest: Manifest) -> Self {
        Self { file: ManifestFile::new(disk), manifest }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether it is unknown which manifest a crash would leave.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.file.is_poisoned()
    }

    /// Makes the manifest that was found durable, unless the last end was clean, and removes what it does not name.
    pub(crate) fn take_over(&mut self, was_clean: bool) -> Result<(), Error> {
        self.file.take_over(&self.manifest, was_clean).map(drop)
    }

    /// Puts another manifest in place of the one there is.
    pub(crate) fn replace(&mut self, manifest: Manifest) -> Result<(), Error> {
        self.file.replace(&manifest)?;
        self.manifest = manifest;
        Ok(())
    }
}
