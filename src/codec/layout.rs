//! How blocks are laid out.

use crate::codec::kind::Codec;

/// Where the checksum of a block ends: it covers what follows.
pub(crate) const CHECKSUM_BYTES: usize = 4;

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
