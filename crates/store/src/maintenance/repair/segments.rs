//! Repair of a segment: readable pairs are copied to a new one.

use std::io;
use std::sync::Arc;

use hamdex::{Fingerprint, OpenOptions, ProgressCallback, VerifyOptions, salvage, shingles};
use hamdex_atomic_file::Pieces;
use roaring::RoaringTreemap;

use crate::disk::Disk;
use crate::disk::layout;
use crate::error::Error;
use crate::maintenance::repair::{RepairedFile, separate_damage};
use crate::manifest::schema::Schema;
use crate::manifest::{Manifest, SegmentEntry};
use crate::recovery::difference;
use crate::segment::Segment;
use crate::segment::removals_file;
use crate::segment::write_index;
use crate::write::batch::{Pair, ids_of};

/// Maximum number of missing bytes at the end of a file that can still be mended.
const MAX_MISSING_BYTES: u64 = 64;

/// The result of the repair of a segment.
#[derive(Default)]
pub(super) struct Outcome {
    /// The entry in the new manifest; `None` if no pair is left.
    pub(super) entry: Option<SegmentEntry>,
    /// The reports of the damaged files.
    pub(super) files: Vec<RepairedFile>,
    /// The names of the damaged files.
    pub(super) damaged: Vec<String>,
}

/// Keeps an intact segment, with its salvaged removals; otherwise copies its readable pairs to a new segment of the
/// number `next_segment`.
pub(super) fn repair_segment<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    entry: &SegmentEntry,
    next_segment: u64,
    report: &ProgressCallback,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let mut entry = entry.clone();
    let removed = repair_removals(disk, manifest, &mut entry, &mut outcome)?;
    let Err(damage) = separate_damage(check::<F>(disk, manifest, &entry, report))? else {
        outcome.entry = Some(entry);
        return Ok(outcome);
    };
    let name = layout::segment(entry.number);
    let mut file = RepairedFile::damaged(disk.path(&name), &damage);
    let found = match open_damaged::<F>(disk, &entry)? {
        Some(segment) => Readable::of(&segment, &removed),
        None => Readable::default(),
    };
    file.saved_pairs = found.pairs.len() as u64;
    file.lost_pairs = found.lost(&entry, &removed);
    file.returned_pairs = found.unplaced.min(removed.len() - found.gone);
    file.lost_names = found.names.iter().filter(|(_, name)| name.is_none()).count() as u64;
    if file.lost_names > 0 {
        let lost = file.lost_names;
        file.problems.push(format!(
            "the names of {lost} ids cannot be read; pairs with these ids are saved with the empty name"
        ));
    }
    let lost = found.shingles.iter().filter(|shingles| shingles.is_none()).count();
    if lost > 0 {
        file.problems.push(format!(
            "the shingles of {lost} documents cannot be read; they are saved without, and no text is similar to them"
        ));
    }
    outcome.files.push(file);
    outcome.damaged.push(name);
    outcome.damaged.extend(entry.removals.map(|removals| layout::removals(entry.number, removals.version)));
    if !found.pairs.is_empty() {
        outcome.entry = Some(write(disk, manifest, &entry, next_segment, &found, report)?);
    }
    Ok(outcome)
}

/// Returns the removals of a segment. If the named ones are damaged, it salvages others: the intact bitmap in a file
/// with extra bytes, or an earlier version. The removals of the logs since the segment was born are applied again then.
fn repair_removals(
    disk: &dyn Disk,
    manifest: &Manifest,
    entry: &mut SegmentEntry,
    outcome: &mut Outcome,
) -> Result<RoaringTreemap, Error> {
    let store = manifest.identity.store;
    let (named, damage) = match (entry.removals, separate_damage(removals_file::read(disk, store, entry))?) {
        (_, Ok(removed)) => return Ok(removed),
        (None, Err(damage)) => return Err(damage),
        (Some(named), Err(damage)) => (named, damage),
    };
    let name = layout::removals(entry.number, named.version);
    let mut file = RepairedFile::damaged(disk.path(&name), &damage);
    let found = removals_file::find(disk, store, entry)?;
    entry.applied = entry.born;
    entry.removals = found.as_ref().map(|(found, _)| *found);
    let removed = found.map(|(_, removed)| removed).unwrap_or_default();
    file.returned_pairs = named.count.saturating_sub(removed.len());
    if entry.removals.is_some_and(|found| found.version == named.version) {
        // The intact bytes go to a new file: the damaged one is kept unchanged.
        let version = removals_file::next_version(disk, entry.number)?;
        removals_file::write(disk, store, entry, version, &removed)?;
        entry.removals = Some(crate::manifest::RemovalsEntry { version, count: removed.len() });
    }
    outcome.files.push(file);
    outcome.damaged.push(name);
    Ok(removed)
}

/// Checks that a segment is the one that the manifest names, and intact.
fn check<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    entry: &SegmentEntry,
    report: &ProgressCallback,
) -> Result<(), Error> {
    let name = layout::segment(entry.number);
    let path = disk.path(&name);
    if !disk.exists(&name).map_err(Error::io("read it", &path))? {
        return Err(Error::Missing { path });
    }
    let segment = Segment::<F>::open(disk, entry.number)?;
    if let Some(differs) = difference(&segment, manifest, entry) {
        return Err(Error::damaged(
            path,
            None,
            format!("it is not the file that the manifest names: {differs}"),
        ));
    }
    let report = Arc::clone(report);
    segment.index.verify_with(&VerifyOptions::new().progress(move |progress| report(progress)))?;
    Ok(())
}

/// Opens a damaged segment, if possible: as it is, or mended with the length and the file id in the manifest.
fn open_damaged<F: Fingerprint>(
    disk: &dyn Disk,
    entry: &SegmentEntry,
) -> Result<Option<hamdex::Index<F>>, Error> {
    let name = layout::segment(entry.number);
    let path = disk.path(&name);
    let length = match disk.length(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        length => length.map_err(Error::io("read it", &path))?,
    };
    if length.saturating_add(MAX_MISSING_BYTES) < entry.bytes {
        return Ok(None);
    }
    let mend = &mut |bytes: &mut [u8]| salvage::mend::<F>(bytes, entry.file_id);
    let mapped =
        separate_damage(disk.map_changed(&name, entry.bytes, mend).map_err(Error::io("map it", &path)))?;
    let Ok(data) = mapped else { return Ok(None) };
    let index = separate_damage(OpenOptions::new().from_mapping::<F>(data, &path).map_err(Error::Read))?.ok();
    Ok(index.filter(|index| {
        let is_the_one = index.len() == entry.fingerprints && index.place_count() == entry.pairs;
        is_the_one && index.file_id().to_bytes() == entry.file_id
    }))
}

/// The readable pairs of a segment.
#[derive(Default)]
struct Readable<F> {
    /// Pairs that are not known to be removed, in order.
    pairs: Vec<Pair<F>>,
    /// Their ids, ascending, with their readable names; empty in a store without names.
    names: Vec<(u64, Option<Vec<u8>>)>,
    /// The readable shingles of these ids, encoded; empty in a store without shingles.
    shingles: Vec<Option<Vec<u8>>>,
    /// The number of readable removed pairs.
    gone: u64,
    /// The number of readable pairs of unknown place, which may have been removed.
    unplaced: u64,
}

impl<F: Fingerprint> Readable<F> {
    fn of(index: &hamdex::Index<F>, removed: &RoaringTreemap) -> Self {
        let mut found =
            Self { pairs: Vec::new(), names: Vec::new(), shingles: Vec::new(), gone: 0, unplaced: 0 };
        salvage::for_each_readable(index, &mut |place, fingerprint, id| {
            if place.is_some_and(|place| removed.contains(place)) {
                found.gone += 1;
                return;
            }
            found.unplaced += u64::from(place.is_none());
            found.pairs.push((fingerprint, id));
        });
        if index.has_names() {
            let names = index.names().ok().flatten();
            let name_of = |id| names.and_then(|names| names.get(id).ok().flatten()).map(<[u8]>::to_vec);
            found.names = ids_of(&found.pairs).into_iter().map(|id| (id, name_of(id))).collect();
        }
        if index.has_shingles() {
            let stored = index.shingles().ok().flatten();
            let mut set = Vec::new();
            let mut shingles_of = |id| {
                let encoded = stored?.encoded_of(id).ok().flatten()?;
                shingles::decode(encoded, &mut set).then(|| encoded.to_vec())
            };
            found.shingles = found.names.iter().map(|(id, _)| shingles_of(*id)).collect();
        }
        found
    }

    /// Returns the number of pairs of the segment that are neither readable nor removed.
    fn lost(&self, entry: &SegmentEntry, removed: &RoaringTreemap) -> u64 {
        let unread = entry.pairs.saturating_sub(self.pairs.len() as u64 + self.gone);
        // With unknown places, all other removals may be of readable pairs.
        let known_gone = if self.unplaced == 0 { removed.len() - self.gone } else { 0 };
        unread.saturating_sub(known_gone)
    }
}

/// Writes a segment of the readable pairs of another.
fn write<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    old: &SegmentEntry,
    number: u64,
    found: &Readable<F>,
    report: &ProgressCallback,
) -> Result<SegmentEntry, Error> {
    let name = layout::segment(number);
    let path = disk.path(&name);
    let file = disk.create_new(&name).map_err(Error::io("create it", &path))?;
    let mut file = Pieces::new(file);
    let nothing = shingles::encode(&[]).expect("the empty set ascends");
    let names = found.names.iter().enumerate().map(|(number, (id, name))| {
        let shingles = found.shingles.get(number).and_then(Option::as_deref).unwrap_or(&nothing);
        Ok((*id, name.as_deref().unwrap_or_default(), shingles))
    });
    let report = Arc::clone(report);
    let options = Schema::of(manifest).build_options()?.progress(move |progress| report(progress));
    write_index(options, found.pairs.iter().copied(), names, &mut file)?;
    let mut file = file.into_inner().map_err(Error::io("write it", &path))?;
    file.sync().map_err(Error::io("sync it", &path))?;
    disk.sync_directory(layout::SEGMENTS).map_err(Error::io("sync its directory", &path))?;
    let segment = Segment::<F>::open(disk, number)?;
    Ok(SegmentEntry { applied: old.applied, ..segment.entry(old.level, old.born) })
}
