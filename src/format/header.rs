//! The first 64 bytes of a file, followed by zeros to the end of the page.
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

use std::fmt;

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError, ReadErrorKind};
use crate::format::PAGE_BYTES;

/// In the manner of PNG's: a byte that is no text, the name, and line ends that a transfer as text
/// would change.
pub(crate) const MAGIC: [u8; 8] = *b"\x89HDX\r\n\x1a\n";

/// The version that this crate writes, and the only major one that it reads.
pub(crate) const MAJOR: u16 = 1;
pub(crate) const MINOR: u16 = 0;

/// Bytes in use; the rest of the first page is zero.
pub(crate) const BYTES: usize = 64;

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
        let Some(header) = file.get(..BYTES) else {
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
    fn it_is_read_back() {
        assert_eq!(Header::read(&HEADER.page()).unwrap(), HEADER);
    }

    #[test]
    fn one_flipped_bit_is_seen() {
        for bit in 0..BYTES * 8 {
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
}
