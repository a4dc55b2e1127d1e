//! The ids of a fingerprint, found when they are wanted.

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError};
use crate::format::footer::IdsRecord;
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
}

/// The ids of one fingerprint, ascending; made by [`Index::ids`](crate::Index::ids).
#[derive(Debug, Clone)]
pub struct Ids<'a> {
    /// The packed ids of the whole file from the byte on where the first of these begins.
    bytes: &'a [u8],
    base: u64,
    bits: u32,
    /// The first and the end, as places in `bytes` of numbers `bits` wide after `skew` bits.
    next: usize,
    end: usize,
    skew: usize,
}

impl Ids<'_> {
    /// No ids at all.
    pub(crate) const NONE: Self = Ids { bytes: &[], base: 0, bits: 0, next: 0, end: 0, skew: 0 };
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
        let block_start = self.first_of_block(file, block)?;
        let (start, end) = if self.all_single() {
            (block_start + entry as u64, block_start + entry as u64 + 1)
        } else {
            // The marks of the block's first entry and of those before this one are passed over.
            let start = self.next_mark(file, block_start, entry as u64)?;
            (start, self.next_mark(file, start + 1, 0)?)
        };
        if end > self.record.count || start >= end {
            return Err(ReadError::damaged(Place::IdDirectory, "it leads beyond the ids"));
        }
        self.range(file, start, end)
    }

    /// The ids from one place to another.
    fn range<'a>(&self, file: &'a [u8], start: u64, end: u64) -> Result<Ids<'a>, ReadError> {
        let bits = u64::from(self.record.bits);
        let first_bit = start * bits;
        let bytes = self.ids.read(file, (first_bit / 8) as usize..(end * bits).div_ceil(8) as usize)?;
        let count = (end - start) as usize;
        let IdsRecord { base, bits, .. } = self.record;
        Ok(Ids { bytes, base, bits, next: 0, end: count, skew: (first_bit % 8) as usize })
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
    fn next_mark(&self, file: &[u8], from: u64, mut skip: u64) -> Result<u64, ReadError> {
        let count = self.record.count;
        let mut at = from;
        while at < count {
            let byte = at / 8;
            let bytes =
                self.starts.read(file, byte as usize..self.starts.length().min(byte as usize + 4096))?;
            // Bits before `at` are passed over; a byte's first bit is its most significant.
            let mut mask = 0xffu8 >> (at % 8);
            for (number, &marks) in (byte..).zip(bytes) {
                let mut marks = marks & mask;
                mask = 0xff;
                if u64::from(marks.count_ones()) <= skip {
                    skip -= u64::from(marks.count_ones());
                    continue;
                }
                for _ in 0..skip {
                    marks ^= 0x80 >> marks.leading_zeros();
                }
                return Ok((number * 8 + u64::from(marks.leading_zeros())).min(count));
            }
            at = (byte + bytes.len() as u64) * 8;
        }
        Ok(count)
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
            place = if self.all_single() {
                place + entries as u64
            } else {
                self.next_mark(file, place, entries as u64)?
            };
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
            let id = get(ids, place as usize, self.record.bits);
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
