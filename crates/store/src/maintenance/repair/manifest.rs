//! The manifest that a repair goes on with: whole, its copy, or put together from what both and the files say.

use std::collections::BTreeSet;
use std::io;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::keep_aside::keep_aside;
use crate::disk::layout::{self, COPY, MANIFEST};
use crate::error::Error;
use crate::maintenance::repair::{RepairedFile, tried};
use crate::manifest::{self, Manifest, ManifestFile, SalvagedManifest};
use crate::segment::Segment;
use crate::segment::removals_file;

/// The width of the store, by whatever says so.
///
/// # Errors
/// When it is no store, or of a later version; when nothing says so.
pub(super) fn width_of(disk: &dyn Disk) -> Result<u32, Error> {
    match tried(manifest::read(disk))? {
        Ok(manifest) => Ok(manifest.identity.width),
        Err(damage) => best(disk)?.map(|found| found.manifest.identity.width).ok_or(damage),
    }
}

/// The manifest to go on with, which is in its place when this returns. What was damaged of the old one is kept aside,
/// as are the files that the new one does not name.
///
/// # Errors
/// When the manifest and its copy say too little; what the operating system refuses.
pub(super) fn restore<F: Fingerprint>(disk: &dyn Disk) -> Result<Restored, Error> {
    let (mut files, mut kept) = (Vec::new(), Vec::new());
    let manifest = match tried(manifest::read(disk))? {
        Ok(manifest) => manifest,
        Err(damage) => {
            let found = best(disk)?.ok_or(damage)?;
            let mut file = RepairedFile::new(
                disk.path(MANIFEST),
                "damaged, as is its copy; the lines that can be read count",
            );
            file.problems.extend(found.problems);
            let mut manifest = with_lost_segments::<F>(disk, found.manifest, found.lost_lines, &mut file)?;
            if manifest.identity.has_names {
                // It may be of a state that is out of date, or in which a digit is wrong.
                let given = next_id::<F>(disk, &manifest)?;
                manifest.next_id = manifest.next_id.max(given);
            }
            files.push(file);
            // What it named and names no more looks like a leftover.
            kept.extend(keep_aside(disk, manifest::leftovers(disk, &manifest)?.own.into_iter())?);
            manifest
        }
    };
    for name in [MANIFEST, COPY] {
        if files.iter().all(|file: &RepairedFile| file.path != disk.path(name))
            && let Err(damage) = tried(manifest::read_named(disk, name))?
        {
            let mut file = RepairedFile::damaged(disk.path(name), &damage);
            file.problems.push("restored from the other copy".to_owned());
            files.push(file);
        }
    }
    if !files.is_empty() {
        kept.extend(ManifestFile::new(disk).put_in_order(&manifest, false)?);
    }
    Ok(Restored { manifest, files, kept })
}

/// A manifest that is in its place.
pub(super) struct Restored {
    pub(super) manifest: Manifest,
    /// The manifest or its copy, if they were damaged.
    pub(super) files: Vec<RepairedFile>,
    /// Where these are kept, within the store's directory.
    pub(super) kept: Vec<String>,
}

/// Reads what it can of the manifest, and of its copy where that does not prove itself current.
fn best(disk: &dyn Disk) -> Result<Option<SalvagedManifest>, Error> {
    let mut texts = Vec::new();
    for name in [MANIFEST, COPY] {
        let text = match disk.read_first(name, manifest::MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            text => tried(text.map_err(Error::io("read it", disk.path(name))))?,
        };
        texts.push(text.unwrap_or_default());
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    // A refusal of the system says nothing of a file: it ends the repair.
    let mut refused = None;
    let salvaged = manifest::salvage(&texts, |entry| {
        manifest::fits_its_file(disk, entry).unwrap_or_else(|error| {
            refused.get_or_insert(error);
            false
        })
    });
    refused.map_or(Ok(salvaged), Err)
}

/// Adds segments whose lines are lost, as their files describe them. Files that no line is missing for are left by a
/// crash, and have no part in the store.
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
        if let Ok(segment) = tried(Segment::<F>::open(disk, number))? {
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

/// An id above all that the segments have.
fn next_id<F: Fingerprint>(disk: &dyn Disk, manifest: &Manifest) -> Result<u64, Error> {
    let mut next = 0;
    for entry in &manifest.segments {
        if let Ok(segment) = tried(Segment::<F>::open(disk, entry.number))? {
            next = next.max(segment.last_id().map_or(0, |last| last.saturating_add(1)));
        }
    }
    Ok(next)
}
