//! Segments: immutable hamdex files with removal marks.
//!
//! - [`new_segment`]: from sorted pairs to a durable file
//! - [`removed_places`]: the places of removed pairs in memory
//! - [`removals_file`]: the same on disk

mod new_segment;
pub(crate) mod removals_file;
pub(crate) mod removed_places;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hamdex::{
    BuildError, BuildOptions, Builder, Checksums, Fingerprint, Index, OpenOptions, ReadError, ReadErrorKind,
};

use crate::disk::{Disk, layout};
use crate::error::Error;
use crate::manifest::SegmentEntry;
use crate::segment::removed_places::{IdList, RemovedPlaces};
use crate::write::Pair;

/// An open segment file.
pub(crate) struct Segment<F> {
    /// The number in its file name.
    pub(crate) number: u64,
    pub(crate) index: Arc<Index<F>>,
    /// The length of the file, in bytes.
    pub(crate) bytes: u64,
    /// The least number of the segments that it was merged from; its own if it was not merged.
    oldest_input: AtomicU64,
    disk: Box<dyn Disk>,
    /// Whether to remove the file on drop.
    is_obsolete: AtomicBool,
}

/// Options for opening a segment. By default it is mapped, and each block is checked when it is first read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Opening {
    /// Whether the file is read into process memory.
    pub(crate) in_memory: bool,
    /// Whether the whole file is read and checked at once. Queries find it in memory then, without system calls.
    pub(crate) is_checked: bool,
}

impl<F: Fingerprint> Segment<F> {
    /// Opens a segment with default options.
    pub(crate) fn open(disk: &dyn Disk, number: u64) -> Result<Self, Error> {
        Self::open_as(disk, number, Opening::default())
    }

    /// Opens a segment.
    pub(crate) fn open_as(disk: &dyn Disk, number: u64, opening: Opening) -> Result<Self, Error> {
        let name = layout::segment(number);
        let path = disk.path(&name);
        let data = if opening.in_memory { disk.load(&name) } else { disk.map(&name) };
        let data = data.map_err(Error::io("map it", &path))?;
        let bytes = data.as_ref().len() as u64;
        let checksums = if opening.is_checked { Checksums::UpFront } else { Checksums::FirstTouch };
        let index = OpenOptions::new().checksums(checksums).from_mapping::<F>(data, &path);
        let index = Arc::new(index.map_err(|error| match error.kind() {
            // A segment of another width is not one of this store.
            ReadErrorKind::Width { .. } => Error::damaged(path, None, "it has another width than the store"),
            _ => error.into(),
        })?);
        let oldest_input = AtomicU64::new(number);
        Ok(Self {
            number,
            index,
            bytes,
            oldest_input,
            disk: disk.box_clone(),
            is_obsolete: AtomicBool::new(false),
        })
    }

    /// Returns the least number of the segments that it was merged from in this process: the age of its oldest pairs.
    pub(crate) fn oldest_input(&self) -> u64 {
        self.oldest_input.load(Ordering::Relaxed)
    }

    /// Records the least number of the segments that it was merged from.
    pub(crate) fn set_oldest_input(&self, number: u64) {
        self.oldest_input.store(number, Ordering::Relaxed);
    }

    /// Removes the file when the last snapshot that uses it is dropped.
    pub(crate) fn retire(&self) {
        self.is_obsolete.store(true, Ordering::Release);
    }
}

impl<F> Drop for Segment<F> {
    fn drop(&mut self) {
        if *self.is_obsolete.get_mut() {
            // If it stays, no manifest names it, and the next writer removes it.
            let _ = self.disk.remove(&layout::segment(self.number));
        }
    }
}

/// A segment and the places of its removed pairs.
#[derive(Clone)]
pub(crate) struct LiveSegment<F> {
    pub(crate) segment: Arc<Segment<F>>,
    pub(crate) removed: RemovedPlaces,
}

impl<F: Fingerprint> LiveSegment<F> {
    pub(crate) fn index(&self) -> &Arc<Index<F>> {
        &self.segment.index
    }

    /// Returns the place of a pair, if it is present and not removed.
    pub(crate) fn find(&self, (fingerprint, id): Pair<F>) -> Result<Option<u64>, ReadError> {
        let place = self.index().place_of(fingerprint, id)?;
        Ok(place.filter(|&place| !self.removed.contains(place)))
    }

    /// Whether any pair of a fingerprint that is in the file is left.
    pub(crate) fn is_left(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.removed.is_empty() || self.contains(fingerprint)?)
    }

    /// Whether any pair of a fingerprint is left.
    pub(crate) fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.removed.leaves_any_of(self.index().places(fingerprint)?))
    }

    /// Whether an id is left; `None` if that takes a pass over the segment.
    pub(crate) fn has_id(&self, id: u64) -> Result<Option<bool>, ReadError> {
        if let Some(lookups) = self.index().lookups()? {
            let left = lookups.places_of(id, 1, |place| !self.removed.contains(place))?;
            return Ok(Some(!left.is_empty()));
        }
        let is_in_file = self.index().names()?.map_or(Ok(None), |names| names.get(id))?.is_some();
        Ok((!is_in_file || self.removed.is_empty()).then_some(is_in_file))
    }

    /// Appends the ids of a fingerprint that are left; in a store without ids, 0 if the fingerprint is left.
    pub(crate) fn append_ids(&self, fingerprint: F, ids: &mut Vec<u64>) -> Result<(), ReadError> {
        if !self.index().has_ids() {
            ids.extend(self.contains(fingerprint)?.then_some(0));
            return Ok(());
        }
        let mut lists = Vec::new();
        self.add_id_list(fingerprint, &mut lists, &mut Vec::new())?;
        ids.extend(lists.into_iter().flatten().map(|stored| stored.id));
        Ok(())
    }

    /// Adds the list of the ids of a fingerprint that are left, and their number, in a store with ids.
    pub(crate) fn add_id_list<'a>(
        &'a self,
        fingerprint: F,
        lists: &mut Vec<IdList<'a>>,
        counts: &mut Vec<u64>,
    ) -> Result<(), ReadError> {
        let mut all = self.index().ids(fingerprint)?;
        let places = all.places();
        if places.is_empty() {
            return Ok(());
        }
        counts.push(self.removed.count_left(&places));
        let mut next = places.start;
        lists.push(self.removed.list(places, move |place| {
            // The ids of removed pairs are passed over in one step.
            let id = all.nth((place - next) as usize);
            next = place + 1;
            id
        }));
        Ok(())
    }

    /// Returns the number of pairs that are left.
    pub(crate) fn len(&self) -> u64 {
        self.segment.pairs() - self.removed.len()
    }
}

impl<F: Fingerprint> Segment<F> {
    /// Returns the greatest id with a name, in a store with names. Damage to names is only found by queries for them.
    pub(crate) fn last_id(&self) -> Option<u64> {
        self.index.names().ok().flatten()?.last_id().ok().flatten()
    }

    /// Returns its entry in a manifest, without removals, as of a sequence number.
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

    /// Returns the number of pairs in the file; in a store without ids, of fingerprints.
    pub(crate) fn pairs(&self) -> u64 {
        self.index.place_count()
    }
}

/// Takes the columns of an index.
pub(crate) type ColumnBuilder<'w, F> = Builder<F, &'w mut (dyn Write + Send)>;

/// Writes an index of pairs in order, and of the columns of their ids, which `columns` pushes. If the index has no ids,
/// those of the pairs do not count.
///
/// # Errors
/// As for [`Builder::into_inner`]; an error of `columns`.
pub(crate) fn write_index<F: Fingerprint>(
    options: BuildOptions<F>,
    pairs: impl Iterator<Item = Pair<F>>,
    columns: impl FnOnce(&mut ColumnBuilder<'_, F>) -> Result<(), BuildError>,
    writer: &mut (dyn Write + Send),
) -> Result<(), BuildError> {
    let has_ids = options.has_ids();
    let mut builder = Builder::to_writer(writer, options.sorted(true))?;
    for (fingerprint, id) in pairs {
        if has_ids {
            builder.push_with_id(fingerprint, id)?;
        } else {
            builder.push(fingerprint)?;
        }
    }
    columns(&mut builder)?;
    builder.into_inner().map(drop)
}
