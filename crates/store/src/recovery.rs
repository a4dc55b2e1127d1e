//! Recovery: from the manifest, the segments and the logs to a view.

use std::collections::HashMap;

use hamdex::Fingerprint;

use crate::disk::{Disk, layout};
use crate::error::Error;
use crate::log::{HEADER_BYTES, LogWriter, Replayed, check_names, check_width, replay};
use crate::manifest::file::CurrentManifest;
use crate::manifest::{self, Manifest, SegmentEntry};
use crate::options::StoreOptions;
use crate::segment::removed_places::RemovedPlaces;
use crate::segment::{LiveSegment, Opening, Segment, removals_file};
use crate::view::View;
use crate::write::writer::Writer;
use crate::write::{Batch, Operation, Pair};

/// The parts of a store that is open for writing.
pub(crate) struct Opened<F: Fingerprint> {
    pub(crate) current: CurrentManifest,
    pub(crate) writer: Writer<F>,
    pub(crate) view: View<F>,
}

impl<F: Fingerprint> Opened<F> {
    /// Reads the manifest and the files that it names, replays the logs, and makes both durable. The caller must have
    /// the lock of the store. Unless `is_alone`, a process may exist that held a lock that was removed: then the log is
    /// written again even after a clean shutdown, so that none of its bytes come from the file of that process.
    pub(crate) fn load(disk: &dyn Disk, options: StoreOptions, is_alone: bool) -> Result<Self, Error> {
        let manifest = manifest::read(disk)?;
        let (mut view, mut replayed) = load(disk, &manifest, options.opening())?;
        check_before_sweeping(disk, &manifest, &view)?;
        replayed.is_clean &= is_alone;
        view.memtable = view.memtable.with_background_merges();
        let mut current = CurrentManifest::new(disk, manifest.clone());
        current.take_over(replayed.is_clean)?;
        let log = LogWriter::resume(disk, manifest.identity, &replayed)?;
        view.log_bytes = log.bytes() - HEADER_BYTES as u64;
        for earlier in manifest.first_log..log.number() {
            let name = layout::log(earlier);
            let bytes = disk.length(&name).map_err(Error::io("read it", disk.path(&name)))?;
            view.log_bytes += bytes.saturating_sub(HEADER_BYTES as u64);
        }
        let writer = Writer::new(log, view.sequence);
        Ok(Self { current, writer, view })
    }
}

/// Reads the segments that the later one of the manifest and its copy has added, before files that only the other names
/// are removed as leftovers: a crash came between the replacement of the copy and that of the manifest. No log is a
/// leftover that only has the name of one.
fn check_before_sweeping<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    view: &View<F>,
) -> Result<(), Error> {
    check_names(disk, &manifest.identity, manifest.first_log)?;
    for name in [layout::MANIFEST, layout::COPY] {
        let other = match manifest::read_named(disk, name) {
            Ok(other) if other != *manifest => other,
            _ => continue,
        };
        let is_added = |live: &&LiveSegment<F>| other.entry(live.segment.number).is_none();
        for live in view.segments.iter().filter(is_added) {
            live.index().verify()?;
        }
    }
    Ok(())
}

/// Opens the segments of a manifest, without the logs.
pub(crate) fn load_segments<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    opening: Opening,
) -> Result<View<F>, Error> {
    check_width::<F>(disk, &manifest.identity)?;
    let mut view = View::new(manifest.distance);
    view.sequence = manifest.sequence;
    view.next_id = manifest.next_id;
    let segments = manifest.segments.iter().map(|entry| open_segment(disk, manifest, entry, opening));
    view.segments = segments.collect::<Result<Vec<_>, _>>()?.into();
    Ok(view)
}

/// Opens the segments of a manifest and replays the logs.
pub(crate) fn load<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    opening: Opening,
) -> Result<(View<F>, Replayed), Error> {
    let mut view = load_segments(disk, manifest, opening)?;
    let mut applier = Applier::new(manifest, &mut view);
    let apply = |sequence, batch: &_| applier.apply(sequence, batch, |_| {});
    let replayed = replay(disk, &manifest.identity, manifest.logs_start(), manifest.sealed, apply)?;
    applier.finish(&replayed);
    Ok((view, replayed))
}

/// Applies the batches of logs to a view.
pub(crate) struct Applier<'s, F: Fingerprint> {
    view: &'s mut View<F>,
    /// The sequence number up to which each segment reflects removals.
    applied: HashMap<u64, u64>,
    /// Pairs that are not in the view yet.
    inserts: Vec<Pair<F>>,
}

impl<'s, F: Fingerprint> Applier<'s, F> {
    pub(crate) fn new(manifest: &Manifest, view: &'s mut View<F>) -> Self {
        let applied = manifest.segments.iter().map(|entry| (entry.number, entry.applied)).collect();
        Self { view, applied, inserts: Vec::new() }
    }

    /// Applies a batch. `removed` is called with each pair that it removes.
    pub(crate) fn apply(
        &mut self,
        sequence: u64,
        batch: &Batch<F>,
        mut removed: impl FnMut(Pair<F>),
    ) -> Result<(), Error> {
        if let Some(last) = batch.last_id() {
            self.view.next_id = self.view.next_id.max(last.saturating_add(1));
            self.view.memtable.documents.insert(&batch.names);
        }
        for operation in &batch.operations {
            match *operation {
                Operation::Insert(fingerprint, id) => self.inserts.push((fingerprint, id)),
                Operation::Remove(fingerprint, id) => {
                    self.insert();
                    let applied = &self.applied;
                    // Pairs that a segment got after this removal stay.
                    self.view.remove((fingerprint, id), |live| applied[&live.segment.number] < sequence)?;
                    removed((fingerprint, id));
                }
            }
        }
        if self.inserts.len() >= MAX_PENDING {
            self.insert();
        }
        Ok(())
    }

    /// Returns the view, with everything applied.
    pub(crate) fn view(&mut self) -> &mut View<F> {
        self.insert();
        self.view
    }

    fn insert(&mut self) {
        self.view.memtable.insert(&self.inserts);
        self.inserts.clear();
    }

    /// Ends at the end of the logs.
    pub(crate) fn finish(mut self, replayed: &Replayed) {
        self.insert();
        let published = self.applied.values().copied().max().unwrap_or(0);
        self.view.sequence = replayed.end.sequence.max(self.view.sequence).max(published);
    }
}

/// Pairs that are inserted at once.
const MAX_PENDING: usize = 1 << 16;

pub(crate) fn open_segment<F: Fingerprint>(
    disk: &dyn Disk,
    manifest: &Manifest,
    entry: &SegmentEntry,
    opening: Opening,
) -> Result<LiveSegment<F>, Error> {
    let name = layout::segment(entry.number);
    let path = disk.path(&name);
    if !disk.exists(&name).map_err(Error::io("read it", &path))? {
        return Err(Error::Missing { path });
    }
    let segment = Segment::open_as(disk, entry.number, opening)?;
    if let Some(differs) = difference(&segment, manifest, entry) {
        return Err(Error::damaged(
            path,
            None,
            format!("it is not the file that the manifest names: {differs}"),
        ));
    }
    let removed = RemovedPlaces::of(removals_file::read(disk, manifest.identity.store, entry)?);
    Ok(LiveSegment { segment: segment.into(), removed })
}

/// Returns how a segment differs from its entry in the manifest.
pub(crate) fn difference<F: Fingerprint>(
    segment: &Segment<F>,
    manifest: &Manifest,
    entry: &SegmentEntry,
) -> Option<&'static str> {
    let index = &segment.index;
    let identity = &manifest.identity;
    if index.file_id().to_bytes() != entry.file_id {
        Some("its file id differs")
    } else if segment.bytes != entry.bytes {
        Some("its length differs")
    } else if index.has_ids() != identity.has_ids {
        Some("it has ids and the store has none, or the reverse")
    } else if index.has_names() != identity.has_names {
        Some("it has names and the store has none, or the reverse")
    } else if index.has_shingles() != identity.has_shingles {
        Some("it has shingles and the store has none, or the reverse")
    } else if manifest.lookups && !index.has_lookups() {
        Some("it has no look-ups, and the store has")
    } else if index.len() != entry.fingerprints || segment.pairs() != entry.pairs {
        Some("it has another number of fingerprints or pairs")
    } else if identity.has_names && segment.last_id().is_some_and(|last| last >= manifest.next_id) {
        Some("it has an id that the store has not assigned yet")
    } else {
        None
    }
}
