//! The one order of sections that a file can have. The positions follow from the counts in the
//! footer; the footer repeats it, for readers that look for one section only, and a reader
//! refuses a file in which the two differ.
//!
//! ```text
//! header page | blocks of table 0 | ids, id starts, id directory | name directory, names | blocks of
//! tables 1… | keys of tables 0… | metadata | optional sections | footer |
//! trailer
//! ```

use crate::format::checksum::UnitKind;
use crate::format::footer::Footer;
use crate::format::{PAGE_BYTES, SECTION_ALIGNMENT, SectionRecord, align};

/// Offsets of sections that are written one after the other.
#[derive(Debug)]
pub(crate) struct Arrangement {
    sections: Vec<SectionRecord>,
    end: u64,
}

impl Arrangement {
    /// Nothing but the header page.
    pub(crate) fn new() -> Self {
        Self { sections: Vec::new(), end: PAGE_BYTES }
    }

    /// Returns the offset of a next section of that kind; `None` beyond 64 bits.
    pub(crate) fn next_offset(&self, kind: UnitKind) -> Option<u64> {
        let is_aligned = kind == UnitKind::Block || kind.is_optional();
        align(self.end, if is_aligned { PAGE_BYTES } else { SECTION_ALIGNMENT })
    }

    /// Adds a section; `None` beyond 64 bits.
    pub(crate) fn push(&mut self, kind: UnitKind, table: usize, length: u64) -> Option<SectionRecord> {
        let section = SectionRecord { kind, table: table as u32, offset: self.next_offset(kind)?, length };
        self.end = section.end()?;
        self.sections.push(section);
        Some(section)
    }

    /// Returns the end of the last section.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the sections so far, in order.
    pub(crate) fn sections(&self) -> &[SectionRecord] {
        &self.sections
    }

    /// Returns the arrangement that follows from a footer's counts; only the lengths of the metadata and the names, and
    /// kinds and lengths of optional sections are taken from its list of sections. `None` if that is beyond 64 bits.
    pub(crate) fn of(footer: &Footer) -> Option<Self> {
        let listed = |kind| {
            let section = footer.sections.iter().find(|section| section.kind == kind);
            section.map_or(0, |section| section.length)
        };
        let block_bytes = footer.layout.block_bytes as u64;
        let mut arrangement = Self::new();
        for (number, table) in footer.tables.iter().enumerate() {
            arrangement.push(UnitKind::Block, number, table.blocks.checked_mul(block_bytes)?)?;
            if let (0, Some(ids)) = (number, &footer.ids) {
                let id_bits = ids.count.checked_mul(u64::from(ids.bits))?;
                arrangement.push(UnitKind::Ids, 0, id_bits.div_ceil(8))?;
                let all_single = ids.count == footer.fingerprints;
                arrangement.push(
                    UnitKind::IdStarts,
                    0,
                    if all_single { 0 } else { ids.count.div_ceil(8) },
                )?;
                let places = table.blocks.checked_add(ids.ranks(footer.fingerprints))?;
                arrangement.push(UnitKind::IdDirectory, 0, places.checked_mul(8)?)?;
                if footer.names {
                    arrangement.push(UnitKind::NameDirectory, 0, listed(UnitKind::NameDirectory))?;
                    arrangement.push(UnitKind::Names, 0, listed(UnitKind::Names))?;
                }
            }
        }
        for (number, table) in footer.tables.iter().enumerate() {
            arrangement.push(
                UnitKind::Keys,
                number,
                table.blocks.checked_mul(u64::from(footer.width) / 8)?,
            )?;
        }
        arrangement.push(UnitKind::Metadata, 0, listed(UnitKind::Metadata))?;
        for section in footer.optional_sections() {
            arrangement.push(section.kind, section.table as usize, section.length)?;
        }
        Some(arrangement)
    }
}
