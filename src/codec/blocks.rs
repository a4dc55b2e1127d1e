//! Lists of blocks to scan.

use crate::codec::error::BlockError;
use crate::codec::target::Target;

/// Blocks whose fronts are read before the first is scanned: enough that memory works ahead, few
/// enough that what it brings is still there when it is wanted.
pub(crate) const SCAN_BATCH: usize = 48;

/// A block to be searched. The list that it is in defines the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) table: u32,
    pub(crate) block: u32,
    /// The number of its target.
    pub(crate) target: u32,
}

/// A list of blocks, each with its target.
///
/// The codecs scan many blocks at a time, so that their memory accesses overlap. The list knows the position of
/// each block, whether its checksum has been verified, and how to report its errors.
pub(crate) trait Blocks<F> {
    /// The error for a damaged block.
    type Error;

    /// Returns all of the blocks.
    fn list(&self) -> &[Located];

    /// Prefetches the fronts of some of the blocks.
    fn prefetch_fronts(&self, blocks: &[Located]);

    /// Returns a block, after its checksum has been verified.
    fn checked_bytes(&self, at: Located) -> Result<&[u8], Self::Error>;

    /// Returns the key of a block, which is its last entry.
    fn key(&self, at: Located) -> F;

    /// Returns the bytes of a block that has been checked.
    fn bytes(&self, at: Located) -> &[u8];

    /// Returns the target of a block.
    fn target(&self, at: Located) -> &Target<F>;

    /// Returns the error for a block that contradicts itself.
    fn damaged(&self, at: Located, error: BlockError) -> Self::Error;
}
