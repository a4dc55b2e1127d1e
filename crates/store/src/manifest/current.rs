//! The manifest in place, and its replacement.

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::{Manifest, ManifestFile};

/// The manifest in place. Its owner has the right to replace it.
pub(crate) struct CurrentManifest {
    file: ManifestFile,
    /// The contents on the disk.
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

    /// Makes the manifest durable, unless the last shutdown was clean, and removes the files that it does not name.
    pub(crate) fn take_over(&mut self, was_clean: bool) -> Result<(), Error> {
        self.file.take_over(&self.manifest, was_clean).map(drop)
    }

    /// Replaces the manifest.
    pub(crate) fn replace(&mut self, manifest: Manifest) -> Result<(), Error> {
        self.file.replace(&manifest)?;
        self.manifest = manifest;
        Ok(())
    }
}
