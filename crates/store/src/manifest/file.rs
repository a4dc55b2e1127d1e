//! Reading the manifest, and replacing it atomically.

use std::io::{self, Write};

use super::leftovers;
use super::text::{FORM, TextError, parse, to_text};
use super::{Manifest, VERSION};
use crate::disk::{Disk, DiskFile, create_anew};
use crate::error::{Error, again};
use crate::layout::{MANIFEST, NEW_MANIFEST};

/// Reads the manifest of a store.
///
/// # Errors
/// When there is none, it is damaged or of a newer format, or the operating system refuses something.
pub fn read<D: Disk>(disk: &D) -> Result<Manifest, Error> {
    let path = disk.path(MANIFEST);
    match disk.read_first(MANIFEST, FORM.bytes_to_read()) {
        Ok(text) => parse(&text).map_err(|error| match error {
            TextError::NotAManifest => Error::NotAStore { path: disk.path("") },
            TextError::Newer(found) => Error::Newer { path, found, supported: VERSION },
            TextError::Damaged { offset, what } => Error::damaged(path, offset, what),
        }),
        // The directory may be a file.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::NotAStore { path: disk.path("") })
        }
        Err(error) => Err(Error::io("read it", path)(error)),
    }
}

/// The manifest of a store, as the one who writes it knows it.
#[derive(Debug)]
pub struct ManifestFile<D> {
    disk: D,
    /// The failure that forbids every further replacement.
    poison: Option<io::Error>,
}

impl<D: Disk> ManifestFile<D> {
    /// That of the store in a directory.
    pub fn new(disk: D) -> Self {
        Self { disk, poison: None }
    }

    /// Whether an earlier failure forbids every further replacement.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    /// Replaces the manifest: after a crash there is the old one or the new one, and once this has returned, the new
    /// one. What it names must be durable before.
    ///
    /// # Errors
    /// What the operating system refuses; the old manifest counts then. But when it was the renaming that failed, it
    /// is not known which of them will be there after a crash: then this is *poisoned*, and no file that either of
    /// them names may be removed.
    pub fn replace(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let path = self.disk.path(MANIFEST);
        if let Some(error) = &self.poison {
            return Err(Error::Poisoned { path, source: again(error) });
        }
        debug_assert_eq!(manifest.check(), Ok(()));
        // A name that is in the way no longer; if it stays, the next replacement removes it.
        let tidy = |_: &io::Error| drop(self.disk.remove(NEW_MANIFEST));
        write_new(&self.disk, &to_text(manifest))
            .inspect_err(tidy)
            .map_err(Error::io("write the next one", &path))?;
        let renamed = self.disk.rename(NEW_MANIFEST, MANIFEST).inspect_err(tidy);
        let renamed = renamed.and_then(|()| self.disk.sync_directory(""));
        self.poison = renamed.as_ref().err().map(again);
        renamed.map_err(Error::io("replace it", &path))
    }

    /// Puts the directory in order for a new writer. Returns the names of the files that are removed: what the store
    /// wrote, and this manifest, which was found in place, does not name. Nothing may still need them: this is for the
    /// one who opens the store, before anyone else has a part of it.
    ///
    /// Unless the last end was clean, the manifest is written again before: an earlier process may have failed to
    /// sync its name, and after a crash the one before it would be back, and need its files.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn take_over(&mut self, manifest: &Manifest, was_clean: bool) -> Result<Vec<String>, Error> {
        if !was_clean {
            self.replace(manifest)?;
        }
        let found = leftovers::leftovers(&self.disk, manifest)?;
        leftovers::remove(&self.disk, &found)?;
        Ok(found.own)
    }
}

fn write_new<D: Disk>(disk: &D, text: &str) -> io::Result<()> {
    let mut file = create_anew(disk, NEW_MANIFEST)?;
    file.write_all(text.as_bytes())?;
    file.sync()
}
