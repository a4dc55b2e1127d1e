//! Work on a store as a whole.
//!
//! - [`backup`]: backups and checkpoints, consistent copies
//! - [`ingest`]: adding a file that was built elsewhere
//! - [`repair`]: salvaging a damaged store
//! - [`inspect`]: the parts of a store, whatever its width; counts and costs
//!
//! This file has flushes, merges and purges on request, and verification, which reads and checks every file. After a purge
//! no file holds removed pairs any longer.

pub(crate) mod backup;
mod ingest;
pub(crate) mod inspect;
pub(crate) mod repair;

use std::io::ErrorKind;
use std::path::PathBuf;

use hamdex::{Fingerprint, Report, Verified, VerifyOptions};

use crate::disk::layout::{DAMAGED, DELETES, LOGS, SEGMENTS};
use crate::disk::{Disk, layout};
use crate::error::Error;
use crate::log::{Replayed, check_names, replay};
use crate::manifest::{self, Manifest};
use crate::segment::{Segment, removals_file};
use crate::store::Store;

impl<F: Fingerprint> Store<F> {
    /// Flushes the memtables to segments. Every write before this call is durable when it returns. It waits for merges
    /// if there are too many segments.
    ///
    /// # Errors
    /// When the disk refuses an operation. Nothing is lost then.
    pub fn flush(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()
    }

    /// Merges the segments of the time of this call until no merge of them is due, as background merges do when nothing
    /// is written for a while. Pairs in memory stay there, unless memory was full. It merges even if merges are paused
    /// or disabled, and returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn settle(&self) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_frozen()?;
        self.inner().merge_until_settled()
    }

    /// Merges everything that was written before this call into one segment, without the removed pairs. Many segments
    /// are merged in steps. It returns even if writes go on.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged. Nothing is lost then.
    pub fn compact(&self) -> Result<(), Error> {
        self.compact_with(&Report::new())
    }

    /// Compacts the store with a progress callback, which any thread may call, and a cancellation: see [the
    /// engine](hamdex#threads-memory-progress).
    ///
    /// ```
    /// use hamdex::Report;
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("news.store");
    /// let store = Store::<u64>::create(path, &CreateOptions::new(), StoreOptions::new())?;
    /// store.insert(0x00ff, 1)?;
    /// store.flush()?;
    /// store.insert(0xff00, 2)?;
    /// let report = Report::new().progress(|progress| {
    ///     println!("{:?}: {} of {:?}", progress.phase, progress.done, progress.total);
    /// });
    /// store.compact_with(&report)?;
    /// assert_eq!(store.stats().segments.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Store::compact`]; when it is cancelled. Merges that have ended stay.
    pub fn compact_with(&self, report: &Report) -> Result<(), Error> {
        let _activity = self.inner().begin()?;
        self.inner().flush_all()?;
        self.inner().merge_all(report)
    }

    /// Pauses or resumes background merges. While they are paused, the number of segments is unbounded
    /// ([`Health::merges`](crate::health::Health::merges)).
    pub fn pause_merges(&self, is_paused: bool) {
        self.inner().pause_merges(is_paused);
    }
}

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Purged {
    /// Removed pairs that were dropped from segments.
    pub pairs: u64,
    /// Files that may still hold removed pairs. Those in use by snapshots, backups and verifications of this process
    /// are removed with the last of these, or when the store is opened next. Files that a repair has kept aside stay.
    pub held: Vec<PathBuf>,
}

impl<F: Fingerprint> Store<F> {
    /// Rewrites files until none of the store, logs included, holds a pair that was removed before this call.
    ///
    /// It cannot reach files that open snapshots ([`Purged::held`]) or other processes use, backups, checkpoints, the
    /// originals of ingested files, and the remains of deleted files in the file system or the device.
    ///
    /// # Errors
    /// When the disk refuses an operation, or a file is damaged.
    pub fn purge(&self) -> Result<Purged, Error> {
        self.purge_with(&Report::new())
    }

    /// Purges the store with a progress callback and a cancellation, as [`Store::compact_with`].
    ///
    /// # Errors
    /// As for [`Store::purge`]; when it is cancelled. Some removed pairs may be gone then, and all others are
    /// still removed.
    pub fn purge_with(&self, report: &Report) -> Result<Purged, Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        // Logs name removed pairs, so they have to go even if the memtable is empty.
        inner.flush_all()?;
        let pairs = inner.rewrite_removed(report)?;
        let held = self.remove_unreferenced()?;
        for directory in [SEGMENTS, DELETES, LOGS] {
            let path = inner.disk.path(directory);
            inner.disk.sync_directory(directory).map_err(Error::io("sync it", path))?;
        }
        Ok(Purged { pairs, held })
    }

    /// Removes logs and removals files that no manifest names, which earlier failures have left. Returns the files that
    /// have to stay, and the ones that a repair has kept aside.
    fn remove_unreferenced(&self) -> Result<Vec<PathBuf>, Error> {
        let disk = &*self.inner().disk;
        // The manifest cannot change meanwhile.
        let current = self.inner().lock_manifest();
        current.check()?;
        let mut held = Vec::new();
        for name in manifest::leftovers(disk, current.manifest())? {
            let path = disk.path(&name);
            if name.starts_with(SEGMENTS) || self.inner().stale_files.holds(&name) {
                held.push(path);
            } else {
                disk.remove(&name).map_err(Error::io("remove it", path))?;
            }
        }
        match disk.list(DAMAGED) {
            Ok(names) => held.extend(names.iter().map(|name| disk.path(&format!("{DAMAGED}/{name}")))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("list it", disk.path(DAMAGED))(error)),
        }
        Ok(held)
    }
}

/// Reads and checks the manifest, its copy, all files that it names, and the logs. No process may write meanwhile.
pub(crate) fn verify<F: Fingerprint>(disk: &dyn Disk, options: &VerifyOptions) -> Result<Verified, Error> {
    // An intact copy of the manifest lets the store open, but the manifest is damaged nevertheless.
    let manifest = manifest::read_named(disk, layout::MANIFEST).map_err(|damage| {
        match (manifest::read(disk), damage) {
            (Err(error), _) => error,
            (Ok(_), Error::NotAStore { .. }) => not_there(disk, layout::MANIFEST),
            (Ok(_), damage) => damage,
        }
    })?;
    let copy = match manifest::read_named(disk, layout::COPY) {
        Err(Error::NotAStore { .. }) => return Err(not_there(disk, layout::COPY)),
        copy => copy?,
    };
    let is_behind = check_generations(disk, &manifest, &copy)?;
    let manifest = if is_behind { copy } else { manifest };
    let (mut verified, replayed) = verify_files::<F>(disk, &manifest, options)?;
    check_names(disk, &manifest.identity, manifest.first_log)?;
    if is_behind {
        verified.notes.push(format!(
            "{}: a crash left it one generation behind its copy, which counts",
            disk.path(layout::MANIFEST).display()
        ));
    }
    if let Some(torn) = replayed.torn {
        let path = disk.path(&layout::log(replayed.end.log));
        verified.notes.push(format!(
            "{}: a crash left {} bytes of an unfinished batch at byte {}",
            path.display(),
            torn.bytes,
            torn.offset
        ));
    }
    let unfinished = replayed.unfinished_log.map(layout::log);
    for name in manifest::leftovers(disk, &manifest)?.into_iter().chain(unfinished) {
        verified
            .notes
            .push(format!("{}: left by a crash, and no part of the store", disk.path(&name).display()));
    }
    Ok(verified)
}

/// Whether a crash left the manifest one generation behind its copy. Everything else that differs is damage: an older
/// file has been put back.
fn check_generations(disk: &dyn Disk, manifest: &Manifest, copy: &Manifest) -> Result<bool, Error> {
    let damaged = |name, what: String| Err(Error::damaged(disk.path(name), None, what));
    let (generation, of_copy) = (manifest.generation, copy.generation);
    if copy.identity.store != manifest.identity.store {
        return damaged(layout::COPY, "it belongs to another store than the manifest".to_owned());
    }
    match of_copy.checked_sub(generation) {
        Some(0) if copy == manifest => Ok(false),
        Some(0) => {
            damaged(layout::COPY, "it is of the manifest's generation, and differs from it".to_owned())
        }
        Some(1) => Ok(true),
        Some(_) => damaged(
            layout::MANIFEST,
            format!("it is of generation {generation}, and its copy is a later one, of generation {of_copy}"),
        ),
        None => damaged(
            layout::COPY,
            format!(
                "it is of generation {of_copy}, and the manifest is a later one, of generation {generation}"
            ),
        ),
    }
}

fn not_there(disk: &dyn Disk, name: &str) -> Error {
    Error::damaged(disk.path(name), 0, "it is missing, or does not begin as a manifest does")
}

/// Reads and checks the files that a manifest names, and the logs.
fn verify_files<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    options: &VerifyOptions,
) -> Result<(Verified, Replayed), Error> {
    let mut verified = Verified::default();
    verified.families = 1;
    for entry in &manifest.segments {
        let segment = Segment::<F>::open(disk, entry.number)?;
        let found = segment.index.verify_with(options)?;
        if segment.index.file_id().to_bytes() != entry.file_id || found.bytes != entry.bytes {
            let path = disk.path(&layout::segment(entry.number));
            return Err(Error::damaged(path, None, "it is another file than the manifest names"));
        }
        removals_file::read(disk, manifest.identity.store, entry)?;
        verified.add(&found);
    }
    if verified.without_shingles > 0 {
        verified.notes.push(format!(
            "{} documents have no shingles, so no text is found to be similar to them; if a repair lost their shingles, \
             insert them again in their place (removed ones count until the store is compacted)",
            verified.without_shingles
        ));
    }
    let start = manifest.logs_start();
    let replayed = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, _| Ok(()))?;
    verified.batches = replayed.batches;
    Ok((verified, replayed))
}

impl<F: Fingerprint> Store<F> {
    /// Reads and checks all files that the store has at the time of this call. Writes, flushes and merges continue
    /// meanwhile.
    ///
    /// # Errors
    /// The first damage that is found; when the disk refuses an operation.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, Error> {
        let inner = self.inner();
        let _activity = inner.begin()?;
        let pinned = inner.pin()?;
        // Files that this manifest does not name, and an unfinished batch, are those of running writes.
        Ok(verify_files::<F>(&*inner.disk, &pinned.manifest, options)?.0)
    }
}
