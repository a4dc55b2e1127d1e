//! Salvage: readable pairs of segments and intact records of logs are copied to new ones.

use hamdex::{Fingerprint, Report, default_memory, salvage, shingles};
use hamdex_atomic_file::Pieces;
use roaring::RoaringTreemap;

use crate::disk::{Disk, layout, link_or_copy};
use crate::error::Error;
use crate::log::{self, LogWriter, Lost, Salvaged, Sealed, check_names, operation_bytes, replay};
use crate::maintenance::repair::Changes;
use crate::maintenance::repair::evidence::map_mended;
use crate::maintenance::repair::plan::PlannedSegment;
use crate::maintenance::repair::report::{Repaired, RepairedFile};
use crate::maintenance::repair::separate_damage;
use crate::manifest::Schema;
use crate::manifest::{Manifest, RemovalsEntry, SegmentEntry};
use crate::segment::{ColumnBuilder, Segment, removals_file, write_index};
use crate::write::{Operation, Pair, ids_of};

/// Divisor of the memory: the share of the sets of shingles that are read at once.
const SHINGLE_SHARE: u64 = 4;

/// Maximum number of missing bytes at the end of a file that can still be mended.
const MAX_MISSING_BYTES: u64 = 64;

/// The result of the repair of a segment. Names are relative to the directory of the store.
#[derive(Default)]
pub(super) struct Outcome {
    /// The entry in the new manifest; `None` if no pair is left.
    pub(super) entry: Option<SegmentEntry>,
    /// The reports of the damaged files.
    pub(super) files: Vec<RepairedFile>,
    /// The names of the damaged files.
    pub(super) damaged: Vec<String>,
}

/// Keeps a whole segment, with its salvaged removals, if need be under a new number; otherwise copies its readable pairs
/// to a new segment.
pub(super) fn repair_segment<F: Fingerprint>(
    changes: &mut Changes<'_>,
    manifest: &Manifest,
    planned: &PlannedSegment,
    report: &Report,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    let mut entry = planned.entry.clone();
    let removed = repair_removals(changes, manifest, planned, &mut entry, &mut outcome)?;
    let name = layout::segment(planned.file.unwrap_or(entry.number));
    match &planned.damage {
        None => {
            if planned.file != Some(entry.number) {
                outcome.files.push(RepairedFile::new(
                    layout::segment(entry.number),
                    format!("its file has the name of another: {name}"),
                ));
                outcome.damaged.push(name.clone());
            }
            let has_no_version = entry.removals.is_none() && !removed.is_empty();
            if planned.file != Some(entry.number) || has_no_version {
                entry = renumbered(changes, manifest, entry, &name, &removed)?;
            }
            if !planned.is_named {
                let left = entry.pairs - removed.len();
                outcome.files.push(as_described(&name, left, planned));
            }
            outcome.entry = Some(entry);
        }
        Some(damage) => {
            let mut file = RepairedFile::new(name.clone(), damage);
            let found = match open_damaged::<F>(changes.disk, planned)? {
                Some(segment) => Readable::of(&segment, &removed)?,
                None => Readable::default(),
            };
            found.describe(&mut file, &entry, &removed);
            if !planned.is_named {
                file.returned_pairs = file.returned_pairs.max(file.saved_pairs);
                file.problems.extend(as_described(&name, file.saved_pairs, planned).problems);
            }
            outcome.files.push(file);
            if planned.file.is_some() {
                outcome.damaged.push(name);
            }
            outcome
                .damaged
                .extend(entry.removals.map(|removals| layout::removals(entry.number, removals.version)));
            if !found.pairs.is_empty() {
                let number = changes.new_segment()?;
                outcome.entry = Some(write(changes.disk, manifest, &entry, number, &found, report)?);
            }
        }
    }
    Ok(outcome)
}

/// Returns the report of a segment that the manifest that counts does not name.
fn as_described(name: &str, pairs: u64, planned: &PlannedSegment) -> RepairedFile {
    let by = if planned.file.is_none() {
        "named by an earlier manifest alone"
    } else {
        "taken as its file describes it"
    };
    let problem =
        format!("{by}; pairs that were removed may be back, and it may have been merged into another");
    RepairedFile { returned_pairs: pairs, ..RepairedFile::new(name, problem) }
}

/// Gives a whole segment whose file has the name of another, or whose removals can have no further version, a number of
/// its own.
fn renumbered(
    changes: &mut Changes<'_>,
    manifest: &Manifest,
    entry: SegmentEntry,
    file: &str,
    removed: &RoaringTreemap,
) -> Result<SegmentEntry, Error> {
    let number = changes.new_segment()?;
    let disk = changes.disk;
    let name = layout::segment(number);
    link_or_copy(disk, file, disk, &name, &mut |_| Ok(()))
        .and_then(|()| disk.sync_directory(layout::SEGMENTS))
        .map_err(Error::io("link it", disk.path(&name)))?;
    let mut entry = SegmentEntry { number, removals: None, ..entry };
    if !removed.is_empty() {
        removals_file::write(disk, manifest.identity.store, &entry, 1, removed)?;
        entry.removals = Some(RemovalsEntry { version: 1, count: removed.len() });
    }
    Ok(entry)
}

/// Returns the removals of a segment. If the named ones are damaged, it salvages others: the intact bitmap in a file
/// with extra bytes, those of a later version, or of an earlier one. Whatever a later version removes was removed. With
/// an earlier one, the removals of the logs since the segment was born are applied again. If no version is left for the
/// salvaged ones, the entry names none.
fn repair_removals(
    changes: &mut Changes<'_>,
    manifest: &Manifest,
    planned: &PlannedSegment,
    entry: &mut SegmentEntry,
    outcome: &mut Outcome,
) -> Result<RoaringTreemap, Error> {
    let (disk, store) = (changes.disk, manifest.identity.store);
    let damage = match separate_damage(removals_file::read(disk, store, entry))? {
        Ok(removed) if !planned.has_later_removals => return Ok(removed),
        read => read.err(),
    };
    let named = entry.removals;
    let found = removals_file::find(disk, store, entry)?;
    let found_version = found.as_ref().map(|(found, _)| found.version);
    entry.removals = found.as_ref().map(|(found, _)| *found);
    let removed = found.map(|(_, removed)| removed).unwrap_or_default();
    let (Some(named), Some(damage)) = (named, damage) else { return Ok(removed) };
    let name = layout::removals(entry.number, named.version);
    let mut file = RepairedFile::damaged(name.clone(), &damage);
    if found_version < Some(named.version) {
        entry.applied = entry.born;
    }
    file.returned_pairs = named.count.saturating_sub(removed.len());
    if found_version == Some(named.version) {
        // The intact bytes go to a new file: the damaged one is kept unchanged.
        entry.removals = None;
        if let Some(version) = removals_file::next_version(disk, entry.number)? {
            changes.begin()?;
            removals_file::write(disk, store, entry, version, &removed)?;
            entry.removals = Some(RemovalsEntry { version, count: removed.len() });
        }
    }
    outcome.files.push(file);
    outcome.damaged.push(name);
    Ok(removed)
}

/// Opens a damaged segment, if possible: as it is, or mended with the length and the file id in the manifest.
fn open_damaged<F: Fingerprint>(
    disk: &dyn Disk,
    planned: &PlannedSegment,
) -> Result<Option<hamdex::Index<F>>, Error> {
    let (entry, Some(number)) = (&planned.entry, planned.file) else { return Ok(None) };
    let name = layout::segment(number);
    let length = disk.length(&name).map_err(Error::io("read it", disk.path(&name)))?;
    if length.saturating_add(MAX_MISSING_BYTES) < entry.bytes {
        return Ok(None);
    }
    let index = map_mended::<F>(disk, number, entry.bytes, entry.file_id)?;
    Ok(index.filter(|index| index.len() == entry.fingerprints && index.place_count() == entry.pairs))
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
    /// Reads what can be read.
    ///
    /// # Errors
    /// When memory runs out, or an earlier version has written the shingles.
    fn of(index: &hamdex::Index<F>, removed: &RoaringTreemap) -> Result<Self, Error> {
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
            found.shingles = vec![None; found.names.len()];
            let mut next = 0;
            salvage::for_each_set(index, default_memory() / SHINGLE_SHARE, &mut |id, set| {
                next += found.names[next..].partition_point(|(named, _)| *named < id);
                if found.names.get(next).is_some_and(|(named, _)| *named == id) {
                    found.shingles[next] = shingles::encode(set);
                }
            })?;
        }
        Ok(found)
    }

    /// Adds the findings and the losses to a report.
    fn describe(&self, file: &mut RepairedFile, entry: &SegmentEntry, removed: &RoaringTreemap) {
        file.saved_pairs = self.pairs.len() as u64;
        file.lost_pairs = self.lost(entry, removed);
        file.returned_pairs = self.unplaced.min(removed.len() - self.gone);
        file.lost_names = self.names.iter().filter(|(_, name)| name.is_none()).count() as u64;
        file.lost_shingles = self.shingles.iter().filter(|shingles| shingles.is_none()).count() as u64;
        if file.lost_names > 0 {
            let lost = file.lost_names;
            file.problems.push(format!(
                "the names of {lost} ids cannot be read; pairs with these ids are saved with the empty name"
            ));
        }
        if file.lost_shingles > 0 {
            let lost = file.lost_shingles;
            file.problems.push(format!(
                "the shingles of {lost} documents cannot be read; they are saved without, and no text is similar to \
                 them"
            ));
        }
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
    report: &Report,
) -> Result<SegmentEntry, Error> {
    let name = layout::segment(number);
    let path = disk.path(&name);
    let file = disk.create_new(&name).map_err(Error::io("create it", &path))?;
    let mut file = Pieces::new(file);
    let columns = |builder: &mut ColumnBuilder<'_, F>| {
        for (id, name) in &found.names {
            builder.push_stored_name(*id, name.as_deref().unwrap_or_default())?;
        }
        found.names.iter().zip(&found.shingles).try_for_each(|((id, _), set)| match set {
            Some(encoded) => builder.push_encoded_shingles(*id, encoded),
            None => builder.push_shingles(*id, &[]),
        })
    };
    let options = Schema::of(manifest).build_options()?.report_to(report.clone());
    write_index(options, found.pairs.iter().copied(), columns, &mut file)?;
    let mut file = file.into_inner().map_err(Error::io("write it", &path))?;
    file.sync().map_err(Error::io("sync it", &path))?;
    disk.sync_directory(layout::SEGMENTS).map_err(Error::io("sync its directory", &path))?;
    let segment = Segment::<F>::open(disk, number)?;
    Ok(SegmentEntry { applied: old.applied, ..segment.entry(old.level, old.born) })
}

/// Returns the damage of the logs of a manifest, if they have any, and whether the batches before it remove pairs.
pub(super) fn check_logs<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
) -> Result<(Option<Error>, bool), Error> {
    let (mut has_removals, start) = (false, manifest.logs_start());
    let replayed = replay::<F>(disk, &manifest.identity, start, manifest.sealed, |_, batch| {
        has_removals |= batch.operations.iter().any(|operation| matches!(operation, Operation::Remove(..)));
        Ok(())
    });
    let named = || check_names(disk, &manifest.identity, manifest.first_log);
    Ok((separate_damage(replayed.and_then(|_| named()))?.err(), has_removals))
}

/// Copies every intact batch to the log `number`, which gets its name when it is complete: an incomplete one would
/// count as damaged in the next repair. The manifest begins with that log then. Adds to the report what was lost, and
/// returns the names of the damaged logs.
pub(super) fn copy_intact_logs<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &mut Manifest,
    number: u64,
    damage: &Error,
    repaired: &mut Repaired,
) -> Result<Vec<String>, Error> {
    let copied = copy::<F>(disk, manifest, number);
    let (salvaged, sealed) = copied.inspect_err(|_| drop(disk.remove(&layout::new_log(number))))?;
    (manifest.first_log, manifest.sealed) = (number, Some(sealed));
    let Salvaged { batches, damaged_files, damaged_headers, misnamed, lost, .. } = salvaged;
    repaired.saved_batches += batches;
    repaired.lost_log_parts += lost.len() as u64;
    for (log, file) in &misnamed {
        add_part(repaired, *log, format!("its file has the name of another: {}", layout::log(*file)), 0);
    }
    if damaged_headers.is_empty() && misnamed.is_empty() && lost.is_empty() {
        repaired.add(RepairedFile::damaged(layout::LOGS, damage));
    }
    for log in &damaged_headers {
        add_part(repaired, *log, "the header is damaged; no batch is lost by that".to_owned(), 0);
    }
    let operation_bytes = operation_bytes(&manifest.identity) as u64;
    for Lost { log, offset, bytes, what } in lost {
        let problem = format!("at byte {offset}: {what}; {bytes} bytes are lost");
        add_part(repaired, log, problem, bytes / operation_bytes);
    }
    Ok(damaged_files.into_iter().map(layout::log).collect())
}

fn copy<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    number: u64,
) -> Result<(Salvaged, Sealed), Error> {
    let mut log = LogWriter::<F>::create_incomplete(disk, manifest.identity, number, manifest.sequence)?;
    let (identity, start) = (&manifest.identity, manifest.logs_start());
    let salvaged = log::salvage(disk, identity, start, manifest.sealed, |sequence, batch| {
        log.push_named(sequence, &batch.operations, &batch.names);
        log.write()
    })?;
    log.complete()?;
    Ok((salvaged, log.sealed()))
}

/// Adds a lost part of a log to the report. Its operations may be insertions or removals.
fn add_part(repaired: &mut Repaired, log: u64, problem: String, operations: u64) {
    let file = repaired.of_file(layout::log(log).as_ref());
    file.problems.push(problem);
    file.lost_pairs += operations;
    file.returned_pairs += operations;
}
