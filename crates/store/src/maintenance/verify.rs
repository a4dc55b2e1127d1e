//! Verification: reads and checks every file of a store.

use hamdex::{Fingerprint, Verified, VerifyOptions};

use crate::disk::Disk;
use crate::disk::layout;
use crate::error::Error;
use crate::log::{Replayed, check_names, replay};
use crate::manifest::{self, Manifest};
use crate::segment::Segment;
use crate::segment::removals_file;
use crate::store::Store;

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
    for name in manifest::leftovers(disk, &manifest)?.own.into_iter().chain(unfinished) {
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
