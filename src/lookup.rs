//! Look-ups: from an id to its fingerprints, and from a name to its ids, on disk.
//!
//! An index that was built with [`BuildOptions::lookups`](crate::BuildOptions::lookups) has them as optional sections.
//! Each is a hash table of *places*: of pairs, or of names. The first bits of the hash of a key choose a bucket; a place
//! stands in it with some of the next bits, its *tag*. A look-up reads the bounds of a bucket and the bucket; at most one
//! look-up in 128 reads the key of a wrong place.
//!
//! A table of places:
//!
//! ```text
//! 2^b + 1 numbers of s bits   the number of places before each bucket, and of all; up to a whole byte
//! n numbers of t + p bits     tag and place, ascending within a bucket; up to a whole byte
//! ```
//!
//! All widths follow from n.

use std::ops::Range;

use crate::bits::{self, packed_bytes};
use crate::digest::scramble;
use crate::error::ReadError;
use crate::format::section::Section;
use crate::sorting::partition_point;

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
    /// Returns every place whose key may have this hash, ascending.
    pub(crate) fn places(
        &self,
        hash: u64,
    ) -> Result<impl Iterator<Item = Result<u64, ReadError>>, ReadError> {
        let bucket = self.bucket(self.geometry.bucket(hash))?;
        let tag = self.geometry.tag(hash);
        let least =
            partition_point(bucket.clone(), |number| Ok::<_, ReadError>(self.entry(number)?.0 < tag))?;
        let entries = (least..bucket.end).map(|number| self.entry(number));
        let of_tag = entries.take_while(move |entry| !matches!(entry, Ok((other, _)) if *other != tag));
        Ok(of_tag.map(|entry| entry.map(|(_, place)| place)))
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
        match bits::are_zero_after(starts, of_starts) && bits::are_zero_after(entries, of_entries) {
            true => Ok(()),
            false => Err(self.damaged("bits after its end are set")),
        }
    }

    /// Returns the numbers of the entries of a bucket.
    fn bucket(&self, bucket: u64) -> Result<Range<u64>, ReadError> {
        let start_of = |bucket| self.section.packed(self.file, 0, bucket, self.geometry.start_bits);
        let (start, end) = (start_of(bucket)?, start_of(bucket + 1)?);
        if start > end || end > self.geometry.count {
            return Err(self.damaged("its buckets are out of order"));
        }
        Ok(start..end)
    }

    /// Returns the tag and the place of an entry.
    fn entry(&self, number: u64) -> Result<(u64, u64), ReadError> {
        let bits = self.geometry.entry_bits();
        let entry = self.section.packed(self.file, self.entries_at, number, bits)?;
        let tag = entry.checked_shr(self.geometry.place_bits).unwrap_or(0);
        let place = entry & ((1 << self.geometry.place_bits) - 1);
        if place >= self.geometry.count {
            return Err(self.damaged("a place is not in the file"));
        }
        Ok((tag, place))
    }

    #[cold]
    fn damaged(&self, what: &str) -> ReadError {
        self.section.damaged(what)
    }
}

/// The greatest number of tag bits: one place in 2^12 of a bucket of 16 to 32 has the tag of another key.
const MAX_TAG_BITS: u32 = 12;

/// Logarithm of the greatest number of places per bucket, if they are spread evenly.
const PLACES_PER_BUCKET_LOG2: u32 = 5;

/// The form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Number of places.
    pub(crate) count: u64,
    place_bits: u32,
    bucket_bits: u32,
    tag_bits: u32,
    /// Bits of the start of a bucket.
    pub(crate) start_bits: u32,
}

impl Geometry {
    /// Returns the geometry for `count` places.
    pub(crate) fn of(count: u64) -> Self {
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let place_bits = bits(count.saturating_sub(1));
        let left = u64::BITS - place_bits;
        let bucket_bits = place_bits.saturating_sub(PLACES_PER_BUCKET_LOG2).min(left);
        let tag_bits = MAX_TAG_BITS.min(left - bucket_bits);
        Self { count, place_bits, bucket_bits, tag_bits, start_bits: bits(count) }
    }

    /// Returns the number of buckets.
    pub(crate) fn buckets(self) -> u64 {
        1 << self.bucket_bits
    }

    /// Returns the bits of an entry: tag and place.
    pub(crate) fn entry_bits(self) -> u32 {
        self.tag_bits + self.place_bits
    }

    /// Returns the bucket of a hash.
    pub(crate) fn bucket(self, hash: u64) -> u64 {
        leading(hash, self.bucket_bits)
    }

    /// Returns the tag of a hash.
    pub(crate) fn tag(self, hash: u64) -> u64 {
        leading(hash, self.bucket_bits + self.tag_bits) & ((1 << self.tag_bits) - 1)
    }

    /// Returns bucket, tag and place as one number: by these, places are sorted.
    pub(crate) fn key(self, hash: u64, place: u64) -> u64 {
        let first = leading(hash, self.bucket_bits + self.tag_bits);
        first.checked_shl(self.place_bits).unwrap_or(0) | place
    }

    /// Returns the bytes of the starts; `None` beyond 64 bits.
    fn start_bytes(self) -> Option<u64> {
        packed_bytes(self.buckets() + 1, self.start_bits)
    }

    /// Returns the bytes of the section; `None` beyond 64 bits.
    pub(crate) fn bytes(self) -> Option<u64> {
        self.start_bytes()?.checked_add(packed_bytes(self.count, self.entry_bits())?)
    }
}

/// Returns the first bits of a hash as a number.
fn leading(hash: u64, bits: u32) -> u64 {
    hash.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// Returns the hash of an id.
pub(crate) fn hash_of_id(id: u64) -> u64 {
    scramble(id)
}

/// Returns the hash of a name.
pub(crate) fn hash_of_name(name: &[u8]) -> u64 {
    let mut hash = scramble(name.len() as u64);
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = scramble(hash ^ u64::from_le_bytes(word));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_from_the_count_and_fit_into_a_word() {
        for (count, place, bucket, tag, start, bytes) in [
            (0, 0, 0, 12, 0, 0),
            (1, 0, 0, 12, 1, 3),
            (2, 1, 0, 12, 2, 5),
            (32, 5, 0, 12, 6, 70),
            (33, 6, 1, 12, 6, 78),
            (1_000_000, 20, 15, 12, 20, 4_081_923),
            (1 << 33, 33, 28, 3, 34, 39_795_556_357),
        ] {
            let geometry = Geometry::of(count);
            let widths = (geometry.place_bits, geometry.bucket_bits, geometry.tag_bits, geometry.start_bits);
            assert_eq!((widths, geometry.bytes()), ((place, bucket, tag, start), Some(bytes)), "{count}");
        }
        for count in (0..64).map(|bits| 1u64 << bits).chain([u64::MAX]) {
            let geometry = Geometry::of(count);
            assert!(geometry.bucket_bits + geometry.tag_bits + geometry.place_bits <= 64, "{geometry:?}");
        }
    }

    #[test]
    fn a_key_is_bucket_tag_and_place() {
        let geometry = Geometry::of(1_000_000);
        let hash = 0xfedc_ba98_7654_3210;
        assert_eq!((geometry.bucket(hash), geometry.tag(hash)), (0x7f6e, 0x5d4));
        assert_eq!(geometry.key(hash, 77), (0x7f6e << 12 | 0x5d4) << 20 | 77);
        assert_eq!(Geometry::of(1).key(hash, 0), 0xfed);
    }

    #[test]
    fn every_byte_of_a_name_and_their_number_count() {
        let hashes = [&b""[..], b"\0", b"\0\0", b"a", b"a\0", b"abcdefgh", b"abcdefgh\0", b"abcdefghi"];
        let distinct: std::collections::BTreeSet<u64> = hashes.into_iter().map(hash_of_name).collect();
        assert_eq!(distinct.len(), hashes.len());
    }
}
