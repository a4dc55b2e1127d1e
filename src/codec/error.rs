//! Errors inside a block.

/// An error in a block whose checksum is right: no correct writer wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// No entries, or more than a block of that size can hold.
    #[error("its entry count is impossible")]
    Count,
    /// The size of the low fields is out of range, or a byte that must be zero is not.
    #[error("the size of its low fields is impossible")]
    LowBits,
    /// Codes and suffixes overlap, or there are fewer unary numbers than entries.
    #[error("its entries do not end where they should")]
    Length,
    /// Entries are not strictly ascending.
    #[error("its entries are not ascending")]
    Order,
    /// Bits that belong to no entry are set.
    #[error("bits that belong to no entry are set")]
    Padding,
    /// The last entry is not the block's key.
    #[error("its last entry is not the one its key says")]
    Key,
}
