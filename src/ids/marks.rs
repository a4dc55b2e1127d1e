//! Marks: bits, of which each set one is the first id of a fingerprint. Found by going through a few of them, or by
//! their ranks if the next one is far off.

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError};
use crate::format::footer::RANKED_PLACES;
use crate::ids::reader::IdTable;

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

    /// Returns the number of marks before a place.
    pub(super) fn marks_before(&self, file: &[u8], place: u64) -> Result<u64, ReadError> {
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
