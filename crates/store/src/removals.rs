//! The file that says which pairs of a segment are gone: a Roaring bitmap of their places.
//!
//! ```text
//! 0    8  magic
//! 8    4  version of the format
//! 12   4  zero
//! 16  16  the segment's file id
//! 32   8  the segment's number
//! 40   8  the version of these removals
//! 48   8  number of places in the segment
//! 56   8  number of places that are gone, B = bytes of the bitmap follow
//! 64   8  B
//! 72   B  the bitmap: the 64-bit extension of the portable Roaring format
//! …    4  CRC-32 of all before, with context
//! ```

use std::io::{self, Write};

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::checksum::{Kind, checksum};
use crate::disk::{Disk, DiskFile, create_anew};
use crate::error::Error;
use crate::identity::StoreId;
use crate::layout;
use crate::manifest::{RemovalsEntry, SegmentEntry};

const HEADER_BYTES: usize = 72;
const CHECKSUM_BYTES: usize = 4;
const MAGIC: [u8; 8] = *b"\x89HDXR\r\n\x1a";

/// The version of the format of removals.
const VERSION: u32 = 1;

/// Writes the removals that the entry of a segment names. They are durable when this returns, their name included.
/// Returns how many bytes were written.
///
/// # Errors
/// What the operating system refuses.
pub fn write<D: Disk>(
    disk: &D,
    store: StoreId,
    segment: &SegmentEntry,
    version: u64,
    removed: &RoaringTreemap,
) -> Result<u64, Error> {
    let bytes = to_bytes(store, segment, version, removed);
    let name = layout::removals(segment.number, version);
    let write = || {
        let mut file = create_anew(disk, &name)?;
        file.write_all(&bytes)?;
        file.sync()?;
        disk.sync_directory(layout::DELETES)
    };
    match write() {
        Ok(()) => Ok(bytes.len() as u64),
        Err(error) => {
            // It has no part in the store yet; if it stays, the next open removes it.
            let _ = disk.remove(&name);
            Err(Error::io("write it", disk.path(&name))(error))
        }
    }
}

/// Reads the removals that the entry of a segment names; none if it names none.
///
/// # Errors
/// When the file is missing, damaged, of a newer format or of another segment; what the operating system refuses.
pub fn read<D: Disk>(disk: &D, store: StoreId, segment: &SegmentEntry) -> Result<RoaringTreemap, Error> {
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

/// The bytes of the file.
#[must_use]
pub fn to_bytes(store: StoreId, segment: &SegmentEntry, version: u64, removed: &RoaringTreemap) -> Vec<u8> {
    let bitmap_bytes = removed.serialized_size();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + bitmap_bytes + CHECKSUM_BYTES);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(segment.file_id);
    for number in [segment.number, version, segment.pairs, removed.len(), bitmap_bytes as u64] {
        bytes.extend(number.to_le_bytes());
    }
    removed.serialize_into(&mut bytes).expect("a vector takes everything");
    let checksum = checksum(store, Kind::Removals, segment.number, version, &bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// What is wrong with the bytes of removals.
#[derive(Debug)]
enum Problem {
    Newer(u64),
    /// Where, and what.
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
        _ => return Err(Damaged(8, "the version is none")),
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
    let removed = parse_bitmap(bitmap).ok_or(Damaged(HEADER_BYTES, "the bitmap is none"))?;
    let is_within = removed.max().is_none_or(|last| last < segment.pairs);
    match is_within && removed.len() == entry.count {
        true => Ok(removed),
        false => {
            Err(Damaged(HEADER_BYTES, "the bitmap has places that the segment has not, or too few or many"))
        }
    }
}

/// The 64-bit extension of the portable Roaring format: the number of bitmaps, and for each the high 32 bits of its
/// numbers and a 32-bit bitmap. High bits ascend strictly, no bitmap is empty, and nothing follows.
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

/// Whether a bitmap that has been read from these bytes has as many numbers in each container as the header of the
/// container says, which reading runs does not check; and whether no flag is that of a container that is not there.
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

/// How a 32-bit bitmap with containers of runs begins.
const COOKIE_WITH_RUNS: u16 = 12347;
