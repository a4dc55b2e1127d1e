//! Which files count: changes of the manifest, durable first and visible then.
//!
//! What has been written in the background was read some time ago. Pairs removed since are in the writer's
//! journal; they are removed from the new file too before anybody sees it. The manifest says up to which batch the
//! removals of a file are known, so that a replay of the log neither forgets one nor repeats one on what came later.

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

/// A change of the files that count.
pub(crate) struct Change<F> {
    pub(crate) added: Option<Added<F>>,
    /// The numbers of the segments that go.
    pub(crate) dropped: Vec<u64>,
    /// Whether the oldest frozen pairs are in the added file.
    pub(crate) is_flush: bool,
}

/// A new file.
pub(crate) struct Added<F> {
    pub(crate) segment: Arc<Segment<F>>,
    pub(crate) entry: SegmentEntry,
    /// The removals that the file does not know; `None` where these are the ones to come.
    pub(crate) journal: Option<JournalReader>,
}

impl<F: Fingerprint> StoreInner<F> {
    /// Makes a change of files durable, then visible. The journal is closed in any case.
    ///
    /// # Errors
    /// When the disk refuses it: nothing has changed then, unless the manifest cannot be trusted any more. The new
    /// file goes, if it can.
    pub(crate) fn publish(&self, change: Change<F>) -> Result<(), Error> {
        let Change { added, dropped, is_flush } = change;
        let mut added = added.map(|added| (added, RemovedPlaces::default()));
        let outcome = self.try_publish(&mut added, &dropped, is_flush);
        if let Some((added, _)) = added {
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

    fn try_publish(
        &self,
        added: &mut Option<(Added<F>, RemovedPlaces)>,
        dropped: &[u64],
        is_flush: bool,
    ) -> Result<(), Error> {
        let mut current = self.lock_manifest();
        self.check_open()?;
        // Most of what has been removed meanwhile, without keeping writers waiting.
        if let Some((Added { segment, journal: Some(reader), .. }, removed)) = added {
            let removals: Vec<Pair<F>> = self.writer().journal.since(reader.seen).collect();
            reader.seen += removals.len() as u64;
            remove_all(segment, removed, removals.into_iter())?;
        }
        // Most of the log, without keeping them waiting, too.
        self.sync_beside()?;
        let mut writer = self.writer();
        if let Some((added, _)) = added {
            added.journal.get_or_insert_with(|| writer.open_journal());
        }
        // Removals become durable with the files; no batch before them may be lost then.
        writer.sync()?;
        catch_up(added, &writer)?;
        let (view, sequence) = (self.view.load_full(), writer.sequence);
        let next_id = view.next_id;
        drop(writer);

        let mut manifest = current.manifest().clone();
        let mut stale = Vec::new();
        self.note_removals(&mut manifest, &view, sequence, is_flush, &mut stale)?;
        manifest.segments.retain(|entry| !dropped.contains(&entry.number));
        for number in dropped {
            let before = current.manifest().segments.iter().find(|entry| entry.number == *number);
            let removals = before.and_then(|entry| entry.removals);
            stale.extend(removals.map(|removals| layout::removals(*number, removals.version)));
        }
        if let Some((added, removed)) = added {
            let mut entry = added.entry.clone();
            // A repair goes back to it where the removals since are damaged.
            entry.born = added.journal.map_or(sequence, |reader| reader.sequence);
            entry.applied = sequence;
            self.write_removals(&mut manifest, &mut entry, removed)?;
            manifest.written.segments += entry.bytes;
            if dropped.is_empty() {
                manifest.written.added += entry.bytes;
            }
            manifest.segments.push(entry);
            manifest.segments.sort_by_key(|entry| entry.number);
        }
        let first_log = manifest.first_log;
        if is_flush && let Some(frozen) = view.frozen.first() {
            manifest.first_log = frozen.next_log;
            manifest.sequence = frozen.sequence;
            manifest.written.logs += frozen.log_bytes;
            manifest.sealed = None;
        }
        drop(view);
        manifest.next_segment = self.peek_next_segment();
        manifest.next_id = next_id;
        let logs = first_log..manifest.first_log;
        self.replace_manifest(&mut current, manifest)?;

        let writer = self.writer();
        catch_up(added, &writer)?;
        let mut view = View::clone(&self.view.load());
        let segments = Arc::make_mut(&mut view.segments);
        let is_gone = |live: &mut LiveSegment<F>| dropped.contains(&live.segment.number);
        let gone: Vec<_> = segments.extract_if(.., is_gone).collect();
        gone.iter().for_each(|live| live.segment.retire());
        segments.extend(added.as_ref().map(|(added, removed)| LiveSegment {
            segment: Arc::clone(&added.segment),
            removed: removed.clone(),
        }));
        if is_flush {
            view.frozen.remove(0);
        }
        view.ingests += u64::from(!is_flush && dropped.is_empty());
        let before = self.view.swap(Arc::new(view));
        drop(writer);
        // Large files take their time to go: nobody waits for it.
        self.searchers.clear();
        drop((before, gone));
        self.background.announce_room();
        self.background.wake();
        stale.extend(logs.map(layout::log));
        self.remove_unneeded(self.pins.retire(stale));
        Ok(())
    }

    /// Writes down the removals of the segments that there are, where logs go that have them.
    fn note_removals(
        &self,
        manifest: &mut Manifest,
        view: &View<F>,
        sequence: u64,
        is_flush: bool,
        stale: &mut Vec<String>,
    ) -> Result<(), Error> {
        if !is_flush {
            return Ok(());
        }
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

/// Removes from a new file what has been removed since.
fn catch_up<F: Fingerprint>(
    added: &mut Option<(Added<F>, RemovedPlaces)>,
    writer: &Writer<F>,
) -> Result<(), Error> {
    if let Some((Added { segment, journal: Some(reader), .. }, removed)) = added {
        remove_all(segment, removed, writer.journal.since(reader.seen))?;
        reader.seen = writer.journal.end();
    }
    Ok(())
}

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
