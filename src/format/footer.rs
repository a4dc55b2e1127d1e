//! The footer: everything about the contents of a file. format-spec.md has the table of its fields.
//!
//! There is one order of sections that a file can have, an [`Arrangement`]. The positions follow from the counts in the
//! footer; the footer repeats it, for readers that look for one section only, and a reader
//! refuses a file in which the two differ.
//!
//! ```text
//! header page | blocks of table 0 | ids, id starts, id directory | name directory, names | blocks of
//! tables 1… | keys of tables 0… | metadata | optional sections | footer |
//! trailer
//! ```

use byteorder::{LittleEndian, ReadBytesExt, WriteBytesExt};

use crate::codec::{Codec, Layout, SIZES_LOG2};
use crate::design::MAX_TABLES;
use crate::error::{Place, ReadError};
use crate::format::checksum::UnitKind;
use crate::format::{PAGE_BYTES, SECTION_ALIGNMENT, SectionRecord, align};

/// No footer is longer: 64 tables of 128-bit fingerprints and all their sections fit many times.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// The sections of shingles, of which a file has all or none.
const OF_SHINGLES: [UnitKind; 3] =
    [UnitKind::ShingleDirectory, UnitKind::ShinglePairs, UnitKind::ShingleKeys];

/// The shingles by document, of files that earlier versions wrote.
pub(crate) const OLD_SHINGLES: UnitKind = UnitKind::Other(258);

/// Bytes kept for the design's name.
const NAME_BYTES: usize = 64;

/// Bytes of the fields before the tables.
const HEAD_BYTES: usize = 48 + NAME_BYTES;

/// Bytes of a table's fields, without the code lengths and counts of each h.
const TABLE_BYTES: u64 = 32;

/// Bytes of a section's fields.
const SECTION_BYTES: u64 = 24;

/// The longest stretch of metadata, in bytes.
pub(crate) const MAX_METADATA_BYTES: u64 = 16 << 20;

/// Everything about the contents of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footer {
    /// 64 or 128.
    pub(crate) width: u32,
    pub(crate) layout: Layout,
    pub(crate) distance: u32,
    pub(crate) design: String,
    /// Distinct fingerprints.
    pub(crate) fingerprints: u64,
    pub(crate) ids: Option<IdsRecord>,
    /// Whether ids have names.
    pub(crate) names: bool,
    pub(crate) tables: Vec<TableRecord>,
    /// In the order of the file, the optional ones last.
    pub(crate) sections: Vec<SectionRecord>,
}

/// The packing of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdsRecord {
    /// Number of ids in all.
    pub(crate) count: u64,
    /// The smallest one; each is stored as what it exceeds this by.
    pub(crate) base: u64,
    /// Bits of each stored id, 0 to 64.
    pub(crate) bits: u32,
}

/// Places of ids from one rank to the next: the number of marks before a place.
pub(crate) const RANKED_PLACES: u64 = 4096;

impl IdsRecord {
    /// Returns the number of ranks in the id directory: none if all fingerprints have one id each, so that
    /// there are no marks.
    pub(crate) fn ranks(&self, fingerprints: u64) -> u64 {
        if self.count == fingerprints { 0 } else { self.count.saturating_sub(1) / RANKED_PLACES }
    }
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableRecord {
    pub(crate) mask: u128,
    pub(crate) radius: u32,
    pub(crate) blocks: u64,
    /// Of the codebook, by h; all zero without a codebook.
    pub(crate) code_lengths: Vec<u8>,
    /// Number of occurrences of each h between neighbours in the table, also across blocks.
    pub(crate) counts: Vec<u64>,
}

/// The fields at the start of a footer that give its length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) width: u32,
    pub(crate) tables: u32,
    /// 1 if there are ids, otherwise 0.
    pub(crate) ids: u8,
    /// 1 if ids have names, otherwise 0.
    pub(crate) names: u8,
    /// Number of optional sections.
    pub(crate) optional: u32,
}

impl Counts {
    /// Returns the number of sections: blocks and keys of each table, metadata, three of ids, two of names, and the
    /// optional ones.
    fn sections(self) -> u32 {
        2 * self.tables + 1 + 3 * u32::from(self.ids) + 2 * u32::from(self.names) + self.optional
    }

    /// Returns the bytes of a footer with these counts.
    pub(crate) fn footer_length(self) -> u64 {
        let table_bytes = TABLE_BYTES + 9 * u64::from(self.width);
        HEAD_BYTES as u64 + u64::from(self.tables) * table_bytes + u64::from(self.sections()) * SECTION_BYTES
    }

    /// Returns how many bytes of the fields of these counts differ in the start of a footer.
    pub(crate) fn bytes_that_differ(self, head: &[u8; HEAD_BYTES]) -> usize {
        let found = head[..4].iter().chain(&head[6..8]).chain(&head[12..16]).chain(&head[24..29]);
        let [width, tables, sections] = [self.width, self.tables, self.sections()].map(u32::to_le_bytes);
        let flags = [self.names, self.optional as u8];
        let expected = width.iter().chain(&flags).chain(&tables).chain(&sections).chain([&self.ids]);
        found.zip(expected).filter(|(found, expected)| found != expected).count()
    }
}

impl Footer {
    /// Returns the sections that a reader may skip.
    pub(crate) fn optional_sections(&self) -> &[SectionRecord] {
        let first = self.sections.iter().position(|section| section.kind.is_optional());
        &self.sections[first.unwrap_or(self.sections.len())..]
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out).expect("writing to memory does not fail");
        out
    }

    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        out.write_u32::<LittleEndian>(self.width)?;
        out.write_u8(self.layout.codec.tag())?;
        out.write_u8(self.layout.block_bytes.trailing_zeros() as u8)?;
        out.write_u8(u8::from(self.names))?;
        out.write_u8(self.optional_sections().len() as u8)?;
        out.write_u32::<LittleEndian>(self.distance)?;
        out.write_u32::<LittleEndian>(self.tables.len() as u32)?;
        out.write_u64::<LittleEndian>(self.fingerprints)?;
        out.write_u32::<LittleEndian>(self.sections.len() as u32)?;
        out.write_u8(u8::from(self.ids.is_some()))?;
        let ids = self.ids.unwrap_or(IdsRecord { count: 0, base: 0, bits: 0 });
        out.write_u8(ids.bits as u8)?;
        out.write_u16::<LittleEndian>(self.design.len() as u16)?;
        out.write_u64::<LittleEndian>(ids.count)?;
        out.write_u64::<LittleEndian>(ids.base)?;
        let mut name = [0; NAME_BYTES];
        name[..self.design.len()].copy_from_slice(self.design.as_bytes());
        out.extend(name);
        for table in &self.tables {
            out.write_u128::<LittleEndian>(table.mask)?;
            out.write_u32::<LittleEndian>(table.radius)?;
            out.write_u32::<LittleEndian>(0)?;
            out.write_u64::<LittleEndian>(table.blocks)?;
            out.extend(&table.code_lengths);
            for &count in &table.counts {
                out.write_u64::<LittleEndian>(count)?;
            }
        }
        for section in &self.sections {
            out.write_u32::<LittleEndian>(section.kind.number())?;
            out.write_u32::<LittleEndian>(section.table)?;
            out.write_u64::<LittleEndian>(section.offset)?;
            out.write_u64::<LittleEndian>(section.length)?;
        }
        Ok(())
    }

    /// Reads a footer whose checksum was right, field by field, each within its limits.
    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Result<Self, ReadError> {
        let footer = Self::read(&mut bytes).map_err(|error| match error {
            Refusal::Field(what) => ReadError::damaged(Place::Footer, what),
            Refusal::End => ReadError::damaged(Place::Footer, "it is too short"),
        })?;
        if bytes.is_empty() { Ok(footer) } else { Err(ReadError::damaged(Place::Footer, "it is too long")) }
    }

    fn read(bytes: &mut &[u8]) -> Result<Self, Refusal> {
        let width = bytes.read_u32::<LittleEndian>()?;
        check(width == 64 || width == 128, "the width is neither 64 nor 128")?;
        let tag = bytes.read_u8()?;
        let codec = Codec::ALL.into_iter().find(|codec| codec.tag() == tag);
        let codec = codec.ok_or(Refusal::Field("the codec is unknown; update hamdex"))?;
        let size_log2 = bytes.read_u8()?;
        check(SIZES_LOG2.contains(&size_log2), "the block size is out of range")?;
        let has_names = bytes.read_u8()?;
        let optional = bytes.read_u8()?;
        let layout = Layout { codec, block_bytes: 1 << size_log2 };
        let distance = bytes.read_u32::<LittleEndian>()?;
        check(distance <= width, "the distance exceeds the width")?;
        let tables = bytes.read_u32::<LittleEndian>()? as usize;
        check((1..=MAX_TABLES).contains(&tables), "the number of tables is out of range")?;
        let fingerprints = bytes.read_u64::<LittleEndian>()?;
        let sections = bytes.read_u32::<LittleEndian>()? as usize;
        let has_ids = bytes.read_u8()?;
        let id_bits = u32::from(bytes.read_u8()?);
        let name_length = usize::from(bytes.read_u16::<LittleEndian>()?);
        let id_count = bytes.read_u64::<LittleEndian>()?;
        let id_base = bytes.read_u64::<LittleEndian>()?;
        check(has_ids <= 1 && id_bits <= 64, "the description of the ids is out of range")?;
        let without = (id_bits, id_count, id_base) == (0, 0, 0);
        let enough = id_count >= fingerprints && (fingerprints > 0 || id_count == 0);
        check(if has_ids == 1 { enough } else { without }, "the ids are too few or too many")?;
        let ids = (has_ids == 1).then_some(IdsRecord { count: id_count, base: id_base, bits: id_bits });
        check(has_names <= has_ids, "the description of the names is out of range")?;
        let name = take(bytes, NAME_BYTES)?;
        check((1..=NAME_BYTES).contains(&name_length), "the design's name is too short or too long")?;
        check(name[name_length..].iter().all(|&b| b == 0), "bytes after the design's name are not zero")?;
        let design = std::str::from_utf8(&name[..name_length]);
        let design = design.map_err(|_| Refusal::Field("the design's name is not UTF-8"))?.to_owned();
        let tables = (0..tables).map(|_| read_table(bytes, width)).collect::<Result<_, _>>()?;
        let sections: Vec<_> = (0..sections).map(|_| read_section(bytes)).collect::<Result<_, _>>()?;
        let names = has_names == 1;
        let this = Self { width, layout, distance, design, fingerprints, ids, names, tables, sections };
        let listed = this.optional_sections();
        check(listed.len() == usize::from(optional), "the number of optional sections is not as listed")?;
        let is_after =
            |a: &SectionRecord, b: &SectionRecord| (a.kind.number(), a.table) < (b.kind.number(), b.table);
        check(listed.is_sorted_by(is_after), "its optional sections are not in order")?;
        let is_of_a_table =
            |s: &SectionRecord| s.kind != UnitKind::Filter || (s.table as usize) < this.tables.len();
        check(listed.iter().all(is_of_a_table), "a filter is of a table that is not there")?;
        let of_shingles: Vec<_> =
            listed.iter().filter(|s| OF_SHINGLES.contains(&s.kind)).map(|s| (s.kind, s.table)).collect();
        let all = OF_SHINGLES.map(|kind| (kind, 0));
        let are_old = listed.iter().any(|section| section.kind == OLD_SHINGLES && section.table == 0);
        let are_whole = of_shingles.is_empty() || (of_shingles == all && this.ids.is_some());
        check(
            are_whole || are_old,
            "shingles come with a directory, pairs and keys, for the ids of table 0",
        )?;
        let of_lookups: Vec<_> = listed
            .iter()
            .filter(|s| matches!(s.kind, UnitKind::IdLookup | UnitKind::NameLookup))
            .map(|s| (s.kind, s.table))
            .collect();
        let expected = [(UnitKind::IdLookup, 0), (UnitKind::NameLookup, 0)];
        let expected = &expected[..1 + usize::from(names)];
        let are_whole = of_lookups.is_empty() || (of_lookups == expected && this.ids.is_some());
        check(are_whole, "look-ups are of the ids of table 0, and of their names if they have some")?;
        Ok(this)
    }
}

fn read_table(bytes: &mut &[u8], width: u32) -> Result<TableRecord, Refusal> {
    let mask = bytes.read_u128::<LittleEndian>()?;
    let radius = bytes.read_u32::<LittleEndian>()?;
    check(bytes.read_u32::<LittleEndian>()? == 0, "reserved bytes of a table are not zero")?;
    check(width == 128 || mask >> 64 == 0, "a mask is wider than a fingerprint")?;
    let blocks = bytes.read_u64::<LittleEndian>()?;
    let code_lengths = take(bytes, width as usize)?.to_vec();
    let counts = (0..width).map(|_| bytes.read_u64::<LittleEndian>()).collect::<Result<_, _>>()?;
    Ok(TableRecord { mask, radius, blocks, code_lengths, counts })
}

fn read_section(bytes: &mut &[u8]) -> Result<SectionRecord, Refusal> {
    let kind = bytes.read_u32::<LittleEndian>()?;
    Ok(SectionRecord {
        kind: UnitKind::of_section(kind)
            .ok_or(Refusal::Field("a section is of unknown kind; update hamdex"))?,
        table: bytes.read_u32::<LittleEndian>()?,
        offset: bytes.read_u64::<LittleEndian>()?,
        length: bytes.read_u64::<LittleEndian>()?,
    })
}

enum Refusal {
    Field(&'static str),
    End,
}

impl From<std::io::Error> for Refusal {
    fn from(_: std::io::Error) -> Self {
        // Reading from memory fails at its end only.
        Self::End
    }
}

fn check(holds: bool, otherwise: &'static str) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(Refusal::Field(otherwise)) }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Refusal> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(Refusal::Field("it is too short"))?;
    *bytes = rest;
    Ok(taken)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn footer() -> Footer {
        let table = |mask| TableRecord {
            mask,
            radius: 1,
            blocks: 4,
            code_lengths: vec![6; 64],
            counts: (0..64).collect(),
        };
        Footer {
            width: 64,
            layout: Layout { codec: Codec::Huffman, block_bytes: 1024 },
            distance: 3,
            design: "halves".to_owned(),
            fingerprints: 1000,
            ids: Some(IdsRecord { count: 1001, base: 7, bits: 20 }),
            names: true,
            tables: vec![table(0xffff_ffff << 32), table(0xffff_ffff)],
            sections: vec![
                SectionRecord { kind: UnitKind::Block, table: 0, offset: 4096, length: 16_384 },
                SectionRecord { kind: UnitKind::Filter, table: 1, offset: 20_480, length: 128 },
            ],
        }
    }

    #[test]
    fn its_counts_give_its_length_and_its_start() {
        let mut footer = footer();
        let counts = Counts { width: 64, tables: 2, ids: 1, names: 1, optional: 1 };
        let section = |kind| SectionRecord { kind, table: 0, offset: 0, length: 0 };
        footer.sections = vec![section(UnitKind::Block); counts.sections() as usize - 1];
        footer.sections.push(section(UnitKind::Filter));
        let bytes = footer.to_bytes();
        assert_eq!(bytes.len() as u64, counts.footer_length());
        let head = bytes.first_chunk().unwrap();
        assert_eq!(counts.bytes_that_differ(head), 0);
        assert_eq!(Counts { tables: 3, ..counts }.bytes_that_differ(head), 2);
        assert_eq!(Counts { names: 0, ..counts }.bytes_that_differ(head), 2);
    }

    #[test]
    fn it_is_read_back() {
        assert_eq!(Footer::from_bytes(&footer().to_bytes()).unwrap(), footer());
    }

    #[test]
    fn every_other_length_is_refused() {
        let mut bytes = footer().to_bytes();
        for length in 0..bytes.len() {
            assert!(Footer::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
        bytes.push(0);
        assert!(Footer::from_bytes(&bytes).is_err());
    }

    proptest! {
        /// Bytes that are read without an error are written back the same.
        #[test]
        fn a_changed_byte_is_refused_or_means_something_else(at in 0usize..1500, change in 1u8..) {
            let mut bytes = footer().to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= change;
            if let Ok(read) = Footer::from_bytes(&bytes) {
                prop_assert_ne!(&read, &footer());
                prop_assert_eq!(read.to_bytes(), bytes);
            }
        }
    }
}
