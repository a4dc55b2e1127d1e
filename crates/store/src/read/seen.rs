//! The part of a store that a reader has seen, and how it goes on when more has been written.

use std::io;
use std::sync::Arc;

use hamdex::Fingerprint;

use crate::disk::Disk;
use crate::error::Error;
use crate::layout;
use crate::log::{HEADER_BYTES, Position, replay_by_log};
use crate::manifest::{Manifest, SegmentEntry};
use crate::open::{Applier, load_segments, open_segment};
use crate::pair::Pair;
use crate::recent::Recent;
use crate::removals;
use crate::removed::Removed;
use crate::segment::{LiveSegment, Opening};
use crate::shape::Shape;
use crate::state::{Frozen, State};

/// A store as it was at one time.
///
/// The pairs of each log are a memtable of their own, as they are for the writer: when it has flushed them, the logs
/// and the memtables before go together.
pub(super) struct Seen<F: Fingerprint, D: Disk> {
    pub(super) manifest: Manifest,
    pub(super) state: Arc<State<F, D>>,
    pub(super) shape: Arc<Shape>,
    /// Where the logs ended.
    end: Position,
    /// How long the last log was, bytes that are no record included.
    length: u64,
}

/// The removals in the logs that count: segments that appear later have not had all of them.
pub(super) type RemovedPairs<F> = Vec<RemovedPair<F>>;

/// A removal in a log.
pub(super) struct RemovedPair<F> {
    log: u64,
    sequence: u64,
    pair: Pair<F>,
}

impl<F: Fingerprint, D: Disk> Seen<F, D> {
    /// Reads all that a manifest names.
    pub(super) fn of(
        disk: &D,
        manifest: Manifest,
        opening: Opening,
        removed: &mut RemovedPairs<F>,
    ) -> Result<Self, Error> {
        removed.clear();
        let state = load_segments(disk, &manifest, opening)?;
        let from = manifest.logs_start();
        Self::with_logs(disk, manifest, state, from, removed)
    }

    /// Reads what has come since: the end of the logs, and what a new manifest names that this one does not.
    pub(super) fn refreshed(
        &self,
        disk: &D,
        manifest: Manifest,
        opening: Opening,
        removed: &mut RemovedPairs<F>,
    ) -> Result<Self, Error> {
        let mut state = State::clone(&self.state);
        let mut from = self.end;
        if manifest != self.manifest {
            if manifest.identity != self.manifest.identity {
                return Self::of(disk, manifest, opening, removed);
            }
            removed.retain(|removed| removed.log >= manifest.first_log);
            state.frozen.retain(|frozen| frozen.next_log > manifest.first_log);
            if from.log < manifest.first_log {
                state.recent = Recent::new(manifest.distance);
                from = manifest.logs_start();
            }
            if from == self.end && length_of(disk, from.log)? < from.offset {
                // Another history of the same store: a backup in its place.
                return Self::of(disk, manifest, opening, removed);
            }
            state.sequence = state.sequence.max(manifest.sequence);
            state.next_id = state.next_id.max(manifest.next_id);
            let segments =
                manifest.segments.iter().map(|entry| self.segment(disk, &manifest, entry, opening, removed));
            state.segments = segments.collect::<Result<Vec<_>, _>>()?.into();
        }
        Self::with_logs(disk, manifest, state, from, removed)
    }

    /// A segment of a new manifest: as it was, if nothing of it has changed.
    fn segment(
        &self,
        disk: &D,
        manifest: &Manifest,
        entry: &SegmentEntry,
        opening: Opening,
        removed: &RemovedPairs<F>,
    ) -> Result<LiveSegment<F, D>, Error> {
        let before = self.manifest.segments.iter().find(|before| before.number == entry.number);
        let live = self.state.segments.iter().find(|live| live.segment.number == entry.number);
        let mut live = match (before, live) {
            (Some(before), Some(live)) if before.file_id == entry.file_id => {
                if before.removals == entry.removals {
                    return Ok(live.clone());
                }
                let removed = Removed::of(removals::read(disk, manifest.identity.store, entry)?);
                LiveSegment { segment: Arc::clone(&live.segment), removed }
            }
            _ => open_segment(disk, manifest, entry, opening)?,
        };
        for &RemovedPair { sequence, pair, .. } in removed {
            if sequence > entry.applied
                && let Some(place) = live.find(pair)?
            {
                live.removed.insert(place);
            }
        }
        Ok(live)
    }

    /// Applies what the logs have from a position on.
    fn with_logs(
        disk: &D,
        manifest: Manifest,
        mut state: State<F, D>,
        from: Position,
        removed: &mut RemovedPairs<F>,
    ) -> Result<Self, Error> {
        let mut current = from.log;
        let mut applier = Applier::new(&manifest, &mut state);
        let apply = |log, sequence, batch: &_| {
            if log > current {
                begin_memtable(applier.state(), log, manifest.distance);
                current = log;
            }
            applier.apply(sequence, batch, |pair| removed.push(RemovedPair { log, sequence, pair }))
        };
        let replayed = replay_by_log(disk, &manifest.identity, from, manifest.sealed, apply)?;
        applier.finish(&replayed);
        if replayed.end.log > current {
            begin_memtable(&mut state, replayed.end.log, manifest.distance);
        }
        let length = replayed.end.offset + replayed.torn.map_or(0, |torn| torn.bytes);
        let shape = Arc::new(Shape::of(&manifest));
        Ok(Self { manifest, state: Arc::new(state), shape, end: replayed.end, length })
    }

    /// Whether there are other files than those that were seen, or more bytes in the logs.
    pub(super) fn has_changed(&self, disk: &D, manifest: &Manifest) -> Result<bool, Error> {
        if *manifest != self.manifest {
            return Ok(true);
        }
        let is_longer = length_of(disk, self.end.log + 1)? > HEADER_BYTES as u64;
        Ok(is_longer || length_of(disk, self.end.log)? != self.length)
    }
}

/// How long a log is; 0 if there is none.
fn length_of<D: Disk>(disk: &D, log: u64) -> Result<u64, Error> {
    let name = layout::log(log);
    match disk.length(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        length => length.map_err(Error::io("read it", disk.path(&name))),
    }
}

/// Keeps the memtable of a log, and begins that of a later one.
fn begin_memtable<F: Fingerprint, D: Disk>(state: &mut State<F, D>, log: u64, distance: u32) {
    let recent = std::mem::replace(&mut state.recent, Recent::new(distance));
    let sequence = state.sequence;
    state.frozen.push(Frozen { recent, next_log: log, sequence, log_bytes: 0 });
    state.generation += 1;
}
