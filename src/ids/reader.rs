//! The ids of a fingerprint, found when they are wanted.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError};
use crate::format::footer::{IdsRecord, RANKED_PLACES};
use crate::format::section::Section;
use crate::sorting::partition_point;

/// The id sections of an open file.
pub(crate) struct IdTable {
    pub(crate) record: IdsRecord,
    /// Distinct fingerprints in the file.
    pub(crate) fingerprints: u64,
    pub(crate) ids: Section,
    pub(crate) starts: Section,
    pub(crate) directory: Section,
    /// Blocks of table 0.
    pub(crate) blocks: usize,
}

/// Walks the ids of consecutive entries; made by [`IdTable::walk`].
pub(crate) struct IdWalk {
    place: u64,
}

/// The ids of one fingerprint, ascending; made by [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone)]
pub struct Ids<'a> {
    /// The packed ids of the whole file from the byte on where the first of these begins.
    bytes: &'a [u8],
    base: u64,
    bits: u32,
    /// The place of the first of them among all ids of the file.
    first: u64,
    /// The first and the end, as places in `bytes` of numbers `bits` wide after `skew` bits.
    next: usize,
    end: usize,
    skew: usize,
}

impl Ids<'_> {
    /// No ids at all.
    pub(crate) const NONE: Self = Ids { bytes: &[], base: 0, bits: 0, first: 0, next: 0, end: 0, skew: 0 };

    /// Returns the same with that added to each id.
    pub(crate) fn renumbered(self, offset: u64) -> Self {
        Self { base: self.base.wrapping_add(offset), ..self }
    }

    /// Returns the places of the ids not yet returned: see [`Index::places`](crate::Index::places).
    #[must_use]
    pub fn places(&self) -> Range<u64> {
        self.first + self.next as u64..self.first + self.end as u64
    }
}

impl Iterator for Ids<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next == self.end {
            return None;
        }
        // In 64 bits, as more bits can be mapped than a small machine counts.
        let position = self.skew as u64 + self.next as u64 * u64::from(self.bits);
        let rest = self.bytes.get((position / 8) as usize..).unwrap_or_default();
        self.next += 1;
        Some(self.base.wrapping_add(crate::bits::read::<u64>(rest, (position % 8) as usize, self.bits)))
    }

    /// Passes over ids in one step.
    fn nth(&mut self, count: usize) -> Option<u64> {
        self.next = self.next.saturating_add(count).min(self.end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for Ids<'_> {}

impl IdTable {
    /// Returns whether every fingerprint has exactly one id, so that there are no marks.
    pub(crate) fn all_single(&self) -> bool {
        self.record.count == self.fingerprints
    }

    /// Returns the ids of the entry of that number in that block of table 0.
    pub(crate) fn of<'a>(&self, file: &'a [u8], block: usize, entry: usize) -> Result<Ids<'a>, ReadError> {
        self.next(file, &mut self.walk(file, block, entry)?)
    }

    /// Returns the id at a place, counted from 0, below the number of ids.
    pub(crate) fn id_at(&self, file: &[u8], place: u64) -> Result<u64, ReadError> {
        let mut ids = self.range(file, place, place + 1)?;
        Ok(ids.next().unwrap_or(self.record.base))
    }

    /// Returns the block of table 0 that has the fingerprint at a place, and the number of the fingerprint in it.
    pub(crate) fn entry_at(&self, file: &[u8], place: u64) -> Result<(usize, u64), ReadError> {
        // The first block starts at place 0.
        let starts = |block| Ok::<_, ReadError>(self.first_of_block(file, block as usize)? <= place);
        let block = (partition_point(1..self.blocks as u64, starts)? - 1) as usize;
        let first = self.first_of_block(file, block)?;
        let entry = match self.all_single() {
            true => place.checked_sub(first),
            false => (self.marks_before(file, place + 1)?)
                .checked_sub(self.marks_before(file, first)?)
                .and_then(|marks| marks.checked_sub(1)),
        };
        let misplaced = || ReadError::damaged(Place::IdDirectory, "its places do not fit the marks");
        Ok((block, entry.ok_or_else(misplaced)?))
    }

    /// Returns the places of the entry of that number in that block of table 0, without reading the ids.
    pub(crate) fn places(&self, file: &[u8], block: usize, entry: usize) -> Result<Range<u64>, ReadError> {
        self.entry_from(file, self.walk(file, block, entry)?.place)
    }

    /// Returns the place of an id among the places of a fingerprint, whose ids ascend.
    pub(crate) fn find(&self, file: &[u8], places: Range<u64>, id: u64) -> Result<Option<u64>, ReadError> {
        let end = places.end;
        let place = partition_point(places, |place| Ok::<_, ReadError>(self.id_at(file, place)? < id))?;
        Ok((place < end && self.id_at(file, place)? == id).then_some(place))
    }

    /// Starts at the entry of that number in that block of table 0.
    pub(crate) fn walk(&self, file: &[u8], block: usize, entry: usize) -> Result<IdWalk, ReadError> {
        let first = self.first_of_block(file, block)?;
        Ok(IdWalk { place: self.after(file, first, entry as u64)? })
    }

    /// Returns the ids of the walk's current entry, and advances to the next.
    pub(crate) fn next<'a>(&self, file: &'a [u8], walk: &mut IdWalk) -> Result<Ids<'a>, ReadError> {
        let places = self.entry_from(file, walk.place)?;
        walk.place = places.end;
        self.range(file, places.start, places.end)
    }

    /// Returns the places of the fingerprint whose first place is `start`.
    fn entry_from(&self, file: &[u8], start: u64) -> Result<Range<u64>, ReadError> {
        let end = self.after(file, start, 1)?;
        if end > self.record.count || start >= end {
            return Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"));
        }
        Ok(start..end)
    }

    /// Calls `visit` with each id of some entries of table 0, counted from the first one of a block, and how many
    /// of these entries come before the one that it belongs to.
    pub(crate) fn for_each(
        &self,
        file: &[u8],
        block: usize,
        entries: Range<usize>,
        mut visit: impl FnMut(usize, u64),
    ) -> Result<(), ReadError> {
        if entries.is_empty() {
            return Ok(());
        }
        let start = self.walk(file, block, entries.start)?.place;
        let end = self.after(file, start, entries.len() as u64)?;
        if end > self.record.count || start >= end {
            return Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"));
        }
        let IdsRecord { base, bits, .. } = self.record;
        let bits_before = start * u64::from(bits);
        let first_byte = (bits_before / 8) as usize;
        let last_byte = (end * u64::from(bits)).div_ceil(8) as usize;
        // Some bytes more, so that the last numbers are read as the others are.
        let bytes = self.ids.read(file, first_byte..self.ids.length().min(last_byte + 8))?;
        let marks = match self.all_single() {
            true => &[][..],
            false => self.starts.read(file, (start / 8) as usize..end.div_ceil(8) as usize)?,
        };
        let (mut position, mut entry, mut before) = ((bits_before % 8) as usize, 0, None);
        for place in start..end {
            let mark =
                marks.get((place / 8 - start / 8) as usize).is_none_or(|m| m & 0x80 >> (place % 8) != 0);
            if mark && place > start {
                entry += 1;
                before = None;
                if entry == entries.len() {
                    return Err(ReadError::damaged(
                        Place::IdStarts,
                        "there are more marks than fingerprints",
                    ));
                }
            }
            let id = crate::bits::read::<u64>(bytes, position, bits);
            if before.replace(id) >= Some(id) {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} is out of order")));
            }
            let Some(id) = base.checked_add(id) else {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} exceeds 64 bits")));
            };
            visit(entry, id);
            position += bits as usize;
        }
        Ok(())
    }

    /// Returns the first place of the fingerprint that comes `fingerprints` after the one whose first place is
    /// `start`; the number of ids, or more, if there is none.
    pub(crate) fn after(&self, file: &[u8], start: u64, fingerprints: u64) -> Result<u64, ReadError> {
        match fingerprints {
            _ if self.all_single() => Ok(start + fingerprints),
            0 => Ok(start),
            _ => self.mark(file, start + 1, fingerprints - 1),
        }
    }

    /// Returns the ids from one place to another.
    pub(crate) fn range<'a>(&self, file: &'a [u8], start: u64, end: u64) -> Result<Ids<'a>, ReadError> {
        let bits = u64::from(self.record.bits);
        let first_bit = start * bits;
        let bytes = self.ids.read(file, (first_bit / 8) as usize..(end * bits).div_ceil(8) as usize)?;
        let count = (end - start) as usize;
        let IdsRecord { base, bits, .. } = self.record;
        Ok(Ids { bytes, base, bits, first: start, next: 0, end: count, skew: (first_bit % 8) as usize })
    }

    /// Returns the place of the first id of a block.
    pub(crate) fn first_of_block(&self, file: &[u8], block: usize) -> Result<u64, ReadError> {
        let place = LittleEndian::read_u64(self.directory.read(file, block * 8..block * 8 + 8)?);
        if place < self.record.count {
            Ok(place)
        } else {
            Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"))
        }
    }
}

impl IdTable {
    /// Returns the place of the mark that comes `skip` marks after the first one at or after `from`; the
    /// number of ids if there are no more.
    pub(super) fn mark(&self, file: &[u8], from: u64, skip: u64) -> Result<u64, ReadError> {
        let stretches = self.record.count.div_ceil(RANKED_PLACES);
        let stretch = from / RANKED_PLACES;
        if stretch >= stretches {
            return Ok(self.record.count);
        }
        let skip = match self.mark_in_stretch(file, from, skip)? {
            Ok(place) => return Ok(place),
            Err(passed) => skip - passed,
        };
        // It is usually in the next stretch; after a fingerprint with very many ids it is far off.
        let mut low = stretch + 1;
        if low >= stretches {
            return Ok(self.record.count);
        }
        let wanted = self.rank(file, low)?.saturating_add(skip);
        let mut step = 1;
        while low + step < stretches && self.rank(file, low + step)? <= wanted {
            low += step;
            step *= 2;
        }
        let is_before = |stretch| Ok::<_, ReadError>(self.rank(file, stretch)? <= wanted);
        low = partition_point(low + 1..stretches.min(low + step), is_before)? - 1;
        let skip = wanted - self.rank(file, low)?;
        match self.mark_in_stretch(file, low * RANKED_PLACES, skip)? {
            Ok(place) => Ok(place),
            Err(_) if low + 1 == stretches => Ok(self.record.count),
            Err(_) => Err(ReadError::damaged(Place::IdDirectory, "its ranks do not fit the marks")),
        }
    }

    /// Returns the number of marks before a place.
    fn marks_before(&self, file: &[u8], place: u64) -> Result<u64, ReadError> {
        let stretch = place.saturating_sub(1) / RANKED_PLACES;
        let before = if stretch == 0 { 0 } else { self.rank(file, stretch)? };
        let first = stretch * RANKED_PLACES / 8;
        let bytes = self.starts.read(file, first as usize..place.div_ceil(8) as usize)?;
        let all: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        let later = match (place % 8, bytes.last()) {
            (0, _) | (_, None) => 0,
            (used, Some(last)) => (last & (0xff >> used)).count_ones(),
        };
        Ok(before.saturating_add(u64::from(all - later)))
    }

    /// Returns the number of marks before a stretch of [`RANKED_PLACES`] places, from number 1 on.
    pub(super) fn rank(&self, file: &[u8], stretch: u64) -> Result<u64, ReadError> {
        // As many ranks as stretches, so they are counted as the section's bytes are.
        let at = (self.blocks + stretch as usize - 1) * 8;
        Ok(LittleEndian::read_u64(self.directory.read(file, at..at + 8)?))
    }

    /// As [`Self::mark`], in the stretch of `from` alone; or how many marks it has from there on.
    fn mark_in_stretch(&self, file: &[u8], from: u64, skip: u64) -> Result<Result<u64, u64>, ReadError> {
        let end = (from / RANKED_PLACES + 1) * RANKED_PLACES;
        let (first, last) = ((from / 8) as usize, self.starts.length().min((end / 8) as usize));
        let bytes = self.starts.read(file, first..last)?;
        let mut passed = 0;
        // Bits before `from` are passed over; a byte's first bit is its most significant.
        let mut mask = u64::MAX >> (from % 8);
        for (number, bytes) in (0..).zip(bytes.chunks(8)) {
            let mut marks = bytes.iter().fold(0, |marks, &byte| marks << 8 | u64::from(byte));
            marks = (marks << (64 - 8 * bytes.len())) & mask;
            mask = u64::MAX;
            let count = u64::from(marks.count_ones());
            if passed + count > skip {
                (passed..skip).for_each(|_| marks ^= 1 << 63 >> marks.leading_zeros());
                let place = first as u64 * 8 + number * 64 + u64::from(marks.leading_zeros());
                return Ok(Ok(place.min(self.record.count)));
            }
            passed += count;
        }
        Ok(Err(passed))
    }
}
