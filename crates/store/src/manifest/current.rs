//! The manifest in place, and its replacement.

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::{Manifest, ManifestFile};

/// The manifest in place. Its owner has the right to replace it.
pub(crate) struct CurrentManifest {
    file: ManifestFile,
    /// The contents on the disk.
    manifest: Manifest,
    /// The manifest whose replacement failed half-way, so that a crash may leave it.
    uncertain: Option<Manifest>,
}

impl CurrentManifest {
    pub(crate) fn new(disk: &dyn Disk, manifest: Manifest) -> Self {
        Self { file: ManifestFile::new(disk), manifest, uncertain: None }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Checks that the manifest can be replaced: after a failure it may be unknown which one a crash would leave, and
    /// no file that either of them names may be removed or written again.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.file.check()
    }

    /// Whether the manifest that a crash would leave may name a segment.
    pub(crate) fn may_name(&self, segment: u64) -> bool {
        let manifests = [Some(&self.manifest), self.uncertain.as_ref()];
        manifests.into_iter().flatten().any(|manifest| manifest.entry(segment).is_some())
    }

    /// Makes the manifest durable, unless the last shutdown was clean, and removes the files that it does not name.
    pub(crate) fn take_over(&mut self, was_clean: bool) -> Result<(), Error> {
        self.file.take_over(&self.manifest, was_clean).map(drop)
    }

    /// Replaces the manifest by a later one.
    pub(crate) fn replace(&mut self, mut manifest: Manifest) -> Result<(), Error> {
        self.check()?;
        manifest.generation = self.manifest.next_generation();
        let replaced = self.file.replace(&manifest);
        if replaced.is_ok() {
            self.manifest = manifest;
        } else if self.file.is_poisoned() {
            self.uncertain = Some(manifest);
        }
        replaced
    }
}
