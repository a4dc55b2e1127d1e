//! Backups and checkpoints: consistent copies of a store.

use std::io;
use std::path::Path;

use hamdex::{BuildError, Fingerprint, Phase, Progress, Report, Stopped, default_memory, for_width};

use crate::disk::copy::{Copied, clone_or_copy, copy};
use crate::disk::layout::{self, BACKUP, COPY, DELETES, LOGS, MANIFEST, SEGMENTS};
use crate::disk::{Disk, RealDisk, write_replacing};
use crate::error::Error;
use crate::log::{Sealed, replay};
use crate::manifest::file::CurrentManifest;
use crate::manifest::{Manifest, SegmentEntry};
use crate::read::reader::retry_if_manifest_changed;
use crate::recovery::open_segment;
use crate::segment::Opening;
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
    backup_with(path, directory, &Report::new())
}

/// Copies a store with a progress callback and a cancellation, as [`Store::compact_with`]: in bytes, of which those of
/// files that share their blocks are done at once.
///
/// # Errors
/// As for [`backup`]; when it is cancelled.
pub fn backup_with(
    path: impl AsRef<Path>,
    directory: impl AsRef<Path>,
    report: &Report,
) -> Result<(), Error> {
    copy_or_clean_up(path.as_ref(), directory.as_ref(), |target| {
        copy_store(&RealDisk::new(&path), target, Kind::Copied, report)
    })
}

/// Makes a checkpoint of a store, also while another process writes to it: see [`Store::checkpoint`].
///
/// # Errors
/// As for [`backup`]; when the file system cannot link the segments.
pub fn checkpoint(path: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<(), Error> {
    copy_or_clean_up(path.as_ref(), directory.as_ref(), |target| {
        copy_store(&RealDisk::new(&path), target, Kind::Linked, &Report::new())
    })
}

/// As [`backup`], on any disk.
pub fn backup_on(disk: &dyn Disk, target: &dyn Disk) -> Result<(), Error> {
    copy_store(disk, target, Kind::Copied, &Report::new())
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
        let copy = for_width!(manifest.identity.width, F => copy_current::<F>);
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
        self.backup_with(directory, &Report::new())
    }

    /// Copies the store with a progress callback and a cancellation: see [`backup_with`].
    ///
    /// # Errors
    /// As for [`Store::backup`]; when it is cancelled.
    pub fn backup_with(&self, directory: impl AsRef<Path>, report: &Report) -> Result<(), Error> {
        let store = self.inner().disk.path("");
        let report = self.inner().until_closed(report);
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
            self.copy_to(target, Kind::Linked, &Report::new())
        })
    }

    /// As [`Store::backup`], to any disk.
    ///
    /// # Errors
    /// As for [`Store::backup`].
    #[doc(hidden)]
    pub fn backup_to(&self, target: &dyn Disk) -> Result<(), Error> {
        self.copy_to(target, Kind::Copied, &Report::new())
    }

    /// As [`Store::checkpoint`], to any disk.
    ///
    /// # Errors
    /// As for [`Store::checkpoint`].
    #[doc(hidden)]
    pub fn checkpoint_to(&self, target: &dyn Disk) -> Result<(), Error> {
        self.copy_to(target, Kind::Linked, &Report::new())
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
        let note = b"this copy of a store is not whole; back it up again\n";
        let written = write_replacing(target, BACKUP, note).and_then(|()| target.sync_directory(""));
        written.inspect_err(remove).map_err(refused("write it", BACKUP))?;
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

/// How the segments of a store come into its copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A backup: each is a file of its own.
    Copied,
    /// A checkpoint: each is a second name of the original file.
    Linked,
}

/// Returns the current end of the live logs.
fn end_of_logs<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<Sealed, Error> {
    let start = manifest.logs_start();
    let end = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, _| Ok(()))?.end;
    Ok(Sealed { log: end.log, bytes: end.offset })
}

/// The progress of a copy, in bytes.
struct Copying<'r> {
    report: &'r Report,
    done: u64,
    total: u64,
    is_stopped: bool,
}

impl Copying<'_> {
    fn add(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.done += bytes;
        // A log that is written to may be longer by now.
        let total = self.total.max(self.done);
        let outcome = self.report.progressed(Progress::new(Phase::Copy, self.done, Some(total)));
        self.is_stopped |= outcome.is_err();
        outcome
    }

    /// Fails if the copy is cancelled.
    fn check(&mut self) -> Result<(), Error> {
        if self.add(0).is_err() { Err(BuildError::Stopped.into()) } else { Ok(()) }
    }

    /// Turns the outcome of copying a file into an error about the target.
    fn outcome<T>(&self, outcome: io::Result<T>, target: &dyn Disk, name: &str) -> Result<T, Error> {
        match outcome {
            Err(_) if self.is_stopped => Err(BuildError::Stopped.into()),
            outcome => outcome.map_err(Error::io("copy it", target.path(name))),
        }
    }
}

/// Copies all files that a manifest names, the logs up to an end, and the manifest last. Each copy is opened, and read
/// and checked as far as it is in memory. Appends the names of the copied files, without the manifest, to `copied`.
fn copy_all<F: Fingerprint>(
    disk: &dyn Disk,
    (mut manifest, end): (Manifest, Sealed),
    target: &dyn Disk,
    kind: Kind,
    copied: &mut Vec<String>,
    report: &Report,
) -> Result<(), Error> {
    let removals = manifest.segments.iter().filter_map(|entry| {
        let removals = entry.removals?;
        Some((layout::removals(entry.number, removals.version), u64::MAX))
    });
    let logs = (manifest.first_log..=end.log).map(|number| {
        let bytes = if number == end.log { end.bytes } else { u64::MAX };
        (layout::log(number), bytes)
    });
    let small: Vec<(String, u64)> = removals.chain(logs).collect();
    // A file without a length fails when it is copied.
    let length = |name: &str| disk.length(name).unwrap_or(0);
    let total = manifest.segments.iter().map(|entry| length(&layout::segment(entry.number))).sum::<u64>()
        + small.iter().map(|(name, at_most)| length(name).min(*at_most)).sum::<u64>();
    let mut copying = Copying { report, done: 0, total, is_stopped: false };
    copying.check()?;
    for (name, at_most) in small {
        let written = copy(disk, &name, target, &name, at_most, &mut |bytes| copying.add(bytes));
        copying.outcome(written.map(drop), target, &name)?;
        copied.push(name);
    }
    for entry in &manifest.segments {
        let name = layout::segment(entry.number);
        let before = copying.done;
        let brought = match kind {
            Kind::Copied => clone_or_copy(disk, &name, target, &name, &mut |bytes| copying.add(bytes)),
            Kind::Linked => disk.link(&name, target, &name).map(|()| Copied::Cloned),
        };
        let brought = match (kind, copying.outcome(brought, target, &name)) {
            (Kind::Linked, Err(Error::Io { path, source, .. }))
                if source.kind() != io::ErrorKind::NotFound =>
            {
                Err(Error::CannotLink { path, source })
            }
            (_, outcome) => outcome,
        }?;
        copied.push(name);
        check::<F>(disk, target, &manifest, entry, brought)?;
        if copying.done == before {
            let _ = copying.add(entry.bytes);
        }
        copying.check()?;
    }
    for directory in [SEGMENTS, DELETES, LOGS] {
        target.sync_directory(directory).map_err(Error::io("sync it", target.path(directory)))?;
    }
    // All of it is durable: damage to the end of its last log is noticed.
    manifest.sealed = Some(end);
    replay::<F>(target, &manifest.identity, manifest.logs_start(), manifest.sealed, |_, _| Ok(()))?;
    CurrentManifest::new(target, manifest.clone()).replace(manifest)
}

/// Opens a copied segment and its removals. Files written just now, which are still in memory, are read in full.
fn check<F: Fingerprint>(
    disk: &dyn Disk,
    target: &dyn Disk,
    manifest: &Manifest,
    entry: &SegmentEntry,
    copied: Copied,
) -> Result<(), Error> {
    let is_checked = copied == Copied::Written && entry.bytes <= default_memory();
    let opening = Opening { in_memory: false, is_checked };
    let Err(error) = open_segment::<F>(target, manifest, entry, opening) else { return Ok(()) };
    if error.is_damage() {
        // It is the damage of the original, unless that can be read.
        open_segment::<F>(disk, manifest, entry, opening)?;
    }
    Err(error)
}
