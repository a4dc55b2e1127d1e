//! Blocks to be scanned, wherever they lie.

use std::ops::Range;

use crate::codec::error::BlockError;
use crate::codec::target::Target;

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
pub(crate) const SCAN_BATCH: usize = 48;

/// A list of blocks, each with what is looked for in it.
///
/// The codecs scan many blocks at a time, so that memory works ahead. Where a block lies, whether its checksum
/// has been verified, and what an error says of its place are the list's affair.
pub(crate) trait Blocks<F> {
    /// What is returned when a block is damaged.
    type Error;

    /// How many blocks.
    fn len(&self) -> usize;

    /// Prefetches the fronts of some of the blocks.
    fn prefetch_fronts(&self, numbers: Range<usize>);

    /// The bytes of a block, after its checksum has been verified.
    fn checked_bytes(&self, number: usize) -> Result<&[u8], Self::Error>;

    /// The bytes of a block that has been checked.
    fn bytes(&self, number: usize) -> &[u8];

    /// The key of a block: its last entry.
    fn last(&self, number: usize) -> F;

    /// What is looked for in a block.
    fn target(&self, number: usize) -> &Target<F>;

    /// The error for a block that contradicts itself.
    fn damaged(&self, number: usize, error: BlockError) -> Self::Error;
}
