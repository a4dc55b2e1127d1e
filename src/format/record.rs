//! The position of a section, as the footer lists it.

use crate::format::checksum::UnitKind;
use crate::format::section::extent;

/// The position of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub(crate) kind: UnitKind,
    /// The table that it belongs to; 0 if none.
    pub(crate) table: u32,
    /// From the start of the file, in bytes.
    pub(crate) offset: u64,
    /// Of its contents, in bytes.
    pub(crate) length: u64,
}

impl SectionRecord {
    /// Returns its end, checksums included; `None` beyond 64 bits.
    pub(crate) fn end(&self) -> Option<u64> {
        let extent = if self.kind == UnitKind::Block { Some(self.length) } else { extent(self.length) };
        self.offset.checked_add(extent?)
    }
}
