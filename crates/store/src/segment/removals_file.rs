//! The removals file: a Roaring bitmap of the places of the removed pairs of a segment.
//!
//! ```text
//! 0    8  magic
//! 8    4  version of the format
//! 12   4  zero
//! 16  16  the segment's file id
//! 32   8  the segment's number
//! 40   8  the version of these removals
//! 48   8  number of places in the segment
//! 56   8  number of removed places
//! 64   8  B, the length of the bitmap
//! 72   B  the bitmap: the 64-bit extension of the portable Roaring format
//! …    4  CRC-32 of everything before, with context
//! ```

use std::io;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::disk::layout::{self, MAX_NUMBER};
use crate::disk::{Disk, write_replacing};
use crate::error::{Error, is_unreadable};
use crate::manifest::identity::StoreId;
use crate::manifest::identity::{Kind, checksum};
use crate::manifest::{RemovalsEntry, SegmentEntry};

const HEADER_BYTES: usize = 72;
const CHECKSUM_BYTES: usize = 4;
const MAGIC: [u8; 8] = *b"\x89HDXR\r\n\x1a";

/// The version of the format of removals files.
const VERSION: u32 = 1;

/// Writes a removals file. It and its name are durable when this returns. Returns its length.
///
/// # Errors
/// When the version is above [`MAX_NUMBER`]; when the operating system refuses an operation.
pub fn write(
    disk: &dyn Disk,
    store: StoreId,
    segment: &SegmentEntry,
    version: u64,
    removed: &RoaringTreemap,
) -> Result<u64, Error> {
    let name = layout::removals(segment.number, version);
    if version > MAX_NUMBER {
        return Err(Error::io("write it", disk.path(&name))(io::Error::other("no version is left for it")));
    }
    let bytes = to_bytes(store, segment, version, removed);
    let written = write_replacing(disk, &name, &bytes).and_then(|()| disk.sync_directory(layout::DELETES));
    match written {
        Ok(()) => Ok(bytes.len() as u64),
        Err(error) => {
            // If it stays, no manifest names it, and the next writer removes it.
            let _ = disk.remove(&name);
            Err(Error::io("write it", disk.path(&name))(error))
        }
    }
}

/// Reads the removals that the entry of a segment names; an empty set if it names none.
///
/// # Errors
/// When the file is missing, damaged, of a newer format or of another segment; when the operating system refuses an
/// operation.
pub fn read(disk: &dyn Disk, store: StoreId, segment: &SegmentEntry) -> Result<RoaringTreemap, Error> {
    let Some(entry) = segment.removals else {
        return Ok(RoaringTreemap::new());
    };
    let name = layout::removals(segment.number, entry.version);
    let path = disk.path(&name);
    let bytes = match disk.read(&name) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::Missing { path }),
        Err(error) => return Err(Error::io("read it", path)(error)),
    };
    parse(&bytes, store, segment, entry).map_err(|problem| match problem {
        Problem::Newer(found) => Error::Newer { path, found, supported: VERSION.into() },
        Problem::Damaged(offset, what) => Error::damaged(path, offset as u64, what),
    })
}

/// Finds valid removals of a segment: of the greatest version, whether its entry names it or not. Bytes after the end of
/// a complete file are ignored.
///
/// # Errors
/// When the operating system refuses an operation, other than to read bytes that the disk has lost.
pub(crate) fn find(
    disk: &dyn Disk,
    store: StoreId,
    segment: &SegmentEntry,
) -> Result<Option<(RemovalsEntry, RoaringTreemap)>, Error> {
    for version in versions(disk, segment.number)?.into_iter().rev() {
        let name = layout::removals(segment.number, version);
        let bytes = match disk.read(&name) {
            Err(error) if is_unreadable(&error) => continue,
            outcome => outcome.map_err(Error::io("read it", disk.path(&name)))?,
        };
        let named = segment.removals.filter(|named| named.version == version);
        let found = find_in(&bytes, store, segment, version, named.map(|named| named.count));
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Returns the removals in a file. With a known count the whole header is known, and damage to it is mended.
fn find_in(
    bytes: &[u8],
    store: StoreId,
    segment: &SegmentEntry,
    version: u64,
    known: Option<u64>,
) -> Option<(RemovalsEntry, RoaringTreemap)> {
    let number = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let around = HEADER_BYTES + CHECKSUM_BYTES;
    let lengths =
        [number(64).and_then(|length| usize::try_from(length).ok()), bytes.len().checked_sub(around)];
    let entry = RemovalsEntry { version, count: known.or_else(|| number(56))? };
    lengths.into_iter().flatten().find_map(|bitmap_bytes| {
        let mut bytes = bytes.get(..bitmap_bytes.checked_add(around)?)?.to_vec();
        let (contents, stored) = bytes.split_at_mut(HEADER_BYTES + bitmap_bytes);
        if known.is_some() {
            contents[..HEADER_BYTES].copy_from_slice(&header(segment, version, entry.count, bitmap_bytes));
            let checksum = checksum(store, Kind::Removals, segment.number, version, contents).to_le_bytes();
            // A single wrong byte is damage to the checksum itself: damage elsewhere changes all of it.
            if stored.iter().zip(&checksum).filter(|(stored, right)| stored != right).count() == 1 {
                stored.copy_from_slice(&checksum);
            }
        }
        Some((entry, parse(&bytes, store, segment, entry).ok()?))
    })
}

/// Returns a version of the removals of a segment that is above those of all files; `None` if there is none.
pub(crate) fn next_version(disk: &dyn Disk, segment: u64) -> Result<Option<u64>, Error> {
    let next = versions(disk, segment)?.last().map_or(1, |last| last + 1);
    Ok(Some(next).filter(|next| *next <= MAX_NUMBER))
}

/// Returns the versions of the removals files of a segment, ascending.
fn versions(disk: &dyn Disk, segment: u64) -> Result<Vec<u64>, Error> {
    layout::listed(disk, layout::DELETES, |name| {
        layout::parse_removals(name).filter(|(number, _)| *number == segment).map(|(_, version)| version)
    })
}

/// Returns the bytes of a removals file.
#[must_use]
pub fn to_bytes(store: StoreId, segment: &SegmentEntry, version: u64, removed: &RoaringTreemap) -> Vec<u8> {
    let bitmap_bytes = removed.serialized_size();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + bitmap_bytes + CHECKSUM_BYTES);
    bytes.extend(header(segment, version, removed.len(), bitmap_bytes));
    removed.serialize_into(&mut bytes).expect("a vector takes everything");
    let checksum = checksum(store, Kind::Removals, segment.number, version, &bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Returns the bytes before the bitmap.
fn header(segment: &SegmentEntry, version: u64, count: u64, bitmap_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..32].copy_from_slice(&segment.file_id);
    let numbers = [segment.number, version, segment.pairs, count, bitmap_bytes as u64];
    for (at, number) in (32..).step_by(8).zip(numbers) {
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The error of invalid bytes.
#[derive(Debug)]
enum Problem {
    Newer(u64),
    /// The offset and the kind of damage.
    Damaged(usize, &'static str),
}

fn parse(
    bytes: &[u8],
    store: StoreId,
    segment: &SegmentEntry,
    entry: RemovalsEntry,
) -> Result<RoaringTreemap, Problem> {
    use Problem::Damaged;
    if bytes.len() < HEADER_BYTES + CHECKSUM_BYTES {
        return Err(Damaged(bytes.len(), "it ends too early"));
    }
    if bytes[..8] != MAGIC {
        return Err(Damaged(0, "it does not begin as removals do"));
    }
    let (contents, stored) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    if checksum(store, Kind::Removals, segment.number, entry.version, contents).to_le_bytes() != *stored {
        return Err(Damaged(contents.len(), "the checksum differs"));
    }
    let (header, bitmap) = contents.split_at(HEADER_BYTES);
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    // The version and the zeros after it are one number.
    match number(8) {
        version if version == u64::from(VERSION) => {}
        version if version as u32 > VERSION => return Err(Problem::Newer(u64::from(version as u32))),
        _ => return Err(Damaged(8, "the version is invalid")),
    }
    if header[16..32] != segment.file_id {
        return Err(Damaged(16, "it belongs to another file than the segment"));
    }
    let expected = [segment.number, entry.version, segment.pairs, entry.count, bitmap.len() as u64];
    if let Some(wrong) =
        expected.iter().zip((32..).step_by(8)).find(|&(&expected, at)| number(at) != expected)
    {
        return Err(Damaged(wrong.1, "a field differs from what the manifest says, or from the length"));
    }
    let removed = parse_bitmap(bitmap).ok_or(Damaged(HEADER_BYTES, "the bitmap is invalid"))?;
    let is_within = removed.max().is_none_or(|last| last < segment.pairs);
    match is_within && removed.len() == entry.count {
        true => Ok(removed),
        false => Err(Damaged(
            HEADER_BYTES,
            "the bitmap has places beyond the segment, or another number of places",
        )),
    }
}

/// Parses the 64-bit extension of the portable Roaring format: the number of bitmaps, and for each the high 32 bits of
/// its numbers and a 32-bit bitmap. High bits ascend strictly, no bitmap is empty, and nothing follows.
fn parse_bitmap(mut bytes: &[u8]) -> Option<RoaringTreemap> {
    let (count, rest) = bytes.split_first_chunk()?;
    bytes = rest;
    let mut bitmaps: Vec<(u32, RoaringBitmap)> = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (high, rest) = bytes.split_first_chunk()?;
        bytes = rest;
        let high = u32::from_le_bytes(*high);
        let start = bytes;
        let bitmap = RoaringBitmap::deserialize_from(&mut bytes).ok()?;
        if bitmap.is_empty()
            || !counts_are_right(start, &bitmap)
            || bitmaps.last().is_some_and(|&(last, _)| last >= high)
        {
            return None;
        }
        bitmaps.push((high, bitmap));
    }
    bytes.is_empty().then(|| RoaringTreemap::from_bitmaps(bitmaps))
}

/// Whether a bitmap that was parsed from these bytes has as many numbers in each container as the header of the
/// container says, which is not checked for runs; and whether no flag belongs to an absent container.
fn counts_are_right(bytes: &[u8], bitmap: &RoaringBitmap) -> bool {
    let u16_at = |at: usize| bytes.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let check = || {
        let (containers, headers) = if u16_at(0)? == COOKIE_WITH_RUNS {
            let containers = usize::from(u16_at(2)?) + 1;
            let flags = bytes.get(4..4 + containers.div_ceil(8))?;
            if containers % 8 > 0 && flags.last()? >> (containers % 8) > 0 {
                return None;
            }
            (containers, 4 + flags.len())
        } else {
            (usize::from(u16_at(4)?) + (usize::from(u16_at(6)?) << 16), 8)
        };
        for header in (headers..).step_by(4).take(containers) {
            let (key, count) = (u32::from(u16_at(header)?), u64::from(u16_at(header + 2)?) + 1);
            if bitmap.range_cardinality(key << 16..=key << 16 | 0xffff) != count {
                return None;
            }
        }
        Some(())
    };
    check().is_some()
}

/// The first bytes of a 32-bit bitmap with run containers.
const COOKIE_WITH_RUNS: u16 = 12347;
