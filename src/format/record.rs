//! Where a section lies, as the footer lists it.

use crate::format::checksum::UnitKind;
use crate::format::section::extent;

/// Where a section lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectionRecord {
    pub(crate) kind: UnitKind,
    /// Which table it belongs to; 0 where it belongs to none.
    pub(crate) table: u32,
    /// From the start of the file, in bytes.
    pub(crate) offset: u64,
    /// Of its contents, in bytes.
    pub(crate) length: u64,
}

impl SectionRecord {
    /// Where it ends, checksums included; `None` beyond 64 bits.
    pub(crate) fn end(&self) -> Option<u64> {
        let extent = if self.kind == UnitKind::Block { Some(self.length) } else { extent(self.length) };
        self.offset.checked_add(extent?)
    }
}
