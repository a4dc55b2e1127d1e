//! Publishing: changes of the set of files become durable in the manifest, then visible to readers.
//!
//! The inputs of a new segment were read some time ago: [`journal`](crate::write::journal) tells how it gets the removals
//! since. The manifest has, per segment, the sequence number up to which its removals are reflected, so that a replay of
//! the log neither misses a removal nor applies one to later pairs.
//!
//! All that can fail comes before the manifest is replaced. Afterwards nothing fails, so no file that it names is
//! removed.

use std::sync::Arc;

use hamdex::Fingerprint;

use crate::disk::layout;
use crate::error::Error;
use crate::health::Event;
use crate::inner::StoreInner;
use crate::manifest::{Manifest, RemovalsEntry, SegmentEntry};
use crate::segment::removed_places::RemovedPlaces;
use crate::segment::{LiveSegment, Segment, removals_file};
use crate::view::View;
use crate::write::Pair;
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
    /// With the removals until it became pending.
    live: LiveSegment<F>,
    entry: SegmentEntry,
    /// The removals that the file does not reflect; `None` if only later ones concern it.
    journal: Option<JournalReader>,
}

impl<F: Fingerprint> Added<F> {
    pub(crate) fn new(segment: Arc<Segment<F>>, entry: SegmentEntry, journal: Option<JournalReader>) -> Self {
        Self { live: LiveSegment { segment, removed: RemovedPlaces::default() }, entry, journal }
    }

    /// Reads the removals since its inputs were read, or since the last call.
    fn read_removals(&self, writer: &Writer<F>) -> Vec<Pair<F>> {
        self.journal.as_ref().map_or(Vec::new(), |reader| writer.journal.read(reader))
    }

    /// Marks pairs as removed.
    fn remove(&mut self, pairs: Vec<Pair<F>>) -> Result<(), Error> {
        for pair in pairs {
            if let Some(place) = self.live.find(pair)? {
                self.live.removed.insert(place);
            }
        }
        Ok(())
    }
}

impl<F: Fingerprint> StoreInner<F> {
    /// Makes a change of files durable, then visible.
    ///
    /// # Errors
    /// When the disk refuses it: nothing has changed then, unless the manifest cannot be trusted any more. The new
    /// file is removed, unless a manifest may name it.
    pub(crate) fn publish(&self, mut change: Change<F>) -> Result<(), Error> {
        let outcome = self.try_publish(&mut change);
        let added = change.added.map(|added| added.live.segment);
        self.writer().journal.trim();
        if let Some(segment) = added {
            if outcome.is_ok() {
                self.background.notify(&Event::Added(segment.number));
            } else if !self.lock_manifest().may_name(segment.number) {
                segment.retire();
            }
        }
        outcome
    }

    fn try_publish(&self, change: &mut Change<F>) -> Result<(), Error> {
        let mut current = self.lock_manifest();
        self.check_open()?;
        // Files that the uncertain manifest names must not be written again.
        current.check()?;
        let (view, sequence) = self.prepare(change)?;
        let mut stale = Vec::new();
        let replaced = self
            .next_manifest(current.manifest(), change, &view, sequence, &mut stale)
            .and_then(|manifest| self.replace_manifest(&mut current, manifest));
        drop(view);
        if let Err(error) = replaced {
            self.change_view(|view| view.pending = None);
            return Err(error);
        }
        self.swap_view(change);
        self.background.signal_room();
        self.background.signal_work();
        self.remove_files(self.stale_files.retire(stale));
        Ok(())
    }

    /// Makes the log durable and applies the removals since the inputs were read, mostly while writers continue. Then the
    /// new segment is pending. Returns the view that the next manifest describes, and its sequence number.
    fn prepare(&self, change: &mut Change<F>) -> Result<(Arc<View<F>>, u64), Error> {
        if let Some(added) = &mut change.added {
            let removals = added.read_removals(&self.writer());
            added.remove(removals)?;
        }
        self.sync_concurrently()?;
        let mut writer = self.writer();
        // Removals become durable with the files; no batch before them may be lost then.
        writer.sync()?;
        let mut view = View::clone(&self.view.load());
        if let Some(added) = &mut change.added {
            added.remove(added.read_removals(&writer))?;
            view.pending = Some(added.live.clone());
        }
        let view = Arc::new(view);
        self.view.store(Arc::clone(&view));
        Ok((view, writer.sequence))
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
            let removals = current.entry(*number).and_then(|entry| entry.removals);
            stale.extend(removals.map(|removals| layout::removals(*number, removals.version)));
        }
        if let Some(added) = added {
            let mut entry = added.entry.clone();
            // A repair goes back to it if the removals since are damaged.
            entry.born = added.journal.as_ref().map_or(sequence, |reader| reader.sequence);
            entry.applied = sequence;
            self.write_removals(&mut manifest, &mut entry, &added.live.removed)?;
            add(&mut manifest.written.segments, entry.bytes);
            if dropped.is_empty() {
                add(&mut manifest.written.added, entry.bytes);
            }
            manifest.segments.push(entry);
            manifest.segments.sort_by_key(|entry| entry.number);
        }
        if *is_flush && let Some(frozen) = view.frozen.first() {
            manifest.first_log = frozen.next_log;
            manifest.sequence = frozen.sequence;
            add(&mut manifest.written.logs, frozen.log_bytes);
            manifest.sealed = None;
        }
        manifest.next_segment = self.peek_next_segment();
        manifest.next_id = view.next_id;
        stale.extend((current.first_log..manifest.first_log).map(layout::log));
        Ok(manifest)
    }

    /// Makes a change visible: swaps the view for one with the pending segment and without the dropped ones.
    fn swap_view(&self, change: &Change<F>) {
        let Change { dropped, is_flush, .. } = change;
        let mut gone = Vec::new();
        let before = self.change_view(|view| {
            let segments = Arc::make_mut(&mut view.segments);
            gone.extend(segments.extract_if(.., |live| dropped.contains(&live.segment.number)));
            segments.extend(view.pending.take());
            if *is_flush {
                view.frozen.remove(0);
            }
            view.ingests += u64::from(!*is_flush && dropped.is_empty());
        });
        gone.iter().for_each(|live| live.segment.retire());
        // Large files take their time to go: no writer waits for it.
        self.searchers.clear();
        drop((before, gone));
    }

    /// Replaces the view by a changed copy. Returns the one before.
    fn change_view(&self, change: impl FnOnce(&mut View<F>)) -> Arc<View<F>> {
        let _writer = self.writer();
        let mut view = View::clone(&self.view.load());
        change(&mut view);
        self.view.swap(Arc::new(view))
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
        let bytes = removals_file::write(&*self.disk, store, entry, version, &places)?;
        add(&mut manifest.written.removals, bytes);
        entry.removals = Some(RemovalsEntry { version, count: places.len() });
        Ok(())
    }
}

/// Adds to a count for statistics. A forged manifest may have the greatest.
fn add(count: &mut u64, bytes: u64) {
    *count = count.saturating_add(bytes);
}
