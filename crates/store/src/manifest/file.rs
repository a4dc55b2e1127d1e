//! Reading the manifest file, and replacing it atomically.

use std::io;

use crate::disk::copy::keep_aside;
use crate::disk::layout::{COPY, MANIFEST, NEW_COPY, NEW_MANIFEST};
use crate::disk::{Disk, remove_if_there, write_replacing};
use crate::error::{Error, clone_io_error};
use crate::manifest::text::{FORM, TextError, parse, to_text};
use crate::manifest::{Manifest, VERSION, leftovers};

/// Reads the manifest of a store, or its copy: if the copy is a later one, as after a crash between their replacements;
/// and if the manifest is damaged or missing, and the copy proves to be current.
///
/// # Errors
/// When it is missing, damaged or of a newer format, or the operating system refuses an operation.
pub fn read(disk: &dyn Disk) -> Result<Manifest, Error> {
    let texts = [MANIFEST, COPY].map(|name| text_of(disk, name));
    let are_alike = matches!(&texts, [Ok(text), Ok(copy)] if text == copy);
    let [manifest, copy] = texts;
    let copy = || copy.and_then(|text| parsed(disk, COPY, &text));
    let damage = match manifest.and_then(|text| parsed(disk, MANIFEST, &text)) {
        Err(error) if error.is_damage() => error,
        // Mostly the copy says the same, and is not parsed.
        Ok(manifest) if !are_alike => return later_of(manifest, copy()),
        outcome => return outcome,
    };
    match copy() {
        Ok(copy) if leftovers::is_current(disk, &copy)? => Ok(copy),
        Ok(_) => Err(in_a_store(disk, damage)),
        Err(error) if error.is_damage() => {
            Err(if leftovers::has_contents(disk)? { in_a_store(disk, damage) } else { damage })
        }
        Err(error) => Err(error),
    }
}

/// Returns the later one of a manifest and its copy. The files that a copy names were durable before it was written.
fn later_of(manifest: Manifest, copy: Result<Manifest, Error>) -> Result<Manifest, Error> {
    match copy {
        Ok(copy) if copy.is_later_than(&manifest) => Ok(copy),
        Ok(_) | Err(Error::Newer { .. }) => Ok(manifest),
        Err(error) if error.is_damage() => Ok(manifest),
        Err(error) => Err(error),
    }
}

/// Reads the manifest or its copy.
pub(crate) fn read_named(disk: &dyn Disk, name: &str) -> Result<Manifest, Error> {
    parsed(disk, name, &text_of(disk, name)?)
}

/// Reads the text of the manifest or its copy.
fn text_of(disk: &dyn Disk, name: &str) -> Result<Vec<u8>, Error> {
    match disk.read_first(name, FORM.bytes_to_read()) {
        Ok(text) => Ok(text),
        // The directory may be a file.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let of_directory = disk.list("").err().filter(|error| error.kind() == io::ErrorKind::NotFound);
            Err(Error::NotAStore { path: disk.path(""), source: of_directory })
        }
        Err(error) => Err(Error::io("read it", disk.path(name))(error)),
    }
}

fn parsed(disk: &dyn Disk, name: &str, text: &[u8]) -> Result<Manifest, Error> {
    let path = disk.path(name);
    parse(text).map_err(|error| match error {
        TextError::NotAManifest => Error::NotAStore { path: disk.path(""), source: None },
        TextError::Newer(found) => Error::Newer { path, found, supported: VERSION },
        TextError::Damaged { offset, what } => Error::damaged(path, offset, what),
    })
}

/// Returns the damage of a manifest whose directory holds a store nevertheless.
fn in_a_store(disk: &dyn Disk, damage: Error) -> Error {
    match damage {
        Error::NotAStore { .. } if disk.exists(MANIFEST).is_ok_and(|exists| !exists) => {
            Error::Missing { path: disk.path(MANIFEST) }
        }
        Error::NotAStore { .. } => {
            Error::damaged(disk.path(MANIFEST), 0, "it does not begin as a manifest does")
        }
        damage => damage,
    }
}

/// The manifest file of a store, for its writer.
#[derive(Debug)]
pub struct ManifestFile {
    disk: Box<dyn Disk>,
    /// The failure that forbids every further replacement.
    poison: Option<io::Error>,
}

impl ManifestFile {
    /// Returns the manifest file in a directory.
    pub fn new(disk: &dyn Disk) -> Self {
        Self { disk: disk.box_clone(), poison: None }
    }

    /// Whether it is poisoned: an earlier failure forbids every further replacement.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    /// Checks that it is not poisoned.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let poisoned =
            |error| Error::Poisoned { path: self.disk.path(MANIFEST), source: clone_io_error(error) };
        self.poison.as_ref().map_or(Ok(()), |error| Err(poisoned(error)))
    }

    /// Replaces the manifest and its copy atomically and durably. The files that it names must be durable before.
    ///
    /// # Errors
    /// When no store can have this manifest, or the operating system refuses an operation; the old manifest stays in
    /// place then. But if renaming failed, it is unknown which of them a crash would leave: this is *poisoned* then, and
    /// no file that either of them names may be removed.
    pub fn replace(&mut self, manifest: &Manifest) -> Result<(), Error> {
        self.check()?;
        let path = self.disk.path(MANIFEST);
        let is_possible = manifest.check().map_err(io::Error::other);
        is_possible.map_err(Error::io("write the next one", &path))?;
        // If a file stays, the next replacement removes it.
        let tidy =
            |_: &io::Error| [NEW_COPY, NEW_MANIFEST].iter().for_each(|name| drop(self.disk.remove(name)));
        let text = to_text(manifest);
        write_replacing(&*self.disk, NEW_COPY, text.as_bytes())
            .and_then(|()| write_replacing(&*self.disk, NEW_MANIFEST, text.as_bytes()))
            .inspect_err(tidy)
            .map_err(Error::io("write the next one", &path))?;
        // The copy first, so that it is never older than the manifest.
        let rename = || {
            self.disk.rename(NEW_COPY, COPY)?;
            self.disk.sync_directory("")?;
            self.disk.rename(NEW_MANIFEST, MANIFEST)
        };
        let renamed = rename().inspect_err(tidy).and_then(|()| {
            self.disk.sync_directory("")?;
            // It is acknowledged as soon as this returns.
            self.disk.check_held()
        });
        self.poison = renamed.as_ref().err().map(clone_io_error);
        renamed.map_err(Error::io("replace it", &path))
    }

    /// Prepares the directory for a new writer: removes the files of the store that this manifest, which was found in
    /// place, does not name. Returns their names. The caller must be the only user of the store.
    ///
    /// Unless the last shutdown was clean and both the manifest and its copy exist, they are written again first: an
    /// earlier process may have failed to sync their names, and a crash would bring back the previous manifest, which
    /// needs its files. Damaged ones are kept aside.
    pub fn take_over(&mut self, manifest: &Manifest, was_clean: bool) -> Result<Vec<String>, Error> {
        self.restore_copies(manifest, was_clean)?;
        let found = leftovers::leftovers(&*self.disk, manifest)?;
        for name in &found {
            remove_if_there(&*self.disk, name).map_err(Error::io("remove it", self.disk.path(name)))?;
        }
        Ok(found)
    }

    /// Writes the manifest and its copy, unless both are intact and `is_in_order`. Damaged ones are kept aside first.
    fn restore_copies(&mut self, manifest: &Manifest, mut is_in_order: bool) -> Result<(), Error> {
        let mut damaged = Vec::new();
        for name in [MANIFEST, COPY] {
            match read_named(&*self.disk, name) {
                Ok(found) => is_in_order &= found == *manifest,
                Err(error) if error.is_damage() => {
                    is_in_order = false;
                    let exists = self.disk.exists(name);
                    if exists.map_err(Error::io("look for it", self.disk.path(name)))? {
                        damaged.push(name.to_owned());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        keep_aside(&*self.disk, damaged.into_iter())?;
        if is_in_order { Ok(()) } else { self.replace(manifest) }
    }
}

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
