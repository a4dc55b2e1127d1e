//! The view of a reader, and its refresh after later writes.

use std::io;
use std::sync::Arc;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::disk::layout;
use crate::error::Error;
use crate::log::{HEADER_BYTES, Position, replay_by_log};
use crate::manifest::schema::Schema;
use crate::manifest::{Manifest, SegmentEntry};
use crate::memtable::Memtable;
use crate::recovery::{Applier, load_segments, open_segment};
use crate::segment::removals_file;
use crate::segment::removed_places::RemovedPlaces;
use crate::segment::{LiveSegment, Opening};
use crate::view::{FrozenMemtable, View};
use crate::write::batch::Pair;

/// The view of a reader.
///
/// The pairs of each log are a memtable of their own, as in the writing process: after a flush, the logs and their
/// memtables are dropped together.
pub(super) struct Seen<F: Fingerprint> {
    pub(super) manifest: Manifest,
    pub(super) view: Arc<View<F>>,
    pub(super) schema: Arc<Schema>,
    /// The end of the logs.
    end: Position,
    /// The length of the last log, including bytes that are no record.
    length: u64,
}

/// The removals in the live logs, which new segments may not reflect.
pub(super) type LoggedRemovals<F> = Vec<LoggedRemoval<F>>;

/// A removal in a log.
pub(super) struct LoggedRemoval<F> {
    log: u64,
    sequence: u64,
    pair: Pair<F>,
}

impl<F: Fingerprint> Seen<F> {
    /// Reads all files that a manifest names.
    pub(super) fn of(
        disk: &dyn Disk,
        manifest: Manifest,
        opening: Opening,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        removed.clear();
        let view = load_segments(disk, &manifest, opening)?;
        let from = manifest.logs_start();
        Self::with_logs(disk, manifest, view, from, removed)
    }

    /// Reads later writes: the end of the logs, and the new files of a new manifest.
    pub(super) fn refreshed(
        &self,
        disk: &dyn Disk,
        manifest: Manifest,
        opening: Opening,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        let mut view = View::clone(&self.view);
        let mut from = self.end;
        if manifest != self.manifest {
            if manifest.identity != self.manifest.identity {
                return Self::of(disk, manifest, opening, removed);
            }
            removed.retain(|removed| removed.log >= manifest.first_log);
            view.frozen.retain(|frozen| frozen.next_log > manifest.first_log);
            if from.log < manifest.first_log {
                view.memtable = Memtable::new(manifest.distance);
                from = manifest.logs_start();
            }
            if from == self.end && length_of(disk, from.log)? < from.offset {
                // The directory has been replaced by a backup of the same store.
                return Self::of(disk, manifest, opening, removed);
            }
            view.sequence = view.sequence.max(manifest.sequence);
            view.next_id = view.next_id.max(manifest.next_id);
            let segments =
                manifest.segments.iter().map(|entry| self.segment(disk, &manifest, entry, opening, removed));
            view.segments = segments.collect::<Result<Vec<_>, _>>()?.into();
        }
        Self::with_logs(disk, manifest, view, from, removed)
    }

    /// Returns a segment of a new manifest, without opening it again if it has not changed.
    fn segment(
        &self,
        disk: &dyn Disk,
        manifest: &Manifest,
        entry: &SegmentEntry,
        opening: Opening,
        removed: &LoggedRemovals<F>,
    ) -> Result<LiveSegment<F>, Error> {
        let before = self.manifest.segments.iter().find(|before| before.number == entry.number);
        let live = self.view.segments.iter().find(|live| live.segment.number == entry.number);
        let mut live = match (before, live) {
            (Some(before), Some(live)) if before.file_id == entry.file_id => {
                if before.removals == entry.removals {
                    return Ok(live.clone());
                }
                let removed = RemovedPlaces::of(removals_file::read(disk, manifest.identity.store, entry)?);
                LiveSegment { segment: Arc::clone(&live.segment), removed }
            }
            _ => open_segment(disk, manifest, entry, opening)?,
        };
        for &LoggedRemoval { sequence, pair, .. } in removed {
            if sequence > entry.applied
                && let Some(place) = live.find(pair)?
            {
                live.removed.insert(place);
            }
        }
        Ok(live)
    }

    /// Applies the logs from a position on.
    fn with_logs(
        disk: &dyn Disk,
        manifest: Manifest,
        mut view: View<F>,
        from: Position,
        removed: &mut LoggedRemovals<F>,
    ) -> Result<Self, Error> {
        let mut current = from.log;
        let mut applier = Applier::new(&manifest, &mut view);
        let apply = |log, sequence, batch: &_| {
            if log > current {
                begin_memtable(applier.view(), log, manifest.distance);
                current = log;
            }
            applier.apply(sequence, batch, |pair| removed.push(LoggedRemoval { log, sequence, pair }))
        };
        let replayed = replay_by_log(disk, &manifest.identity, from, manifest.sealed, apply)?;
        applier.finish(&replayed);
        if replayed.end.log > current {
            begin_memtable(&mut view, replayed.end.log, manifest.distance);
        }
        let length = replayed.end.offset + replayed.torn.map_or(0, |torn| torn.bytes);
        let schema = Arc::new(Schema::of(&manifest));
        Ok(Self { manifest, view: Arc::new(view), schema, end: replayed.end, length })
    }

    /// Whether the manifest has changed, or the logs have grown.
    pub(super) fn has_changed(&self, disk: &dyn Disk, manifest: &Manifest) -> Result<bool, Error> {
        if *manifest != self.manifest {
            return Ok(true);
        }
        let is_longer = length_of(disk, self.end.log + 1)? > HEADER_BYTES as u64;
        Ok(is_longer || length_of(disk, self.end.log)? != self.length)
    }
}

/// Returns the length of a log; 0 if it does not exist.
fn length_of(disk: &dyn Disk, log: u64) -> Result<u64, Error> {
    let name = layout::log(log);
    match disk.length(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        length => length.map_err(Error::io("read it", disk.path(&name))),
    }
}

/// Freezes the memtable of a log, and begins the one of a later log.
fn begin_memtable<F: Fingerprint>(view: &mut View<F>, log: u64, distance: u32) {
    let memtable = std::mem::replace(&mut view.memtable, Memtable::new(distance));
    let sequence = view.sequence;
    view.frozen.push(FrozenMemtable { memtable, next_log: log, sequence, log_bytes: 0 });
    view.generation += 1;
}
