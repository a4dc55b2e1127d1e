//! Segments: hamdex files that never change, and which of their pairs have been removed.
//!
//! - [`new_segment`]: from pairs in order to a durable file
//! - [`removed_places`]: the places of removed pairs in memory
//! - [`removals_file`]: the same on disk

mod new_segment;
pub(crate) mod removals_file;
pub(crate) mod removed_places;

pub(crate) use new_segment::write_index;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hamdex::{Checksums, Fingerprint, Index, OpenOptions, ReadError, ReadErrorKind};

use crate::disk::Disk;
use crate::disk::layout;
use crate::error::Error;
use crate::manifest::SegmentEntry;
use crate::segment::removed_places::RemovedPlaces;
use crate::write::batch::Pair;

/// A file, as long as anybody uses it.
pub(crate) struct Segment<F> {
    /// The number in its name.
    pub(crate) number: u64,
    pub(crate) index: Arc<Index<F>>,
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// The least number of the segments that it was merged from; its own, if it was not merged.
    since: AtomicU64,
    disk: Box<dyn Disk>,
    /// Whether the file is to go when the last user has gone.
    is_obsolete: AtomicBool,
}

/// How a file is opened. By default it is mapped, and a block is checked when it is first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Opening {
    /// Whether it is read into memory of the process.
    pub(crate) in_memory: bool,
    /// Whether all of it is read and checked at once. Queries find all of it in memory then, and make no system call.
    pub(crate) is_checked: bool,
}

impl<F: Fingerprint> Segment<F> {
    /// Opens a file of the store by default.
    pub(crate) fn open(disk: &dyn Disk, number: u64) -> Result<Self, Error> {
        Self::open_as(disk, number, Opening::default())
    }

    /// Opens a file of the store.
    pub(crate) fn open_as(disk: &dyn Disk, number: u64, opening: Opening) -> Result<Self, Error> {
        let name = layout::segment(number);
        let path = disk.path(&name);
        let data = if opening.in_memory { disk.load(&name) } else { disk.map(&name) };
        let data = data.map_err(Error::io("map it", &path))?;
        let bytes = data.as_ref().len() as u64;
        let checksums = if opening.is_checked { Checksums::UpFront } else { Checksums::FirstTouch };
        let index = OpenOptions::new().checksums(checksums).from_mapping::<F>(data, &path);
        let index = Arc::new(index.map_err(|error| match error.kind() {
            // The store has the width of its segments: this is not one of them.
            ReadErrorKind::Width { .. } => Error::damaged(path, None, "it has another width than the store"),
            _ => error.into(),
        })?);
        let since = AtomicU64::new(number);
        Ok(Self { number, index, bytes, since, disk: disk.box_clone(), is_obsolete: AtomicBool::new(false) })
    }

    /// The least number of the segments that it was merged from, as far as this process knows: the age of its oldest
    /// pairs.
    pub(crate) fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// Records the segments that it was merged from.
    pub(crate) fn set_since(&self, since: u64) {
        self.since.store(since, Ordering::Relaxed);
    }

    /// Lets the file go as soon as the last snapshot that uses it has gone.
    pub(crate) fn retire(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl<F> Drop for Segment<F> {
    fn drop(&mut self) {
        if *self.is_obsolete.get_mut() {
            // What stays is not named by any manifest, and is removed by the next writer.
            let _ = self.disk.remove(&layout::segment(self.number));
        }
    }
}

impl<F> fmt::Debug for Segment<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A segment, and which of its pairs have been removed.
pub(crate) struct LiveSegment<F> {
    pub(crate) segment: Arc<Segment<F>>,
    pub(crate) removed: RemovedPlaces,
}

impl<F> Clone for LiveSegment<F> {
    fn clone(&self) -> Self {
        Self { segment: Arc::clone(&self.segment), removed: self.removed.clone() }
    }
}

impl<F: Fingerprint> LiveSegment<F> {
    pub(crate) fn index(&self) -> &Arc<Index<F>> {
        &self.segment.index
    }

    /// The place of a pair that is left, if it is there.
    pub(crate) fn find(&self, (fingerprint, id): Pair<F>) -> Result<Option<u64>, ReadError> {
        let place = if self.index().has_ids() {
            let ids = self.index().ids(fingerprint)?;
            ids.places().zip(ids).find(|(_, other)| *other == id).map(|(place, _)| place)
        } else {
            self.index().places(fingerprint)?.next()
        };
        Ok(place.filter(|&place| !self.removed.contains(place)))
    }

    /// Whether something is left of a fingerprint that is in the file.
    pub(crate) fn is_left(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.removed.is_empty() || self.contains(fingerprint)?)
    }

    /// Whether some pair of a fingerprint is left.
    pub(crate) fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.removed.leaves_some_of(self.index().places(fingerprint)?))
    }

    /// Appends the ids of a fingerprint that are left; where there are no ids, 0 if the fingerprint is left.
    pub(crate) fn append_ids(&self, fingerprint: F, ids: &mut Vec<u64>) -> Result<(), ReadError> {
        if !self.index().has_ids() {
            ids.extend(self.contains(fingerprint)?.then_some(0));
            return Ok(());
        }
        let all = self.index().ids(fingerprint)?;
        let left = all.places().zip(all).filter(|(place, _)| !self.removed.contains(*place));
        ids.extend(left.map(|(_, id)| id));
        Ok(())
    }

    /// How many pairs are left.
    pub(crate) fn len(&self) -> u64 {
        self.segment.pairs() - self.removed.len()
    }
}

impl<F: Fingerprint> Segment<F> {
    /// The greatest id with a name, where there are names. Names that cannot be read are found by whoever asks for them.
    pub(crate) fn last_id(&self) -> Option<u64> {
        self.index.names().ok().flatten()?.last_id().ok().flatten()
    }

    /// Its line in a manifest, without removals, as of a batch.
    pub(crate) fn entry(&self, level: u32, sequence: u64) -> SegmentEntry {
        SegmentEntry {
            number: self.number,
            file_id: self.index.file_id().to_bytes(),
            bytes: self.bytes,
            fingerprints: self.index.len(),
            pairs: self.pairs(),
            level,
            born: sequence,
            applied: sequence,
            removals: None,
        }
    }

    /// How many pairs the file holds: fingerprints, where there are no ids.
    pub(crate) fn pairs(&self) -> u64 {
        self.index.place_count()
    }
}
