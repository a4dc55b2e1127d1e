//! Saving what can be had of a damaged manifest and of damaged logs.

use std::io;

use hamdex::Engine;

use crate::disk::{Disk, link_or_copy};
use crate::error::Error;
use crate::layout;
use crate::log::{LogWriter, Lost, Salvaged, salvage};
use crate::manifest::{
    Manifest, ManifestFile, SalvagedManifest, SegmentEntry, leftovers, read, salvage as salvage_manifest,
};

/// What a repair of the manifest has done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedManifest {
    /// The manifest as it is now.
    pub manifest: Manifest,
    /// What is not certain or lacking; a sentence each.
    pub problems: Vec<String>,
    /// Where the damaged manifest and the files that are in no manifest any more are kept: names within the store's
    /// directory.
    pub kept: Vec<String>,
}

/// Puts what can be read of a damaged manifest in its place. Segments whose lines are damaged, and others that do not
/// fit their files, are not in it any more; their files are kept aside. If it is interrupted, the store is as damaged
/// as before, and it can be repaired again.
///
/// The one who repairs a store must have its [lock](crate::lock::StoreLock).
///
/// # Errors
/// When too little of it can be read; what the operating system refuses. When it is not damaged: what reading it
/// says, or `None`.
pub fn repair_manifest<D: Disk>(disk: &D) -> Result<Option<RepairedManifest>, Error> {
    let damage = match read(disk) {
        Ok(_) => return Ok(None),
        Err(error @ (Error::Damaged { .. } | Error::NotAStore { .. })) => error,
        Err(error) => return Err(error),
    };
    let text = match disk.read(layout::MANIFEST) {
        Ok(text) => text,
        Err(_) => return Err(damage),
    };
    let Some(SalvagedManifest { mut manifest, mut problems, .. }) = salvage_manifest(&text) else {
        return Err(damage);
    };
    manifest.segments.retain(|segment| {
        let fits = fits_its_file(disk, segment);
        if !fits {
            problems.push(format!("what is said of segment {} does not fit its file", segment.number));
        }
        fits
    });
    let unnamed = leftovers(disk, &manifest)?.own;
    let kept = keep_aside(disk, [layout::MANIFEST.to_owned()].into_iter().chain(unnamed))?;
    ManifestFile::new(disk.clone()).replace(&manifest)?;
    Ok(Some(RepairedManifest { manifest, problems, kept }))
}

/// Whether the file of a segment is the one of the manifest, by its length and its file id.
fn fits_its_file<D: Disk>(disk: &D, segment: &SegmentEntry) -> bool {
    let name = layout::segment(segment.number);
    let has_length = disk.length(&name).is_ok_and(|bytes| bytes == segment.bytes);
    // format-spec.md, section 4: the file id is bytes 32 to 47 of every file.
    has_length && disk.read_first(&name, 48).is_ok_and(|first| first.get(32..) == Some(&segment.file_id))
}

/// What a repair of the logs has done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedLogs {
    /// The manifest as it is now.
    pub manifest: Manifest,
    /// How many batches were saved.
    pub batches: u64,
    /// How many operations they have.
    pub operations: u64,
    /// What could not be read.
    pub lost: Vec<Lost>,
    /// Where the damaged logs are kept, as they were: names within the store's directory.
    pub kept: Vec<String>,
}

/// Writes every batch that can be read from the logs into a new log, and lets the manifest begin with that one. The
/// damaged logs are kept aside. If it is interrupted, the store is as damaged as before, and it can be repaired again.
///
/// The one who repairs a store must have its [lock](crate::lock::StoreLock).
///
/// # Errors
/// When the width is not the store's; what the operating system refuses.
pub fn repair_logs<F: Engine, D: Disk>(disk: &D, manifest: &Manifest) -> Result<RepairedLogs, Error> {
    let new_log = next_log(disk, manifest)?;
    let mut log = LogWriter::<F, D>::create(disk.clone(), manifest.identity, new_log, manifest.sequence)?;
    let (identity, start) = (&manifest.identity, manifest.logs_start());
    let salvaged = salvage(disk, identity, start, manifest.sealed, |sequence, batch| {
        log.push_named(sequence, &batch.operations, &batch.names);
        log.write()
    })?;
    log.sync()?;
    let old_logs: Vec<u64> = salvaged.logs.into_iter().filter(|&log| log != new_log).collect();
    let is_damaged = |log: &&u64| salvaged.lost.iter().any(|lost| lost.log == **log);
    let damaged = old_logs.iter().filter(is_damaged).map(|&log| layout::log(log));
    let kept = keep_aside(disk, damaged)?;
    let repaired = Manifest { first_log: new_log, sealed: Some(log.sealed()), ..manifest.clone() };
    let mut file = ManifestFile::new(disk.clone());
    file.replace(&repaired)?;
    file.take_over(&repaired, true)?;
    let Salvaged { batches, operations, lost, .. } = salvaged;
    Ok(RepairedLogs { manifest: repaired, batches, operations, lost, kept })
}

/// The number after those of all logs, whether or not they count.
fn next_log<D: Disk>(disk: &D, manifest: &Manifest) -> Result<u64, Error> {
    let names = disk.list(layout::LOGS).map_err(Error::io("list it", disk.path(layout::LOGS)))?;
    let last = names.iter().filter_map(|name| layout::parse_log(name)).max().unwrap_or(0);
    Ok(last.max(manifest.first_log) + 1)
}

/// Gives files a second name in the directory of what was damaged, durably. Returns these names.
///
/// # Errors
/// What the operating system refuses.
pub fn keep_aside<D: Disk>(disk: &D, names: impl Iterator<Item = String>) -> Result<Vec<String>, Error> {
    let mut kept = Vec::new();
    for name in names {
        let directory = disk.path(layout::DAMAGED);
        disk.create_directory(layout::DAMAGED).map_err(Error::io("create it", directory))?;
        let new_name = keep(disk, &name).map_err(Error::io("keep it aside", disk.path(&name)))?;
        kept.push(new_name);
    }
    if !kept.is_empty() {
        disk.sync_directory(layout::DAMAGED).map_err(Error::io("sync it", disk.path(layout::DAMAGED)))?;
    }
    Ok(kept)
}

/// Links a file, or copies it, to the first free name.
fn keep<D: Disk>(disk: &D, name: &str) -> io::Result<String> {
    let plain = format!("{}/{}", layout::DAMAGED, name.replace('/', "-"));
    for attempt in 1.. {
        let new_name = if attempt == 1 { plain.clone() } else { format!("{plain}.{attempt}") };
        if disk.exists(&new_name)? {
            continue;
        }
        link_or_copy(disk, name, disk, &new_name)?;
        return Ok(new_name);
    }
    unreachable!("there is a free number")
}
