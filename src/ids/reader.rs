//! The ids of a fingerprint, found when they are wanted.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError};
use crate::format::footer::{IdsRecord, RANKED_PLACES};
use crate::format::section::Section;
use crate::ids::packing::get;

/// Ids that are verified between two looks at whether to go on.
const IDS_AT_ONCE: u64 = 1 << 20;

/// Blocks whose first ids are verified between two looks at whether to go on.
const BLOCKS_AT_ONCE: usize = 1 << 10;

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

/// Goes from the ids of an entry to those of the next one; made by [`IdTable::walk`].
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

    /// The places of those that have not been returned: see [`Index::places`](crate::Index::places).
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
        let position = self.skew + self.next * self.bits as usize;
        self.next += 1;
        Some(self.base.wrapping_add(crate::bits::read::<u64>(self.bytes, position, self.bits)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for Ids<'_> {}

impl IdTable {
    /// Whether every fingerprint has exactly one id, so that there are no marks.
    pub(crate) fn all_single(&self) -> bool {
        self.record.count == self.fingerprints
    }

    /// The ids of the entry of that number in that block of table 0.
    pub(crate) fn of<'a>(&self, file: &'a [u8], block: usize, entry: usize) -> Result<Ids<'a>, ReadError> {
        self.next(file, &mut self.walk(file, block, entry)?)
    }

    /// Starts at the entry of that number in that block of table 0.
    pub(crate) fn walk(&self, file: &[u8], block: usize, entry: usize) -> Result<IdWalk, ReadError> {
        let first = self.first_of_block(file, block)?;
        Ok(IdWalk { place: self.after(file, first, entry as u64)? })
    }

    /// The ids of the entry that a walk has come to; goes on to the next one.
    pub(crate) fn next<'a>(&self, file: &'a [u8], walk: &mut IdWalk) -> Result<Ids<'a>, ReadError> {
        let start = walk.place;
        walk.place = self.after(file, start, 1)?;
        if walk.place > self.record.count || start >= walk.place {
            return Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"));
        }
        self.range(file, start, walk.place)
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

    /// The first place of the fingerprint that comes so many after the one whose first place is `start`; the
    /// number of ids, or more, where there is none.
    fn after(&self, file: &[u8], start: u64, fingerprints: u64) -> Result<u64, ReadError> {
        match fingerprints {
            _ if self.all_single() => Ok(start + fingerprints),
            0 => Ok(start),
            _ => self.mark(file, start + 1, fingerprints - 1),
        }
    }

    /// The ids from one place to another.
    fn range<'a>(&self, file: &'a [u8], start: u64, end: u64) -> Result<Ids<'a>, ReadError> {
        let bits = u64::from(self.record.bits);
        let first_bit = start * bits;
        let bytes = self.ids.read(file, (first_bit / 8) as usize..(end * bits).div_ceil(8) as usize)?;
        let count = (end - start) as usize;
        let IdsRecord { base, bits, .. } = self.record;
        Ok(Ids { bytes, base, bits, first: start, next: 0, end: count, skew: (first_bit % 8) as usize })
    }

    /// The place of the first id of a block.
    pub(crate) fn first_of_block(&self, file: &[u8], block: usize) -> Result<u64, ReadError> {
        let place = LittleEndian::read_u64(self.directory.read(file, block * 8..block * 8 + 8)?);
        if place < self.record.count {
            Ok(place)
        } else {
            Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"))
        }
    }

    /// The place of the mark that comes `skip` marks after the first one at or after `from`; the
    /// number of ids if there are no more.
    fn mark(&self, file: &[u8], from: u64, skip: u64) -> Result<u64, ReadError> {
        let stretches = self.record.count.div_ceil(RANKED_PLACES);
        let stretch = from / RANKED_PLACES;
        if stretch >= stretches {
            return Ok(self.record.count);
        }
        let skip = match self.mark_in_stretch(file, from, skip)? {
            Ok(place) => return Ok(place),
            Err(passed) => skip - passed,
        };
        // Most of the time it is in the next stretch; beside a fingerprint with very many ids it is far off.
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
        let mut high = stretches.min(low + step);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.rank(file, middle)? <= wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let skip = wanted - self.rank(file, low)?;
        match self.mark_in_stretch(file, low * RANKED_PLACES, skip)? {
            Ok(place) => Ok(place),
            Err(_) if low + 1 == stretches => Ok(self.record.count),
            Err(_) => Err(ReadError::damaged(Place::IdDirectory, "its ranks do not fit the marks")),
        }
    }

    /// How many marks come before a stretch of [`RANKED_PLACES`] places, from number 1 on.
    fn rank(&self, file: &[u8], stretch: u64) -> Result<u64, ReadError> {
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

    /// Checks all three sections, and that each fingerprint has ids, ascending. `entries` gives how
    /// many entries each block of table 0 has. Ends early with an error of `go_on`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        entries: &[usize],
        go_on: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for section in [&self.ids, &self.starts, &self.directory] {
            section.verify_while(file, go_on)?;
        }
        let ids = self.ids.read_all(file)?;
        let marks = self.starts.read_all(file)?;
        let is_first =
            |place: u64| self.all_single() || marks[(place / 8) as usize] & 0x80 >> (place % 8) != 0;
        self.verify_spare_bits(ids, marks)?;
        self.verify_order(ids, is_first, go_on)?;

        self.verify_ranks(file, marks)?;
        let mut place = 0;
        for (block, &entries) in entries.iter().enumerate() {
            if block % BLOCKS_AT_ONCE == 0 {
                go_on()?;
            }
            if self.first_of_block(file, block)? != place {
                return Err(ReadError::damaged(
                    Place::IdDirectory,
                    format_args!("block {block} does not start where the one before it ends"),
                ));
            }
            place = self.after(file, place, entries as u64)?;
        }
        let all_marks: u64 = marks.iter().map(|byte| u64::from(byte.count_ones())).sum();
        if place != self.record.count || !(self.all_single() || all_marks == self.fingerprints) {
            return Err(ReadError::damaged(
                Place::IdStarts,
                "there are more or fewer marks than fingerprints",
            ));
        }
        Ok(())
    }

    fn verify_ranks(&self, file: &[u8], marks: &[u8]) -> Result<(), ReadError> {
        let mut rank = 0;
        let stretches = marks.chunks((RANKED_PLACES / 8) as usize);
        for (number, stretch) in (1..=self.record.ranks(self.fingerprints)).zip(stretches) {
            rank += stretch.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            if self.rank(file, number)? != rank {
                let what = format_args!("rank {number} is not the number of marks before it");
                return Err(ReadError::damaged(Place::IdDirectory, what));
            }
        }
        Ok(())
    }

    fn verify_order(
        &self,
        ids: &[u8],
        is_first: impl Fn(u64) -> bool,
        go_on: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut previous = 0;
        for place in 0..self.record.count {
            if place % IDS_AT_ONCE == 0 {
                go_on()?;
            }
            let id = get(ids, place, self.record.bits);
            if self.record.base.checked_add(id).is_none() {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} exceeds 64 bits")));
            }
            if !is_first(place) && (place == 0 || id <= previous) {
                return Err(ReadError::damaged(Place::Ids, format_args!("id {place} is out of order")));
            }
            previous = id;
        }
        Ok(())
    }

    /// The bits after the last id and the last mark are zero.
    fn verify_spare_bits(&self, ids: &[u8], marks: &[u8]) -> Result<(), ReadError> {
        let id_bits = self.record.count * u64::from(self.record.bits);
        for (place, bytes, bits) in [(Place::Ids, ids, id_bits), (Place::IdStarts, marks, self.record.count)]
        {
            let spare = bits % 8;
            if let (true, Some(last)) = (spare > 0, bytes.last())
                && last & (0xff >> spare) != 0
            {
                return Err(ReadError::damaged(place, "bits after its end are set"));
            }
        }
        Ok(())
    }
}
