//! The file format: its sections, and how a reader knows that it is complete. format-spec.md is the
//! authority; this module implements it.
//!
//! - [`header`]: the first bytes: the format and its version
//! - [`trailer`]: the last bytes: the end of a complete file, and the position of the footer
//! - [`footer`]: everything about the contents
//! - [`checksum`]: CRC-32 with context, so that no unit is taken for another
//! - [`record`]: the position of a section
//! - [`section`]: byte ranges in checksummed pages
//! - [`arrangement`]: the one order of sections that a file can have

pub(crate) mod arrangement;
pub(crate) mod checksum;
pub(crate) mod footer;
pub(crate) mod header;
pub(crate) mod record;
pub(crate) mod section;
pub(crate) mod trailer;

/// Alignment of the blocks of tables in a file.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Every other section starts at a multiple of this.
pub(crate) const SECTION_ALIGNMENT: u64 = 8;

/// Returns the smallest multiple of `alignment` that is not below `offset`; `None` beyond 64 bits.
pub(crate) fn align(offset: u64, alignment: u64) -> Option<u64> {
    offset.checked_next_multiple_of(alignment)
}
