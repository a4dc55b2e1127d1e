//! Ids: which documents have a fingerprint.
//!
//! All ids are in one bit-packed array, ordered by fingerprint and then by id, each as its
//! difference from the smallest id. A bitmap of the same order marks the first id of each fingerprint; it
//! is left out when every fingerprint has just one. A directory gives, for each block of table 0, the
//! place of its first fingerprint's first id; behind these, the number of marks before every 4,096th place
//! leads past a fingerprint with very many ids.
//!
//! [`reader`] finds the ids of a fingerprint.

pub(crate) mod reader;

use std::io::{self, Read, Write};

use reader::IdTable;
pub use reader::Ids;

use crate::bits::{are_zero_after, read};
use crate::error::{Place, ReadError};
use crate::format::footer::{IdsRecord, RANKED_PLACES};

/// An id, and the part of the set that it is stored in: parts of which ids have names number their ids independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredId {
    /// The number of the part: of a shard in its manifest; 0 in a set of one part.
    pub part: usize,
    /// The id.
    pub id: u64,
}

/// Returns the number of that place in an array of `bits`-wide numbers.
#[inline]
pub(crate) fn get(bytes: &[u8], place: u64, bits: u32) -> u64 {
    // In 64 bits: a byte string of half a gigabyte has more bits than a small machine counts.
    let bit = place * u64::from(bits);
    let rest = bytes.get((bit / 8) as usize..).unwrap_or_default();
    read::<u64>(rest, (bit % 8) as usize, bits)
}

/// Appends numbers to a byte string.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    pending: u128,
    pending_bits: u32,
}

impl Packer {
    /// Appends the low `bits` bits of `value`, which has no others set; hands over finished bytes.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, bits: u32, finished: &mut Vec<u8>) {
        // Bits that have been written remain above the pending ones, and are shifted out in time.
        self.pending = self.pending << bits | u128::from(value);
        self.pending_bits += bits;
        if self.pending_bits >= u64::BITS {
            self.pending_bits -= u64::BITS;
            finished.extend_from_slice(&((self.pending >> self.pending_bits) as u64).to_be_bytes());
        }
    }

    /// Hands over the last bytes, filled up with zeros.
    pub(crate) fn finish(self, finished: &mut Vec<u8>) {
        if self.pending_bits > 0 {
            let rest = (self.pending << (u64::BITS - self.pending_bits)) as u64;
            finished.extend_from_slice(&rest.to_be_bytes()[..self.pending_bits.div_ceil(8) as usize]);
        }
    }
}

/// Packs ids and marks into two streams, which may be files.
pub(crate) struct IdWriter<W> {
    record: IdsRecord,
    ids: Stream<W>,
    starts: Stream<W>,
    marks: u64,
    ranks: Vec<u64>,
}

/// The properties of packed ids.
pub(crate) struct Packed<W> {
    /// For the footer.
    pub(crate) record: IdsRecord,
    pub(crate) ids: W,
    /// The marks.
    pub(crate) starts: W,
    /// Number of marks before each place that is a multiple of [`RANKED_PLACES`], except the first.
    pub(crate) ranks: Vec<u64>,
}

/// Packs numbers for a writer.
pub(crate) struct Stream<W> {
    packer: Packer,
    finished: Vec<u8>,
    output: W,
}

/// Bytes gathered before they are written, or read at once.
const GATHER_BYTES: usize = 1 << 16;

impl<W: Write> Stream<W> {
    pub(crate) fn new(output: W) -> Self {
        Self { packer: Packer::default(), finished: Vec::with_capacity(GATHER_BYTES + 8), output }
    }

    pub(crate) fn put(&mut self, value: u64, bits: u32) -> io::Result<()> {
        self.packer.put(value, bits, &mut self.finished);
        if self.finished.len() >= GATHER_BYTES { self.write() } else { Ok(()) }
    }

    /// Fills up to a whole byte.
    pub(crate) fn end_list(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.packer).finish(&mut self.finished);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        self.output.write_all(&self.finished)?;
        self.finished.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.end_list()?;
        Ok(self.output)
    }
}

impl<W: Write> IdWriter<W> {
    /// For ids from `least` to `most`.
    pub(crate) fn new(least: u64, most: u64, ids: W, starts: W) -> Self {
        let bits = u64::BITS - (most - least).leading_zeros();
        Self {
            record: IdsRecord { count: 0, base: least, bits },
            ids: Stream::new(ids),
            starts: Stream::new(starts),
            marks: 0,
            ranks: Vec::new(),
        }
    }

    /// Appends an id; `first` when it is the first of its fingerprint.
    pub(crate) fn push(&mut self, id: u64, first: bool) -> io::Result<()> {
        let place = self.record.count;
        if place > 0 && place.is_multiple_of(RANKED_PLACES) {
            self.ranks.push(self.marks);
        }
        self.record.count += 1;
        self.marks += u64::from(first);
        self.ids.put(id - self.record.base, self.record.bits)?;
        self.starts.put(u64::from(first), 1)
    }

    pub(crate) fn finish(self) -> io::Result<Packed<W>> {
        let Self { record, ids, starts, ranks, .. } = self;
        Ok(Packed { record, ids: ids.finish()?, starts: starts.finish()?, ranks })
    }
}

/// Returns the place of the first mark of each block, given how many marks each one has.
pub(crate) fn block_starts(marks: &mut impl Read, entries: &[u16]) -> io::Result<Vec<u64>> {
    let mut starts = Vec::with_capacity(entries.len());
    let mut place = 0u64;
    // Marks to pass before the next block starts.
    let mut until_next = 0u64;
    let mut buffer = vec![0; GATHER_BYTES];
    loop {
        let count = marks.read(&mut buffer)?;
        if count == 0 {
            return Ok(starts);
        }
        for &byte in &buffer[..count] {
            let mut left = byte;
            while u64::from(left.count_ones()) > until_next {
                // No block is empty, so the next one starts at this mark or at a later one.
                (0..until_next).for_each(|_| left ^= 0x80 >> left.leading_zeros());
                until_next = u64::from(entries[starts.len()]);
                starts.push(place + u64::from(left.leading_zeros()));
            }
            until_next -= u64::from(left.count_ones());
            place += 8;
        }
    }
}

/// Ids that are verified between cancellation checks.
const IDS_AT_ONCE: u64 = 1 << 20;

/// Blocks whose first ids are verified between cancellation checks.
const BLOCKS_AT_ONCE: usize = 1 << 10;

impl IdTable {
    /// Checks all three sections, and that each fingerprint has ids, ascending. `entries` gives how
    /// many entries each block of table 0 has. Ends early with an error of `check_cancelled`.
    pub(crate) fn verify(
        &self,
        file: &[u8],
        entries: &[usize],
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for section in [&self.ids, &self.starts, &self.directory] {
            section.verify_while(file, check_cancelled)?;
        }
        let ids = self.ids.read_all(file)?;
        let marks = self.starts.read_all(file)?;
        let is_first =
            |place: u64| self.all_single() || marks[(place / 8) as usize] & 0x80 >> (place % 8) != 0;
        self.verify_spare_bits(ids, marks)?;
        self.verify_order(ids, is_first, check_cancelled)?;

        self.verify_ranks(file, marks)?;
        let mut place = 0;
        for (block, &entries) in entries.iter().enumerate() {
            if block % BLOCKS_AT_ONCE == 0 {
                check_cancelled()?;
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
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut previous = 0;
        for place in 0..self.record.count {
            if place % IDS_AT_ONCE == 0 {
                check_cancelled()?;
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
            if !are_zero_after(bytes, bits) {
                return Err(ReadError::damaged(place, "bits after its end are set"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_back(values: Vec<u64>, bits in 0u32..=64) {
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let (mut bytes, mut packer) = (Vec::new(), Packer::default());
            for value in &values {
                packer.put(value & mask, bits, &mut bytes);
            }
            packer.finish(&mut bytes);
            prop_assert_eq!(bytes.len(), (values.len() * bits as usize).div_ceil(8));
            for (place, value) in (0..).zip(&values) {
                prop_assert_eq!(get(&bytes, place, bits), value & mask);
            }
        }
    }
}
