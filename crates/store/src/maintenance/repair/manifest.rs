//! Repair of the manifest: from its copy, or from the readable parts of both and the files.

use std::collections::BTreeSet;
use std::io;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::keep_aside::keep_aside;
use crate::disk::layout::{self, COPY, MANIFEST};
use crate::error::Error;
use crate::maintenance::repair::{RepairedFile, separate_damage};
use crate::manifest::{self, Manifest, ManifestFile, SalvagedManifest};
use crate::segment::Segment;
use crate::segment::removals_file;

/// Returns the width of the store, from the manifest or the readable parts of it and its copy.
///
/// # Errors
/// When the directory is not a store, its version is newer, or the width is unreadable.
pub(super) fn width_of(disk: &dyn Disk) -> Result<u32, Error> {
    match separate_damage(manifest::read(disk))? {
        Ok(manifest) => Ok(manifest.identity.width),
        Err(damage) => {
            let found = best(disk)?.ok_or_else(|| irreparable(disk, damage))?;
            Ok(found.manifest.identity.width)
        }
    }
}

/// Restores the manifest and its copy. Damaged ones are kept aside, as are files that the new manifest does not name.
///
/// # Errors
/// When too little of the manifest and its copy is readable, or the operating system refuses an operation.
pub(super) fn restore<F: Fingerprint>(disk: &dyn Disk) -> Result<Restored, Error> {
    let (mut files, mut kept) = (Vec::new(), Vec::new());
    let manifest = match separate_damage(manifest::read(disk))? {
        Ok(manifest) => manifest,
        Err(damage) => {
            let found = best(disk)?.ok_or_else(|| irreparable(disk, damage))?;
            let mut file = RepairedFile::new(
                disk.path(MANIFEST),
                "damaged, as is its copy; the lines that can be read count",
            );
            file.problems.extend(found.problems);
            let mut manifest = with_lost_segments::<F>(disk, found.manifest, found.lost_lines, &mut file)?;
            if manifest.identity.has_names {
                // The next id may be out of date, or have a wrong digit.
                let given = next_id::<F>(disk, &manifest)?;
                manifest.next_id = manifest.next_id.max(given);
            }
            files.push(file);
            // Files that only the damaged manifest named look like leftovers.
            kept.extend(keep_aside(disk, manifest::leftovers(disk, &manifest)?.own.into_iter())?);
            manifest
        }
    };
    for name in [MANIFEST, COPY] {
        if files.iter().all(|file: &RepairedFile| file.path != disk.path(name))
            && let Err(damage) = separate_damage(manifest::read_named(disk, name))?
        {
            let mut file = RepairedFile::damaged(disk.path(name), &damage);
            file.problems.push("restored from the other copy".to_owned());
            files.push(file);
        }
    }
    if !files.is_empty() {
        kept.extend(ManifestFile::new(disk).restore_copies(&manifest, false)?);
    }
    Ok(Restored { manifest, files, kept })
}

/// Returns the error of a manifest without any readable part, in place of one that recommends a repair.
fn irreparable(disk: &dyn Disk, damage: Error) -> Error {
    match damage {
        Error::Missing { .. } | Error::Damaged { .. } => Error::Irreparable { path: disk.path(MANIFEST) },
        other => other,
    }
}

/// A restored manifest.
pub(super) struct Restored {
    pub(super) manifest: Manifest,
    /// The reports of the manifest and its copy, if they were damaged.
    pub(super) files: Vec<RepairedFile>,
    /// The names of the kept damaged files, relative to the directory of the store.
    pub(super) kept: Vec<String>,
}

/// Salvages a manifest from the manifest and its copy, which may be out of date.
fn best(disk: &dyn Disk) -> Result<Option<SalvagedManifest>, Error> {
    let mut texts = Vec::new();
    for name in [MANIFEST, COPY] {
        let text = match disk.read_first(name, manifest::MAX_BYTES) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            text => separate_damage(text.map_err(Error::io("read it", disk.path(name))))?,
        };
        texts.push(text.unwrap_or_default());
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    // A refusal of the system is no damage: it ends the repair.
    let mut refused = None;
    let salvaged = manifest::salvage(&texts, |entry| {
        manifest::matches_file(disk, entry).unwrap_or_else(|error| {
            refused.get_or_insert(error);
            false
        })
    });
    refused.map_or(Ok(salvaged), Err)
}

/// Adds segments whose lines are lost, as their files describe them. Without lost lines, further files are leftovers of
/// a crash, and no part of the store.
fn with_lost_segments<F: Fingerprint>(
    disk: &dyn Disk,
    mut manifest: Manifest,
    lost_lines: usize,
    file: &mut RepairedFile,
) -> Result<Manifest, Error> {
    if lost_lines == 0 || manifest.identity.width != F::BITS {
        return Ok(manifest);
    }
    let known: BTreeSet<u64> = manifest.segments.iter().map(|entry| entry.number).collect();
    let numbers = layout::listed(disk, layout::SEGMENTS, layout::parse_segment)?;
    for number in
        numbers.into_iter().filter(|number| !known.contains(number) && *number < manifest.next_segment)
    {
        if let Ok(segment) = separate_damage(Segment::<F>::open(disk, number))? {
            let mut entry = segment.entry(0, manifest.sequence);
            entry.removals =
                removals_file::find(disk, manifest.identity.store, &entry)?.map(|(found, _)| found);
            file.problems.push(format!(
                "segment {number} is taken as its file describes it; pairs that were removed may be back, and it \
                 may have been merged into another"
            ));
            file.returned_pairs += entry.pairs - entry.removals.map_or(0, |removals| removals.count);
            manifest.segments.push(entry);
        }
    }
    manifest.segments.sort_unstable_by_key(|entry| entry.number);
    Ok(manifest)
}

/// Returns an id above all ids of the segments.
fn next_id<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<u64, Error> {
    let mut next = 0;
    for entry in &manifest.segments {
        if let Ok(segment) = separate_damage(Segment::<F>::open(disk, entry.number))? {
            next = next.max(segment.last_id().map_or(0, |last| last.saturating_add(1)));
        }
    }
    Ok(next)
}
