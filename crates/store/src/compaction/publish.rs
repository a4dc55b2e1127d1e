//! Publishing: changes of the set of files become durable in the manifest, then visible to readers.
//!
//! The inputs of a segment that was written in the background were read some time ago. The journal of the writer has
//! the pairs that were removed since; they are marked in the new segment before it becomes visible. The manifest has,
//! per segment, the sequence number up to which its removals are reflected, so that a replay of the log neither misses
//! a removal nor applies one to later pairs.

use std::sync::Arc;

use hamdex::Fingerprint;

use crate::disk::layout;
use crate::error::Error;
use crate::inner::StoreInner;
use crate::manifest::{Manifest, RemovalsEntry, SegmentEntry};
use crate::segment::removals_file;
use crate::segment::removed_places::RemovedPlaces;
use crate::segment::{LiveSegment, Segment};
use crate::view::View;
use crate::write::batch::Pair;
use crate::write::journal::JournalReader;
use crate::write::writer::Writer;

/// A change of the files that the manifest names.
pub(crate) struct Change<F> {
    pub(crate) added: Option<Added<F>>,
    /// The numbers of the segments that go.
    pub(crate) dropped: Vec<u64>,
    /// Whether the oldest frozen memtable is in the added segment.
    pub(crate) is_flush: bool,
}

/// A new segment.
pub(crate) struct Added<F> {
    segment: Arc<Segment<F>>,
    entry: SegmentEntry,
    /// The removals that the file does not reflect; `None` if only those to come concern it.
    journal: Option<JournalReader>,
    /// Places of pairs that were removed while the file was written.
    removed: RemovedPlaces,
}

impl<F: Fingerprint> Added<F> {
    pub(crate) fn new(segment: Arc<Segment<F>>, entry: SegmentEntry, journal: Option<JournalReader>) -> Self {
        Self { segment, entry, journal, removed: RemovedPlaces::default() }
    }

    /// Removes the pairs from the new segment that have been removed since its inputs were read.
    fn catch_up(&mut self, writer: &Writer<F>) -> Result<(), Error> {
        let Some(reader) = &mut self.journal else { return Ok(()) };
        remove_all(&self.segment, &mut self.removed, writer.journal.since(reader.seen))?;
        reader.seen = writer.journal.end();
        Ok(())
    }
}

impl<F: Fingerprint> StoreInner<F> {
    /// Makes a change of files durable, then visible. The journal is closed in any case.
    ///
    /// # Errors
    /// When the disk refuses it: nothing has changed then, unless the manifest cannot be trusted any more. The new
    /// file is removed, if it can be.
    pub(crate) fn publish(&self, mut change: Change<F>) -> Result<(), Error> {
        let outcome = self.try_publish(&mut change);
        if let Some(added) = change.added {
            if let Some(reader) = added.journal {
                self.writer().journal.close(reader.begun);
            }
            // A manifest that may or may not have been replaced names it; then it has to stay.
            if outcome.is_err() && !self.lock_manifest().is_poisoned() {
                added.segment.retire();
            }
        }
        outcome
    }

    fn try_publish(&self, change: &mut Change<F>) -> Result<(), Error> {
        let mut current = self.lock_manifest();
        self.check_open()?;
        let (view, sequence) = self.prepare(change)?;
        let mut stale = Vec::new();
        let manifest = self.next_manifest(current.manifest(), change, &view, sequence, &mut stale)?;
        drop(view);
        self.replace_manifest(&mut current, manifest)?;
        self.swap_view(change)?;
        self.background.signal_room();
        self.background.signal_work();
        self.remove_files(self.stale_files.retire(stale));
        Ok(())
    }

    /// Makes the log durable and applies the removals since the inputs were read, mostly while writers go on. Returns
    /// the view that the next manifest describes, and its sequence number.
    fn prepare(&self, change: &mut Change<F>) -> Result<(Arc<View<F>>, u64), Error> {
        if let Some(Added { segment, journal: Some(reader), removed, .. }) = &mut change.added {
            let removals: Vec<Pair<F>> = self.writer().journal.since(reader.seen).collect();
            reader.seen += removals.len() as u64;
            remove_all(segment, removed, removals.into_iter())?;
        }
        self.sync_concurrently()?;
        let mut writer = self.writer();
        if let Some(added) = &mut change.added {
            added.journal.get_or_insert_with(|| writer.open_journal());
        }
        // Removals become durable with the files; no batch before them may be lost then.
        writer.sync()?;
        if let Some(added) = &mut change.added {
            added.catch_up(&writer)?;
        }
        Ok((self.view.load_full(), writer.sequence))
    }

    /// Returns the manifest after a change, and writes the removals that it names. Appends the names of the files that
    /// it does without to `stale`.
    fn next_manifest(
        &self,
        current: &Manifest,
        change: &Change<F>,
        view: &View<F>,
        sequence: u64,
        stale: &mut Vec<String>,
    ) -> Result<Manifest, Error> {
        let Change { added, dropped, is_flush } = change;
        let mut manifest = current.clone();
        if *is_flush {
            self.write_all_removals(&mut manifest, view, sequence, stale)?;
        }
        manifest.segments.retain(|entry| !dropped.contains(&entry.number));
        for number in dropped {
            let before = current.segments.iter().find(|entry| entry.number == *number);
            let removals = before.and_then(|entry| entry.removals);
            stale.extend(removals.map(|removals| layout::removals(*number, removals.version)));
        }
        if let Some(added) = added {
            let mut entry = added.entry.clone();
            // A repair goes back to it if the removals since are damaged.
            entry.born = added.journal.map_or(sequence, |reader| reader.sequence);
            entry.applied = sequence;
            self.write_removals(&mut manifest, &mut entry, &added.removed)?;
            manifest.written.segments += entry.bytes;
            if dropped.is_empty() {
                manifest.written.added += entry.bytes;
            }
            manifest.segments.push(entry);
            manifest.segments.sort_by_key(|entry| entry.number);
        }
        if *is_flush && let Some(frozen) = view.frozen.first() {
            manifest.first_log = frozen.next_log;
            manifest.sequence = frozen.sequence;
            manifest.written.logs += frozen.log_bytes;
            manifest.sealed = None;
        }
        manifest.next_segment = self.peek_next_segment();
        manifest.next_id = view.next_id;
        stale.extend((current.first_log..manifest.first_log).map(layout::log));
        Ok(manifest)
    }

    /// Makes a change visible: swaps the view for one with the added segment and without the dropped ones.
    fn swap_view(&self, change: &mut Change<F>) -> Result<(), Error> {
        let Change { added, dropped, is_flush } = change;
        let writer = self.writer();
        if let Some(added) = added {
            added.catch_up(&writer)?;
        }
        let mut view = View::clone(&self.view.load());
        let segments = Arc::make_mut(&mut view.segments);
        let is_gone = |live: &mut LiveSegment<F>| dropped.contains(&live.segment.number);
        let gone: Vec<_> = segments.extract_if(.., is_gone).collect();
        gone.iter().for_each(|live| live.segment.retire());
        segments.extend(added.as_ref().map(|added| LiveSegment {
            segment: Arc::clone(&added.segment),
            removed: added.removed.clone(),
        }));
        if *is_flush {
            view.frozen.remove(0);
        }
        view.ingests += u64::from(!*is_flush && dropped.is_empty());
        let before = self.view.swap(Arc::new(view));
        drop(writer);
        // Large files take their time to go: no writer waits for it.
        self.searchers.clear();
        drop((before, gone));
        Ok(())
    }

    /// Writes the removals of all segments in use, before a flush removes the logs that have them.
    fn write_all_removals(
        &self,
        manifest: &mut Manifest,
        view: &View<F>,
        sequence: u64,
        stale: &mut Vec<String>,
    ) -> Result<(), Error> {
        for live in &*view.segments {
            let at = manifest.segments.iter().position(|entry| entry.number == live.segment.number);
            let at = at.expect("a segment in use is in the manifest");
            let mut entry = manifest.segments[at].clone();
            entry.applied = sequence;
            if live.removed.len() != entry.removals.map_or(0, |removals| removals.count) {
                let before = entry.removals.map(|removals| layout::removals(entry.number, removals.version));
                self.write_removals(manifest, &mut entry, &live.removed)?;
                stale.extend(before);
            }
            manifest.segments[at] = entry;
        }
        Ok(())
    }

    /// Writes the next version of a segment's removals, if there are any.
    fn write_removals(
        &self,
        manifest: &mut Manifest,
        entry: &mut SegmentEntry,
        removed: &RemovedPlaces,
    ) -> Result<(), Error> {
        if removed.is_empty() {
            return Ok(());
        }
        let places = removed.to_places();
        let version = entry.removals.map_or(1, |removals| removals.version + 1);
        let store = manifest.identity.store;
        manifest.written.removals += removals_file::write(&*self.disk, store, entry, version, &places)?;
        entry.removals = Some(RemovalsEntry { version, count: places.len() });
        Ok(())
    }
}

/// Marks pairs of a segment as removed.
fn remove_all<F: Fingerprint>(
    segment: &Arc<Segment<F>>,
    removed: &mut RemovedPlaces,
    pairs: impl Iterator<Item = Pair<F>>,
) -> Result<(), Error> {
    let mut live = LiveSegment { segment: Arc::clone(segment), removed: std::mem::take(removed) };
    let outcome = pairs.into_iter().try_for_each(|pair| {
        if let Some(place) = live.find(pair)? {
            live.removed.insert(place);
        }
        Ok(())
    });
    *removed = live.removed;
    outcome
}
