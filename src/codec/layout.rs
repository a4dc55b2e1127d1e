//! How blocks are laid out.

use byteorder::{ByteOrder, LittleEndian};

use crate::codec::kind::Codec;

/// Where the checksum of a block ends: it covers what follows.
pub(crate) const CHECKSUM_BYTES: usize = 4;

/// How many entries a block has: both codecs have the number behind the checksum.
pub(crate) fn entry_count(block: &[u8]) -> usize {
    usize::from(LittleEndian::read_u16(&block[CHECKSUM_BYTES..]))
}

/// The sizes that a block may have, as powers of two: 512 to 8,192 bytes.
pub(crate) const SIZES_LOG2: std::ops::RangeInclusive<u8> = 9..=13;

/// How blocks of a file are laid out: the same for all its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How blocks are coded.
    pub codec: Codec,
    /// Bytes of a block, a power of two.
    pub block_bytes: usize,
}
