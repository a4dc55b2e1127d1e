//! A consistent copy.

use std::io;
use std::path::Path;

use hamdex::Engine;

use crate::disk::copy::copy;
use crate::disk::{Disk, RealDisk, link_or_copy};
use crate::error::Error;
use crate::layout::{self, DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::log::{Sealed, replay};
use crate::manifest::Manifest;
use crate::open::refuse_to_replace;
use crate::publisher::Publisher;
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
/// When it is no store, or damaged; when there is something already, or the disk refuses it: nothing is left of the copy
/// then, as far as the disk lets it be removed.
pub fn backup(path: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<(), Error> {
    or_nothing(directory.as_ref(), |target| backup_on(&RealDisk::new(path), target))
}

/// As [`backup`], on any disk.
///
/// # Errors
/// As for [`backup`].
pub fn backup_on<D: Disk>(disk: &D, target: &D) -> Result<(), Error> {
    // A directory that is no store leads to no other.
    crate::manifest::read(disk)?;
    prepare(target)?;
    let mut copied = Vec::<String>::new();
    let outcome = steadily(disk, |manifest| {
        // What has been copied of files that have been replaced since.
        for name in &copied {
            target.remove(name).map_err(Error::io("remove it", target.path(name)))?;
        }
        copied.clear();
        let end = if manifest.identity.width == 128 {
            end_of_logs::<u128, _>(disk, &manifest)
        } else {
            end_of_logs::<u64, _>(disk, &manifest)
        };
        copy_all(disk, manifest, end?, target, &mut copied)
    });
    outcome.inspect_err(|_| discard(target, &copied))
}

/// Copies to a directory; where that fails and leaves no store, removes the directories that are empty and were not there
/// before.
fn or_nothing(directory: &Path, copy: impl FnOnce(&RealDisk) -> Result<(), Error>) -> Result<(), Error> {
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

/// Removes what has been copied, as far as the disk lets it, unless there is a manifest.
fn discard<D: Disk>(target: &D, copied: &[String]) {
    if target.exists(MANIFEST).is_ok_and(|is_there| !is_there) {
        copied.iter().for_each(|name| drop(target.remove(name)));
    }
}

impl<F: Engine> Store<F> {
    /// Copies the store, as it is at one moment, to a directory that does not exist yet, or is empty: see
    /// [`Store::backup_to`].
    ///
    /// # Errors
    /// As for [`Store::backup_to`].
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        or_nothing(directory.as_ref(), |target| self.backup_to(target))
    }
}

impl<F: Engine, D: Disk> Store<F, D> {
    /// Copies the store, as it is at one moment, to an empty directory: files by links where that is possible, logs
    /// byte by byte. It may be written to meanwhile; flushes and merges end later. The copy is a store when this
    /// has returned, and none before.
    ///
    /// # Errors
    /// When there is something already, or the disk refuses it.
    pub fn backup_to(&self, target: &D) -> Result<(), Error> {
        let shared = self.shared();
        shared.check_process()?;
        let publisher = shared.publisher();
        // What is acknowledged by now is in the logs up to here.
        let end = {
            let mut writer = shared.writer();
            writer.sync()?;
            writer.log.sealed()
        };
        prepare(target)?;
        let mut copied = Vec::new();
        copy_all(&shared.disk, publisher.manifest().clone(), end, target, &mut copied)
            .inspect_err(|_| discard(target, &copied))
    }
}

/// Makes the directories of a copy.
fn prepare<D: Disk>(target: &D) -> Result<(), Error> {
    target.create_directory("").map_err(Error::io("create it", target.path("")))?;
    refuse_to_replace(target)?;
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.create_directory(directory).map_err(Error::io("create it", target.path(directory)))?;
        // Such as a copy that was never ended.
        if !target.list(directory).map_err(Error::io("list it", target.path(directory)))?.is_empty() {
            return Err(Error::Exists { path: target.path("") });
        }
    }
    Ok(())
}

/// Where the logs end that count by now.
fn end_of_logs<F: Engine, D: Disk>(disk: &D, manifest: &Manifest) -> Result<Sealed, Error> {
    let start = manifest.logs_start();
    let end = replay::<F, D>(disk, &manifest.identity, start, manifest.sealed, |_, _| Ok(()))?.end;
    Ok(Sealed { log: end.log, bytes: end.offset })
}

/// Copies all that a manifest names, and the logs up to an end; last of all the manifest. Appends the names of what has
/// been copied before that to `copied`.
fn copy_all<D: Disk>(
    disk: &D,
    mut manifest: Manifest,
    end: Sealed,
    target: &D,
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
    Publisher::new(target.clone(), manifest.clone()).replace(manifest)
}
