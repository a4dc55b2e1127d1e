//! The last 32 bytes of a file.
//!
//! ```text
//! 0   8   offset of the footer
//! 8   8   length of the footer's contents
//! 16  4   zero
//! 20  4   CRC-32 of bytes 0 to 19, in the context of the file
//! 24  8   magic: the header's, backwards
//! ```

use byteorder::{ByteOrder, LittleEndian};

use crate::error::{Place, ReadError, ReadErrorKind};
use crate::format::checksum::{Context, UnitKind};
use crate::format::header::{FileId, MAGIC};

pub(crate) const BYTES: usize = 32;

/// The contents of the trailer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_length: u64,
}

impl Trailer {
    pub(crate) fn bytes(self, file_id: FileId) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        LittleEndian::write_u64(&mut bytes, self.footer_offset);
        LittleEndian::write_u64(&mut bytes[8..], self.footer_length);
        let checksum = context(file_id).checksum(0, &bytes[..20]);
        LittleEndian::write_u32(&mut bytes[20..], checksum);
        bytes[24..].copy_from_slice(&magic());
        bytes
    }

    /// Reads the trailer of a whole file.
    pub(crate) fn read(file: &[u8], file_id: FileId) -> Result<Self, ReadError> {
        let truncated = ReadErrorKind::Truncated { length: file.len() as u64 };
        let Some(bytes) = file.len().checked_sub(BYTES).map(|at| &file[at..]) else {
            return Err(truncated.into());
        };
        if bytes[24..] != magic() {
            return Err(truncated.into());
        }
        if context(file_id).checksum(0, &bytes[..20]) != LittleEndian::read_u32(&bytes[20..]) {
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

fn magic() -> [u8; 8] {
    let mut magic = MAGIC;
    magic.reverse();
    magic
}

fn context(file_id: FileId) -> Context {
    Context::new(file_id, UnitKind::Trailer, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: FileId = FileId([5; 16]);
    const TRAILER: Trailer = Trailer { footer_offset: 8192, footer_length: 77 };

    #[test]
    fn it_is_read_back() {
        assert_eq!(Trailer::read(&TRAILER.bytes(ID), ID).unwrap(), TRAILER);
    }

    #[test]
    fn one_flipped_bit_or_another_file_is_seen() {
        for bit in 0..BYTES * 8 {
            let mut bytes = TRAILER.bytes(ID);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Trailer::read(&bytes, ID).is_err(), "bit {bit}");
        }
        assert!(Trailer::read(&TRAILER.bytes(ID), FileId([6; 16])).is_err());
        let refused = Trailer::read(&[1, 2], ID).unwrap_err();
        assert!(matches!(refused.kind(), ReadErrorKind::Truncated { length: 2 }));
    }
}
