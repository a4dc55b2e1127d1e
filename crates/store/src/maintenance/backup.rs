//! A consistent copy.

use std::io::{self, Write};
use std::path::Path;

use hamdex::Fingerprint;

use crate::disk::copy::copy;
use crate::disk::layout::{self, BACKUP, COPY, DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::disk::{Disk, RealDisk, create_anew, link_or_copy};
use crate::error::Error;
use crate::log::{Sealed, replay};
use crate::manifest::Manifest;
use crate::manifest::current::CurrentManifest;
use crate::read::reader::steadily;
use crate::store::Store;

/// Copies a store, as it is at one moment, to a directory that does not exist yet, or is empty, also while another
/// process writes to it: what was acknowledged before this was called is in the copy. Otherwise as
/// [`Store::backup_to`].
///
/// ```
/// use hamdex_store::{CreateOptions, Store, StoreOptions, backup};
///
/// let directory = tempfile::tempdir()?;
/// let (path, copy) = (directory.path().join("news.store"), directory.path().join("copy.store"));
/// let store = Store::<u64>::create(&path, &CreateOptions::new(), StoreOptions::new())?;
/// store.insert(0x00ff, 1)?;
/// backup(&path, &copy)?;
/// assert!(Store::<u64>::open(&copy, StoreOptions::new())?.snapshot().contains(0x00ff)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When it is no store, or damaged; when there is something already, other than a copy that was interrupted, or the
/// directory is within the store; when the disk refuses it. Nothing is left of the copy then, as far as the disk lets it be
/// removed.
pub fn backup(path: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<(), Error> {
    or_nothing(path.as_ref(), directory.as_ref(), |target| backup_on(&RealDisk::new(&path), target))
}

/// As [`backup`], on any disk.
///
/// # Errors
/// As for [`backup`].
pub fn backup_on(disk: &dyn Disk, target: &dyn Disk) -> Result<(), Error> {
    // A directory that is no store leads to no other.
    crate::manifest::read(disk)?;
    prepare(target)?;
    let mut copied = Vec::<String>::new();
    let outcome = steadily(disk, |manifest| {
        // Copies of files that have been replaced since.
        for name in &copied {
            target.remove(name).map_err(Error::io("remove it", target.path(name)))?;
        }
        copied.clear();
        let end = if manifest.identity.width == 128 {
            end_of_logs::<u128>(disk, &manifest)
        } else {
            end_of_logs::<u64>(disk, &manifest)
        };
        copy_all(disk, manifest, end?, target, &mut copied)
    });
    finish(target, outcome, &copied)
}

/// Copies to a directory outside the store; where that fails and leaves no store, removes the directories that are empty
/// and were not there before.
fn or_nothing(
    store: &Path,
    directory: &Path,
    copy: impl FnOnce(&RealDisk) -> Result<(), Error>,
) -> Result<(), Error> {
    if is_within(directory, store) {
        return Err(Error::BackupInside { path: directory.to_owned() });
    }
    let (was_there, was_empty) = match std::fs::read_dir(directory) {
        Ok(mut entries) => (true, entries.next().is_none()),
        Err(error) => (false, error.kind() == io::ErrorKind::NotFound),
    };
    copy(&RealDisk::new(directory)).inspect_err(|_| {
        // With a manifest it is a whole store, which may not be durable.
        let is_store = !matches!(directory.join(MANIFEST).try_exists(), Ok(false));
        if was_empty && !is_store {
            let parts = [SEGMENTS, DELETES, LOGS].map(|name| directory.join(name));
            let whole = (!was_there).then(|| directory.to_owned());
            parts.into_iter().chain(whole).for_each(|path| drop(std::fs::remove_dir(path)));
        }
    })
}

/// Whether a directory, which need not exist, is the same as another one or within it.
fn is_within(directory: &Path, outer: &Path) -> bool {
    let Ok(outer) = outer.canonicalize() else { return false };
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    // Of a path that does not exist, the part that does decides.
    let existing = absolute.ancestors().find_map(|part| part.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(outer))
}

impl<F: Fingerprint> Store<F> {
    /// Copies the store, as it is at one moment, to a directory that does not exist yet, or is empty: see
    /// [`Store::backup_to`].
    ///
    /// # Errors
    /// As for [`Store::backup_to`]; when the directory is within the store.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let store = self.inner().disk.path("");
        or_nothing(&store, directory.as_ref(), |target| self.backup_to(target))
    }

    /// Copies the store, as it is at one moment, to an empty directory: files by links where that is possible, logs
    /// byte by byte. Writes, flushes and merges go on meanwhile. The copy is a store when this has returned, and none
    /// before. A copy that was interrupted is replaced.
    ///
    /// # Errors
    /// When there is something already, or the disk refuses it.
    pub fn backup_to(&self, target: &dyn Disk) -> Result<(), Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        prepare(target)?;
        let pinned = inner.pin()?;
        let mut copied = Vec::new();
        let outcome =
            copy_all(&*inner.disk, pinned.manifest.as_ref().clone(), pinned.end, target, &mut copied);
        finish(target, outcome, &copied)
    }
}

/// Makes the directories of a copy, and notes that it is not whole yet. Takes the place of a copy that was interrupted.
fn prepare(target: &dyn Disk) -> Result<(), Error> {
    let refused = |doing, name: &str| Error::io(doing, target.path(name));
    target.create_directory("").map_err(refused("create it", ""))?;
    if target.exists(BACKUP).map_err(refused("read it", BACKUP))? {
        discard_interrupted(target)?;
    } else {
        if !target.list("").map_err(refused("list it", ""))?.is_empty() || has_files(target)? {
            return Err(Error::Exists { path: target.path("") });
        }
        let note = || {
            let mut file = create_anew(target, BACKUP)?;
            file.write_all(b"this copy of a store is not whole; back it up again\n")?;
            file.sync()?;
            target.sync_directory("")
        };
        note().map_err(refused("write it", BACKUP))?;
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.create_directory(directory).map_err(refused("create it", directory))?;
    }
    Ok(())
}

/// Whether one of the directories of a store has files.
fn has_files(target: &dyn Disk) -> Result<bool, Error> {
    for directory in [SEGMENTS, DELETES, LOGS] {
        match target.list(directory) {
            Ok(names) if names.is_empty() => {}
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list it", target.path(directory))(error)),
        }
    }
    Ok(false)
}

/// Removes the files of a copy that was interrupted; those of any other name are not its own.
fn discard_interrupted(target: &dyn Disk) -> Result<(), Error> {
    let mut own = Vec::new();
    for directory in ["", SEGMENTS, DELETES, LOGS] {
        let names = match target.list(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names.map_err(Error::io("list it", target.path(directory)))?,
        };
        for name in names {
            if !layout::is_own(directory, &name) {
                return Err(Error::Exists { path: target.path("") });
            }
            own.push(if directory.is_empty() { name } else { format!("{directory}/{name}") });
        }
    }
    // The manifest first, and durably: without it the rest is no store.
    let is_manifest = |name: &&String| name.starts_with(MANIFEST);
    let remove = |name: &String| target.remove(name).map_err(Error::io("remove it", target.path(name)));
    own.iter().filter(is_manifest).try_for_each(remove)?;
    target.sync_directory("").map_err(Error::io("sync it", target.path("")))?;
    own.iter().filter(|name| !is_manifest(name) && *name != BACKUP).try_for_each(remove)
}

/// Ends a copy: one that is whole loses its note, and of one that failed nothing stays, as far as the disk lets it be
/// removed.
fn finish(target: &dyn Disk, outcome: Result<(), Error>, copied: &[String]) -> Result<(), Error> {
    if outcome.is_err() && target.exists(MANIFEST).is_ok_and(|is_there| !is_there) {
        let _ = target.remove(COPY);
        copied.iter().for_each(|name| drop(target.remove(name)));
        let _ = target.remove(BACKUP);
    }
    outcome?;
    let remove = || {
        target.remove(BACKUP)?;
        target.sync_directory("")
    };
    remove().map_err(Error::io("remove it", target.path(BACKUP)))
}

/// Where the logs end that count by now.
fn end_of_logs<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<Sealed, Error> {
    let start = manifest.logs_start();
    let end = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, _| Ok(()))?.end;
    Ok(Sealed { log: end.log, bytes: end.offset })
}

/// Copies all that a manifest names, and the logs up to an end; last of all the manifest. Appends the names of what has
/// been copied before that to `copied`.
fn copy_all(
    disk: &dyn Disk,
    mut manifest: Manifest,
    end: Sealed,
    target: &dyn Disk,
    copied: &mut Vec<String>,
) -> Result<(), Error> {
    for entry in &manifest.segments {
        let name = layout::segment(entry.number);
        let linked = link_or_copy(disk, &name, target, &name);
        linked.map_err(Error::io("copy it", target.path(&name)))?;
        copied.push(name);
    }
    let removals = manifest.segments.iter().filter_map(|entry| {
        let removals = entry.removals?;
        Some((layout::removals(entry.number, removals.version), u64::MAX))
    });
    let logs = (manifest.first_log..=end.log).map(|number| {
        let bytes = if number == end.log { end.bytes } else { u64::MAX };
        (layout::log(number), bytes)
    });
    for (name, bytes) in removals.chain(logs) {
        copy(disk, &name, target, &name, bytes).map_err(Error::io("copy it", target.path(&name)))?;
        copied.push(name);
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.sync_directory(directory).map_err(Error::io("sync it", target.path(directory)))?;
    }
    // All of it is durable: damage to the end of its last log is noticed.
    manifest.sealed = Some(end);
    CurrentManifest::new(target, manifest.clone()).replace(manifest)
}
