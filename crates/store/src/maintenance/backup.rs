//! Backups and checkpoints: consistent copies of a store.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use hamdex::{Fingerprint, Progress};

use crate::disk::layout::{self, BACKUP, COPY, DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::disk::{Disk, RealDisk, create_replacing};
use crate::error::Error;
use crate::maintenance::copying::{Kind, Report, copy_all, end_of_logs};
use crate::manifest::Manifest;
use crate::read::reader::retry_if_manifest_changed;
use crate::store::Store;

/// Copies a store to a directory that does not exist yet or is empty, also while another process writes to it. The
/// copy has every write that was acknowledged before this was called, and is checked as it is made. Otherwise as
/// [`Store::backup`].
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
/// When the source is not a store or is damaged, the target has files other than those of an interrupted copy or lies
/// inside the store, or the disk refuses an operation. The partial copy is removed then, as far as the disk allows it.
pub fn backup(path: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<(), Error> {
    backup_with(path, directory, |_| ControlFlow::Continue(()))
}

/// Copies a store with a progress callback, as [`Store::compact_with`]: in bytes, of which those of files that share
/// their blocks are done at once.
///
/// # Errors
/// As for [`backup`]; when the callback cancels it.
pub fn backup_with(
    path: impl AsRef<Path>,
    directory: impl AsRef<Path>,
    report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
) -> Result<(), Error> {
    copy_or_clean_up(path.as_ref(), directory.as_ref(), |target| {
        copy_store(&RealDisk::new(&path), target, Kind::Copied, &report)
    })
}

/// Makes a checkpoint of a store, also while another process writes to it: see [`Store::checkpoint`].
///
/// # Errors
/// As for [`backup`]; when the file system cannot link the segments.
pub fn checkpoint(path: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<(), Error> {
    copy_or_clean_up(path.as_ref(), directory.as_ref(), |target| {
        copy_store(&RealDisk::new(&path), target, Kind::Linked, &|_| ControlFlow::Continue(()))
    })
}

/// As [`backup`], on any disk.
///
/// # Errors
/// As for [`backup`].
pub fn backup_on(disk: &dyn Disk, target: &dyn Disk) -> Result<(), Error> {
    copy_store(disk, target, Kind::Copied, &|_| ControlFlow::Continue(()))
}

fn copy_store(disk: &dyn Disk, target: &dyn Disk, kind: Kind, report: &Report) -> Result<(), Error> {
    // Nothing is created for a source that is not a store.
    crate::manifest::read(disk)?;
    prepare(target)?;
    let mut copied = Vec::<String>::new();
    let outcome = retry_if_manifest_changed(disk, |manifest| {
        // Copies of files that have been replaced since.
        for name in &copied {
            target.remove(name).map_err(Error::io("remove it", target.path(name)))?;
        }
        copied.clear();
        let copy = if manifest.identity.width == 128 { copy_current::<u128> } else { copy_current::<u64> };
        copy(disk, manifest, target, kind, &mut copied, report)
    });
    finish(target, outcome, &copied)
}

/// Copies the files of a manifest, and the logs up to their present end.
fn copy_current<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: Manifest,
    target: &dyn Disk,
    kind: Kind,
    copied: &mut Vec<String>,
    report: &Report,
) -> Result<(), Error> {
    let end = end_of_logs::<F>(disk, &manifest)?;
    copy_all::<F>(disk, (manifest, end), target, kind, copied, report)
}

/// Copies to a directory outside the store. After a failure that leaves no store, removes the directories that are
/// empty and did not exist before.
fn copy_or_clean_up(
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
        // With a manifest it is a complete store, though perhaps not a durable one.
        let is_store = !matches!(directory.join(MANIFEST).try_exists(), Ok(false));
        if was_empty && !is_store {
            let parts = [SEGMENTS, DELETES, LOGS].map(|name| directory.join(name));
            let whole = (!was_there).then(|| directory.to_owned());
            parts.into_iter().chain(whole).for_each(|path| drop(std::fs::remove_dir(path)));
        }
    })
}

/// Whether a directory, which need not exist, is another one or lies inside it.
fn is_within(directory: &Path, outer: &Path) -> bool {
    let Ok(outer) = outer.canonicalize() else { return false };
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    // The longest existing part decides for a path that does not exist.
    let existing = absolute.ancestors().find_map(|part| part.canonicalize().ok());
    existing.is_some_and(|existing| existing.starts_with(outer))
}

impl<F: Fingerprint> Store<F> {
    /// Copies a snapshot of the store to a directory that does not exist yet or is empty. Segments share their blocks
    /// with the originals if the file system can do that (`FICLONE`), and are copied byte by byte otherwise; a change of
    /// one of the files changes that one alone. Writes, flushes and merges continue meanwhile. The copy becomes a store
    /// when this returns, not before. An interrupted copy is replaced.
    ///
    /// Logs, removals, and segments that are copied byte by byte and fit in memory are read and checked. Damage on the
    /// device to blocks that files share shows in both: a backup against that lies on another device.
    ///
    /// # Errors
    /// When the directory is not empty or lies inside the store, a file is damaged, or the disk refuses an operation.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        self.backup_with(directory, |_| ControlFlow::Continue(()))
    }

    /// Copies the store with a progress callback: see [`backup_with`].
    ///
    /// # Errors
    /// As for [`Store::backup`]; when the callback cancels it.
    pub fn backup_with(
        &self,
        directory: impl AsRef<Path>,
        report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let store = self.inner().disk.path("");
        let report = self.inner().background.cancellation().or_report(Arc::new(report));
        copy_or_clean_up(&store, directory.as_ref(), |target| self.copy_to(target, Kind::Copied, &report))
    }

    /// Makes a checkpoint: a store of its own, as [`Store::backup`] makes one, in little time and without further space.
    /// Its segments are hard links to those of this store, and so **the same files: damage to one shows in both**, as
    /// by a program that writes to a file in place. Each store removes its own names only. It is for going back after a
    /// change, and to be copied elsewhere at leisure, and no backup.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let (path, before) = (directory.path().join("news.store"), directory.path().join("before.store"));
    /// let store = Store::<u64>::create(&path, &CreateOptions::new(), StoreOptions::new())?;
    /// store.insert(0x00ff, 1)?;
    /// store.checkpoint(&before)?;
    /// store.remove(0x00ff, 1)?;
    /// assert!(Store::<u64>::open(&before, StoreOptions::new())?.snapshot().contains(0x00ff)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::backup`]; when the segments cannot be linked, as to another file system.
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let store = self.inner().disk.path("");
        copy_or_clean_up(&store, directory.as_ref(), |target| {
            self.copy_to(target, Kind::Linked, &|_| ControlFlow::Continue(()))
        })
    }

    /// As [`Store::backup`], to any disk.
    ///
    /// # Errors
    /// As for [`Store::backup`].
    #[doc(hidden)]
    pub fn backup_to(&self, target: &dyn Disk) -> Result<(), Error> {
        self.copy_to(target, Kind::Copied, &|_| ControlFlow::Continue(()))
    }

    /// As [`Store::checkpoint`], to any disk.
    ///
    /// # Errors
    /// As for [`Store::checkpoint`].
    #[doc(hidden)]
    pub fn checkpoint_to(&self, target: &dyn Disk) -> Result<(), Error> {
        self.copy_to(target, Kind::Linked, &|_| ControlFlow::Continue(()))
    }

    fn copy_to(&self, target: &dyn Disk, kind: Kind, report: &Report) -> Result<(), Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        prepare(target)?;
        let pinned = inner.pin()?;
        let mut copied = Vec::new();
        let manifest = pinned.manifest.as_ref().clone();
        let end = (manifest, pinned.end);
        let outcome = copy_all::<F>(&*inner.disk, end, target, kind, &mut copied, report);
        finish(target, outcome, &copied)
    }
}

/// Creates the directories of a copy and a note that it is incomplete. Replaces an interrupted copy.
fn prepare(target: &dyn Disk) -> Result<(), Error> {
    let refused = |doing, name: &str| Error::io(doing, target.path(name));
    // Until something is copied, a failure leaves no note behind.
    let remove = |_: &_| drop(target.remove(BACKUP));
    target.create_directory("").map_err(refused("create it", ""))?;
    if target.exists(BACKUP).map_err(refused("read it", BACKUP))? {
        discard_interrupted(target)?;
    } else {
        if layout::is_occupied(target, |_| Ok(false))? {
            return Err(Error::Exists { path: target.path("") });
        }
        let note = || {
            let mut file = create_replacing(target, BACKUP)?;
            file.write_all(b"this copy of a store is not whole; back it up again\n")?;
            file.sync()?;
            target.sync_directory("")
        };
        note().inspect_err(remove).map_err(refused("write it", BACKUP))?;
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.create_directory(directory).inspect_err(remove).map_err(refused("create it", directory))?;
    }
    Ok(())
}

/// Removes the files of an interrupted copy. Files of any other name are foreign, and refused.
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
    // The manifest first, and durably: without it the rest is not a store.
    let is_manifest = |name: &&String| name.starts_with(MANIFEST);
    let remove = |name: &String| target.remove(name).map_err(Error::io("remove it", target.path(name)));
    own.iter().filter(is_manifest).try_for_each(remove)?;
    target.sync_directory("").map_err(Error::io("sync it", target.path("")))?;
    own.iter().filter(|name| !is_manifest(name) && *name != BACKUP).try_for_each(remove)
}

/// Removes the note from a complete copy, or all files of a failed one, as far as the disk allows it.
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
