//! The layout of blocks.

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::kind::Codec;

/// Length of the checksum of a block; it covers the bytes after it.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// Returns the number of entries of a block, which follows the checksum in both codecs.
pub(crate) fn entry_count(block: &[u8]) -> usize {
    usize::from(LittleEndian::read_u16(&block[CHECKSUM_BYTES..]))
}

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// The layout of the blocks of a file, the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The codec of the blocks.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
}
