//! The file format: its sections, and how a reader knows that it is complete: by its header and its trailer.
//! format-spec.md is the authority; this module implements it.
//!
//! - [`footer`]: everything about the contents, and the one order of sections that a file can have
//! - [`checksum`]: CRC-32 with context, so that no unit is taken for another
//! - [`section`]: byte ranges in checksummed pages
//!
//! The header, followed by zeros to the end of the page:
//!
//! ```text
//! 0   8   magic
//! 8   2   major version: a reader refuses others
//! 10  2   minor version: a reader takes any
//! 12  4   zero
//! 16  8   required features: a reader refuses bits it does not know
//! 24  8   optional features: a reader passes over bits it does not know
//! 32  16  file id
//! 48  12  zero
//! 60  4   CRC-32 of bytes 0 to 59
//! ```
//!
//! The trailer:
//!
//! ```text
//! 0   8   offset of the footer
//! 8   8   length of the footer's contents
//! 16  4   zero
//! 20  4   CRC-32 of bytes 0 to 19, in the context of the file
//! 24  8   magic: the header's, backwards
//! ```

pub(crate) mod checksum;
pub(crate) mod footer;
pub(crate) mod section;

use std::fmt;

use byteorder::{ByteOrder, LittleEndian};
use checksum::{Context, UnitKind};
use section::extent;

use crate::error::{Place, ReadError, ReadErrorKind};

/// Alignment of the blocks of tables in a file.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Every other section starts at a multiple of this.
const SECTION_ALIGNMENT: u64 = 8;

/// Returns the smallest multiple of `alignment` that is not below `offset`; `None` beyond 64 bits.
pub(crate) fn align(offset: u64, alignment: u64) -> Option<u64> {
    offset.checked_next_multiple_of(alignment)
}

/// In the manner of PNG's: a byte that is not ASCII, the name, and line ends that a transfer as text
/// would change.
const MAGIC: [u8; 8] = *b"\x89HDX\r\n\x1a\n";

/// The version that this crate writes, and the only major one that it reads.
pub(crate) const MAJOR: u16 = 1;
pub(crate) const MINOR: u16 = 0;

/// Bytes in use; the rest of the first page is zero.
pub(crate) const HEADER_BYTES: usize = 64;

/// Bits of required features that this reader knows: none so far.
const KNOWN_FEATURES: u64 = 0;

/// The id of an index file: 128 bits, made from the contents and the options of the build, so that the same of both
/// give the same file. Displayed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) [u8; 16]);

impl FileId {
    /// Returns its bytes in the file.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns a part of it, which is enough to notice a mistake.
    #[inline]
    pub(crate) fn tag(self) -> u32 {
        LittleEndian::read_u32(&self.0)
    }
}

impl From<[u8; 16]> for FileId {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The contents of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) minor: u16,
    pub(crate) file_id: FileId,
}

impl Header {
    /// Returns the first page of a file.
    pub(crate) fn page(self) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES as usize];
        page[..8].copy_from_slice(&MAGIC);
        LittleEndian::write_u16(&mut page[8..], MAJOR);
        LittleEndian::write_u16(&mut page[10..], self.minor);
        page[32..48].copy_from_slice(&self.file_id.0);
        let checksum = crc32fast::hash(&page[..60]);
        LittleEndian::write_u32(&mut page[60..], checksum);
        page
    }

    /// Reads the header of a file. The order of the checks decides which error a user gets: that a file
    /// is not ours comes before that it is damaged, and damage before versions.
    pub(crate) fn read(file: &[u8]) -> Result<Self, ReadError> {
        let seen = file.len().min(MAGIC.len());
        if file.is_empty() || file[..seen] != MAGIC[..seen] {
            return Err(ReadErrorKind::NotHamdex.into());
        }
        let Some(header) = file.get(..HEADER_BYTES) else {
            return Err(ReadErrorKind::Truncated { length: file.len() as u64 }.into());
        };
        if crc32fast::hash(&header[..60]) != LittleEndian::read_u32(&header[60..]) {
            return Err(ReadError::damaged(Place::Header, "its checksum does not match"));
        }
        let major = LittleEndian::read_u16(&header[8..]);
        let minor = LittleEndian::read_u16(&header[10..]);
        if major > MAJOR {
            return Err(ReadErrorKind::TooNew { found: major, supported: MAJOR }.into());
        }
        if major < MAJOR {
            return Err(ReadErrorKind::TooOld { found: major, supported: MAJOR }.into());
        }
        let unknown = LittleEndian::read_u64(&header[16..]) & !KNOWN_FEATURES;
        if unknown != 0 {
            return Err(ReadErrorKind::UnknownFeatures { bits: unknown }.into());
        }
        let zeros = header[12..16].iter().chain(&header[48..60]);
        if zeros.copied().any(|byte| byte != 0) {
            return Err(ReadError::damaged(Place::Header, "reserved bytes are not zero"));
        }
        Ok(Self { minor, file_id: FileId(header[32..48].try_into().expect("16 bytes")) })
    }
}

pub(crate) const TRAILER_BYTES: usize = 32;

/// The contents of the trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_length: u64,
}

impl Trailer {
    pub(crate) fn bytes(self, file_id: FileId) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        LittleEndian::write_u64(&mut bytes, self.footer_offset);
        LittleEndian::write_u64(&mut bytes[8..], self.footer_length);
        let checksum = trailer_context(file_id).checksum(0, &bytes[..20]);
        LittleEndian::write_u32(&mut bytes[20..], checksum);
        bytes[24..].copy_from_slice(&trailer_magic());
        bytes
    }

    /// Reads the trailer of a whole file.
    pub(crate) fn read(file: &[u8], file_id: FileId) -> Result<Self, ReadError> {
        let truncated = ReadErrorKind::Truncated { length: file.len() as u64 };
        let Some(bytes) = file.len().checked_sub(TRAILER_BYTES).map(|at| &file[at..]) else {
            return Err(truncated.into());
        };
        if bytes[24..] != trailer_magic() {
            return Err(truncated.into());
        }
        if trailer_context(file_id).checksum(0, &bytes[..20]) != LittleEndian::read_u32(&bytes[20..]) {
            return Err(ReadError::damaged(Place::Trailer, "its checksum does not match"));
        }
        if bytes[16..20] != [0; 4] {
            return Err(ReadError::damaged(Place::Trailer, "reserved bytes are not zero"));
        }
        Ok(Self {
            footer_offset: LittleEndian::read_u64(bytes),
            footer_length: LittleEndian::read_u64(&bytes[8..]),
        })
    }
}

fn trailer_magic() -> [u8; 8] {
    let mut magic = MAGIC;
    magic.reverse();
    magic
}

fn trailer_context(file_id: FileId) -> Context {
    Context::new(file_id, UnitKind::Trailer, 0)
}

/// The position of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub(crate) kind: UnitKind,
    /// The table that it belongs to; 0 if none.
    pub(crate) table: u32,
    /// From the start of the file, in bytes.
    pub(crate) offset: u64,
    /// Of its contents, in bytes.
    pub(crate) length: u64,
}

impl SectionRecord {
    /// Returns its end, checksums included; `None` beyond 64 bits.
    pub(crate) fn end(&self) -> Option<u64> {
        let extent = if self.kind.is_blocks() { Some(self.length) } else { extent(self.length) };
        self.offset.checked_add(extent?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { minor: 3, file_id: FileId(*b"0123456789abcdef") };

    /// Returns a header page with some bytes changed and the checksum made right again.
    fn with(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut page = HEADER.page();
        page[at..at + bytes.len()].copy_from_slice(bytes);
        let checksum = crc32fast::hash(&page[..60]);
        LittleEndian::write_u32(&mut page[60..], checksum);
        page
    }

    #[test]
    fn the_header_is_read_back() {
        assert_eq!(Header::read(&HEADER.page()).unwrap(), HEADER);
    }

    #[test]
    fn one_flipped_bit_is_seen() {
        for bit in 0..HEADER_BYTES * 8 {
            let mut page = HEADER.page();
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::read(&page).is_err(), "bit {bit}");
        }
    }

    fn kind(file: &[u8]) -> ReadErrorKind {
        Header::read(file).unwrap_err().into_kind()
    }

    #[test]
    fn each_refusal_says_which_it_is() {
        assert!(matches!(kind(b""), ReadErrorKind::NotHamdex));
        assert!(matches!(kind(b"id,text\n1,hello"), ReadErrorKind::NotHamdex));
        assert!(matches!(kind(&MAGIC), ReadErrorKind::Truncated { length: 8 }));
        assert!(matches!(kind(&with(8, &[2, 0])), ReadErrorKind::TooNew { found: 2, .. }));
        assert!(matches!(kind(&with(8, &[0, 0])), ReadErrorKind::TooOld { found: 0, .. }));
        assert!(matches!(kind(&with(16, &[4])), ReadErrorKind::UnknownFeatures { bits: 4 }));
        assert!(matches!(kind(&with(48, &[1])), ReadErrorKind::Damaged { .. }));
        assert!(Header::read(&with(24, &[1])).is_ok(), "optional features may be passed over");
        assert!(Header::read(&with(10, &[9])).is_ok(), "a newer minor version may be read");
    }

    const ID: FileId = FileId([5; 16]);
    const TRAILER: Trailer = Trailer { footer_offset: 8192, footer_length: 77 };

    #[test]
    fn the_trailer_is_read_back() {
        assert_eq!(Trailer::read(&TRAILER.bytes(ID), ID).unwrap(), TRAILER);
    }

    #[test]
    fn one_flipped_bit_or_another_file_is_seen() {
        for bit in 0..TRAILER_BYTES * 8 {
            let mut bytes = TRAILER.bytes(ID);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Trailer::read(&bytes, ID).is_err(), "bit {bit}");
        }
        assert!(Trailer::read(&TRAILER.bytes(ID), FileId([6; 16])).is_err());
        let refused = Trailer::read(&[1, 2], ID).unwrap_err();
        assert!(matches!(refused.kind(), ReadErrorKind::Truncated { length: 2 }));
    }
}
