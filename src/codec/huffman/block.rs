//! The layout of a block.
//!
//! ```text
//! offset  size       what
//! 0       4          CRC-32 of the block's context and of its bytes from offset 4 on
//! 4       2          n: entries, at least 1
//! 6       W / 8      the first entry, raw
//! …                  the codes of the later entries, in order
//! …                  zeros
//! …                  the suffixes of the later entries, in reverse order: they end with the block
//! ```

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::error::BlockError;
use crate::codec::layout::CHECKSUM_BYTES;
use hamdex_fingerprint::Fingerprint;

/// Bytes before the first entry.
pub(super) const HEADER_BYTES: usize = 6;

/// Bits of a code, about: for guesses.
pub(super) const TYPICAL_CODE_BITS: usize = 3;

/// A block whose header has been checked.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, F> {
    pub(super) bytes: &'a [u8],
    /// Number of entries after the first.
    pub(super) coded: usize,
    /// The first entry.
    pub(super) first: F,
}

impl<'a, F: Fingerprint> Block<'a, F> {
    /// Reads the header. Everything that later reads rely on is checked here.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, BlockError> {
        let count = usize::from(LittleEndian::read_u16(&bytes[CHECKSUM_BYTES..]));
        let coded = count.checked_sub(1).ok_or(BlockError::Count)?;
        // A code has at least one bit.
        if coded > (bytes.len() - codes_at::<F>()) * 8 {
            return Err(BlockError::Count);
        }
        Ok(Self { bytes, coded, first: F::read_le(&bytes[HEADER_BYTES..]) })
    }

    /// End of the suffix of the first coded entry, in bits.
    #[inline(always)]
    pub(super) fn end(&self) -> usize {
        self.bytes.len() * 8
    }
}

/// Offset of the codes, in bytes.
#[inline(always)]
pub(crate) const fn codes_at<F: Fingerprint>() -> usize {
    HEADER_BYTES + F::BYTES
}
