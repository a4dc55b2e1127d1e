//! Blocks to be scanned, wherever they lie.

use crate::codec::error::BlockError;
use crate::codec::target::Target;

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
pub(crate) const SCAN_BATCH: usize = 48;

/// A block to be looked into. What the numbers stand for is known to the list that it is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The place of what is looked for among the targets.
    pub(crate) target: u32,
}

/// A list of blocks, each with what is looked for in it.
///
/// The codecs scan many blocks at a time, so that memory works ahead. Where a block lies, whether its checksum
/// has been verified, and what an error says of its place are the list's affair.
pub(crate) trait Blocks<F> {
    /// What is returned when a block is damaged.
    type Error;

    /// All of the blocks.
    fn list(&self) -> &[Located];

    /// Prefetches the fronts of some of the blocks.
    fn prefetch_fronts(&self, blocks: &[Located]);

    /// A block, after its checksum has been verified.
    fn checked_bytes(&self, at: Located) -> Result<&[u8], Self::Error>;

    /// The key of a block, which is its last entry.
    fn key(&self, at: Located) -> F;

    /// The bytes of a block that has been checked.
    fn bytes(&self, at: Located) -> &[u8];

    /// What is looked for in a block.
    fn target(&self, at: Located) -> &Target<F>;

    /// The error for a block that contradicts itself.
    fn damaged(&self, at: Located, error: BlockError) -> Self::Error;
}
