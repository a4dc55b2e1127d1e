//! The places of a hash.

use std::ops::{ControlFlow, Range};

use crate::bits;
use crate::error::ReadError;
use crate::format::section::Section;
use crate::lookup::geometry::Geometry;

/// Places that are verified between cancellation checks.
const PLACES_AT_ONCE: u64 = 1 << 20;

/// A table of places in an open file.
pub(crate) struct LookupTable {
    pub(crate) section: Section,
}

/// A table of places whose length fits their number; made by [`LookupTable::open`].
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    file: &'a [u8],
    section: &'a Section,
    geometry: Geometry,
    /// Offset of the entries in the section.
    entries_at: u64,
}

impl LookupTable {
    /// Returns the table, which must have `count` places.
    pub(crate) fn open<'a>(&'a self, file: &'a [u8], count: u64) -> Result<Lookup<'a>, ReadError> {
        let geometry = Geometry::of(count);
        let fits = geometry.bytes() == Some(self.section.length() as u64);
        match geometry.start_bytes().filter(|_| fits) {
            Some(entries_at) => Ok(Lookup { file, section: &self.section, geometry, entries_at }),
            None => Err(self.section.damaged("it is shorter or longer than its places need")),
        }
    }
}

impl Lookup<'_> {
    /// Calls `visit` with every place whose key may have this hash, ascending, until it breaks.
    pub(crate) fn places<B>(
        &self,
        hash: u64,
        mut visit: impl FnMut(u64) -> Result<ControlFlow<B>, ReadError>,
    ) -> Result<ControlFlow<B>, ReadError> {
        let bucket = self.bucket(self.geometry.bucket(hash))?;
        let tag = self.geometry.tag(hash);
        let (mut least, mut end) = (bucket.start, bucket.end);
        while least < end {
            let middle = least.midpoint(end);
            if self.entry(middle)?.0 < tag {
                least = middle + 1;
            } else {
                end = middle;
            }
        }
        for number in least..bucket.end {
            let (other, place) = self.entry(number)?;
            if other != tag {
                break;
            }
            if let ControlFlow::Break(value) = visit(place)? {
                return Ok(ControlFlow::Break(value));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Checks the whole section, and that each place is there once, by the hash of its key.
    pub(crate) fn verify(
        &self,
        hash_at: impl Fn(u64) -> Result<u64, ReadError>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        self.section.verify_while(self.file, check_cancelled)?;
        let mut end = 0;
        for bucket in 0..self.geometry.buckets() {
            let range = self.bucket(bucket)?;
            if range.start != end {
                return Err(self.damaged("its buckets are out of order"));
            }
            end = range.end;
            let mut before = None;
            for number in range {
                if number % PLACES_AT_ONCE == 0 {
                    check_cancelled()?;
                }
                let entry = self.entry(number)?;
                // Each place has one hash, so entries in strict order have different places.
                if before.replace(entry) >= Some(entry) {
                    return Err(self.damaged("its places are out of order"));
                }
                let hash = hash_at(entry.1)?;
                if (self.geometry.bucket(hash), self.geometry.tag(hash)) != (bucket, entry.0) {
                    return Err(self.damaged("a place is not where its key leads"));
                }
            }
        }
        if end != self.geometry.count {
            return Err(self.damaged("it has more or fewer places than the file"));
        }
        self.verify_spare_bits()
    }

    /// The bits after the last start and the last entry are zero.
    fn verify_spare_bits(&self) -> Result<(), ReadError> {
        let (starts, entries) = self.section.read_all(self.file)?.split_at(self.entries_at as usize);
        let Geometry { count, start_bits, .. } = self.geometry;
        let of_starts = (self.geometry.buckets() + 1).wrapping_mul(u64::from(start_bits));
        let of_entries = count.wrapping_mul(u64::from(self.geometry.entry_bits()));
        for (bytes, used) in [(starts, of_starts % 8), (entries, of_entries % 8)] {
            if let (true, Some(last)) = (used > 0, bytes.last())
                && last & (0xff >> used) != 0
            {
                return Err(self.damaged("bits after its end are set"));
            }
        }
        Ok(())
    }

    /// Returns the numbers of the entries of a bucket.
    fn bucket(&self, bucket: u64) -> Result<Range<u64>, ReadError> {
        let bits = self.geometry.start_bits;
        let (start, end) = (self.number(0, bucket, bits)?, self.number(0, bucket + 1, bits)?);
        if start > end || end > self.geometry.count {
            return Err(self.damaged("its buckets are out of order"));
        }
        Ok(start..end)
    }

    /// Returns the tag and the place of an entry.
    fn entry(&self, number: u64) -> Result<(u64, u64), ReadError> {
        let bits = self.geometry.entry_bits();
        let entry = self.number(self.entries_at, number, bits)?;
        let tag = entry.checked_shr(self.geometry.place_bits).unwrap_or(0);
        let place = entry & ((1 << self.geometry.place_bits) - 1);
        if place >= self.geometry.count {
            return Err(self.damaged("a place is not in the file"));
        }
        Ok((tag, place))
    }

    /// Returns a number of a packed list that starts at a byte of the section.
    fn number(&self, list_at: u64, place: u64, bits: u32) -> Result<u64, ReadError> {
        // It lies inside the section, whose length has been compared, so nothing here overflows.
        let first_bit = place * u64::from(bits);
        let start = list_at + first_bit / 8;
        let end = list_at + (first_bit + u64::from(bits)).div_ceil(8);
        let bytes = self.section.read(self.file, start as usize..end as usize)?;
        Ok(bits::read::<u64>(bytes, (first_bit % 8) as usize, bits))
    }

    #[cold]
    fn damaged(&self, what: &str) -> ReadError {
        self.section.damaged(what)
    }
}
