//! The header of a log.
//!
//! ```text
//! 0    8  magic
//! 8    4  version of the format
//! 12   4  width of a fingerprint, in bits
//! 16  16  the store's id
//! 32   8  the log's number
//! 40   8  the least sequence number that its records can have
//! 48   8  bytes of the log before this one; 0 if this one continues none
//! 56   1  whether pairs have ids
//! 57   1  whether ids have names: 2 if they have shingles as well
//! 58   2  zero
//! 60   4  CRC-32 of bytes 0 to 59, without context
//! ```

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::identity::{Identity, StoreId};

pub(crate) const HEADER_BYTES: usize = 64;

/// As in PNG: a byte that is not text, the name, and bytes that a conversion of line ends would change.
const MAGIC: [u8; 8] = *b"\x89HDXL\r\n\x1a";

/// The version of the format of logs.
pub(crate) const VERSION: u32 = 1;

/// The header of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: Identity,
    pub(crate) number: u64,
    pub(crate) first_sequence: u64,
    /// The length of the previous log; 0 if this one continues none.
    pub(crate) previous_bytes: u64,
}

/// The error of invalid header bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Newer(u32),
    /// The header was only partly written, or damaged later.
    Torn(&'static str),
    /// The header has a valid checksum, but no writer writes it.
    Damaged(&'static str),
}

/// Whether a file is a log without records, as an interrupted creation leaves it: the whole header, or as much of it as
/// had come to the disk.
///
/// # Errors
/// When the operating system refuses it.
pub(crate) fn is_unused_log(disk: &dyn Disk, name: &str) -> Result<bool, Error> {
    let bytes = disk.read_first(name, HEADER_BYTES + 1).map_err(Error::io("read it", disk.path(name)))?;
    let is_header = bytes.iter().zip(&MAGIC).all(|(byte, expected)| byte == expected);
    Ok(bytes.len() <= HEADER_BYTES && (is_header || bytes.iter().all(|&byte| byte == 0)))
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.identity.width.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.identity.store.0);
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.first_sequence.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.previous_bytes.to_le_bytes());
        bytes[56] = u8::from(self.identity.has_ids);
        bytes[57] = u8::from(self.identity.has_names) + u8::from(self.identity.has_shingles);
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Returns the length of the log before by a damaged header of which at most one byte has changed: the header that is
    /// read if all else in it is known, or that of a log before of the present length.
    pub(crate) fn proven_previous_bytes(
        bytes: &[u8],
        identity: &Identity,
        number: u64,
        present: u64,
    ) -> Option<u64> {
        let (bytes, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        [u64_at(bytes, 48), present].into_iter().find(|&previous_bytes| {
            let header =
                Self { identity: *identity, number, first_sequence: u64_at(bytes, 40), previous_bytes };
            header.to_bytes().iter().zip(bytes).filter(|(right, found)| right != found).count() == 1
        })
    }

    /// Parses a header and checks each field by itself.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Some((bytes, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(HeaderError::Torn("the header is cut short"));
        };
        if bytes[..8] != MAGIC {
            return Err(HeaderError::Torn("it does not begin as a log does"));
        }
        if crc32fast::hash(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(HeaderError::Torn("the header's checksum differs"));
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            newer if newer > VERSION => return Err(HeaderError::Newer(newer)),
            _ => return Err(HeaderError::Damaged("the header's version is 0")),
        }
        let width = u32_at(bytes, 12);
        let [has_ids, has_names] = [bytes[56], bytes[57]];
        if !matches!(width, 64 | 128) || has_ids > 1 || has_names > 2 * has_ids || bytes[58..60] != [0; 2] {
            return Err(HeaderError::Damaged("a field of the header is out of its range"));
        }
        let store = StoreId(bytes[16..32].try_into().expect("16 bytes"));
        Ok(Self {
            identity: Identity {
                store,
                width,
                has_ids: has_ids == 1,
                has_names: has_names > 0,
                has_shingles: has_names == 2,
            },
            number: u64_at(bytes, 32),
            first_sequence: u64_at(bytes, 40),
            previous_bytes: u64_at(bytes, 48),
        })
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let store = StoreId([3; 16]);
        let identity = Identity { store, width: 128, has_ids: true, has_names: true, has_shingles: false };
        Header { identity, number: 23, first_sequence: 99, previous_bytes: 4711 }
    }

    /// Returns a header with one byte changed and a valid checksum.
    fn changed(at: usize, byte: u8) -> [u8; HEADER_BYTES] {
        let mut bytes = header().to_bytes();
        bytes[at] = byte;
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn what_it_writes_it_reads() {
        assert_eq!(Header::parse(&header().to_bytes()), Ok(header()));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let whole = header().to_bytes();
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&bytes).is_err(), "bit {bit}");
        }
        for length in 0..HEADER_BYTES {
            assert!(Header::parse(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_under_a_right_checksum() {
        assert_eq!(Header::parse(&changed(8, 2)), Err(HeaderError::Newer(2)));
        for (at, byte) in [(8, 0), (12, 32), (56, 2), (56, 0), (57, 3), (58, 1), (59, 1)] {
            assert!(matches!(Header::parse(&changed(at, byte)), Err(HeaderError::Damaged(_))), "byte {at}");
        }
    }
}
