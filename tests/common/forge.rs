//! Files that no correct writer writes: bytes are changed and every checksum is made right again, so
//! that only the check meant is left to refuse them. Written from format-spec.md; shares nothing with
//! the library.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};
use hamdex::reference::Coding;
use hamdex::{Place, ReadError, ReadErrorKind};

pub const BLOCK: u32 = 1;
pub const KEYS: u32 = 2;
pub const IDS: u32 = 3;
pub const ID_STARTS: u32 = 4;
pub const ID_DIRECTORY: u32 = 5;
pub const METADATA: u32 = 6;
pub const FOOTER: u32 = 7;
pub const TRAILER: u32 = 8;

/// Bytes of the footer before its table records, and of one section record.
pub const FOOTER_FIXED: usize = 112;
pub const SECTION_RECORD: usize = 24;

const PAGE: usize = 4096;
const TRAILER_BYTES: usize = 32;

/// Where a section's contents lie.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub kind: u32,
    pub table: u32,
    pub offset: usize,
    pub length: usize,
}

impl Section {
    fn checksums_at(self) -> usize {
        self.offset + self.length.next_multiple_of(4)
    }

    /// Where its checksums end, and where the whole section does.
    pub fn ends(self) -> (usize, usize) {
        let end = self.checksums_at() + self.length.div_ceil(PAGE) * 4;
        (end, end.next_multiple_of(8))
    }
}

/// A file under the forger's hands. Where things lie is read once, from the intact file.
pub struct Forged {
    pub bytes: Vec<u8>,
    pub width: usize,
    pub block_bytes: usize,
    pub sections: Vec<Section>,
    pub footer: Section,
}

impl Forged {
    pub fn new(bytes: Vec<u8>) -> Self {
        let trailer = bytes.len() - TRAILER_BYTES;
        let offset = LittleEndian::read_u64(&bytes[trailer..]) as usize;
        let length = LittleEndian::read_u64(&bytes[trailer + 8..]) as usize;
        let footer = &bytes[offset..offset + length];
        let width = LittleEndian::read_u32(footer) as usize;
        let block_bytes = 1 << footer[5];
        let tables = LittleEndian::read_u32(&footer[12..]) as usize;
        let records = &footer[FOOTER_FIXED + tables * (32 + 9 * width)..];
        let sections = records.chunks_exact(SECTION_RECORD).map(|record| Section {
            kind: LittleEndian::read_u32(record),
            table: LittleEndian::read_u32(&record[4..]),
            offset: LittleEndian::read_u64(&record[8..]) as usize,
            length: LittleEndian::read_u64(&record[16..]) as usize,
        });
        let sections = sections.collect();
        Self {
            width,
            block_bytes,
            sections,
            footer: Section { kind: FOOTER, table: 0, offset, length },
            bytes,
        }
    }

    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn u64_at(&self, at: usize) -> u64 {
        LittleEndian::read_u64(&self.bytes[at..])
    }

    /// Changes bytes of the footer, by their offset in it.
    pub fn put_footer(&mut self, at: usize, bytes: &[u8]) {
        self.put(self.footer.offset + at, bytes);
    }

    pub fn section(&self, kind: u32, table: u32) -> Section {
        *self.sections.iter().find(|s| s.kind == kind && s.table == table).expect("a section of this file")
    }

    pub fn contents(&self, kind: u32, table: u32) -> &[u8] {
        let section = self.section(kind, table);
        &self.bytes[section.offset..section.offset + section.length]
    }

    pub fn footer(&self) -> &[u8] {
        &self.bytes[self.footer.offset..self.footer.offset + self.footer.length]
    }

    /// Flips the last bit of a byte.
    pub fn flip_at(&mut self, at: usize) {
        self.bytes[at] ^= 1;
    }

    /// Flips a bit of the first byte of a section of table 0, or of none.
    pub fn flip(&mut self, kind: u32) {
        self.flip_at(self.section(kind, 0).offset);
    }

    /// Exchanges the contents of such sections of the first two tables.
    pub fn swap_contents(&mut self, kind: u32) {
        let [a, b] = [0, 1].map(|table| self.section(kind, table));
        self.swap(a.offset..a.offset + a.length, b.offset..b.offset + a.length);
    }

    /// The offset in the footer of a table's record.
    pub fn table_record(&self, table: usize) -> usize {
        FOOTER_FIXED + table * (32 + 9 * self.width)
    }

    /// The offset in the footer of the record of the section of that number.
    pub fn section_record(&self, number: usize) -> usize {
        self.footer.length - (self.sections.len() - number) * SECTION_RECORD
    }

    pub fn code_lengths(&self, table: usize) -> &[u8] {
        &self.bytes[self.footer.offset + self.table_record(table) + 32..][..self.width]
    }

    /// How the blocks of a table are coded.
    pub fn coding(&self, table: usize) -> Coding<'_> {
        match self.footer()[4] {
            1 => Coding::Huffman {
                code_lengths: self.code_lengths(table),
                restart_interval: self.restart_interval(),
            },
            2 => Coding::EliasFano,
            other => panic!("codec {other} is not in format-spec.md"),
        }
    }

    pub fn restart_interval(&self) -> usize {
        usize::from(LittleEndian::read_u16(&self.footer()[6..]))
    }

    pub fn block(&self, table: u32, number: usize) -> Range<usize> {
        let start = self.section(BLOCK, table).offset + number * self.block_bytes;
        start..start + self.block_bytes
    }

    pub fn swap(&mut self, a: Range<usize>, b: Range<usize>) {
        let first = self.bytes[a.clone()].to_vec();
        self.bytes.copy_within(b.clone(), a.start);
        self.put(b.start, &first);
    }

    /// Makes all checksums right, each where it lay in the intact file.
    pub fn seal(&mut self) {
        let header = crc32fast::hash(&self.bytes[..60]);
        self.put(60, &header.to_le_bytes());
        for section in self.sections.clone() {
            if section.kind == BLOCK {
                for number in 0..section.length / self.block_bytes {
                    let block = self.block(section.table, number);
                    let unit = &self.bytes[block.start + 4..block.end];
                    let checksum = self.checksum(BLOCK, section.table, number, unit);
                    self.put(block.start, &checksum.to_le_bytes());
                }
            } else {
                self.seal_pages(section);
            }
        }
        self.seal_pages(self.footer);
        let trailer = self.bytes.len() - TRAILER_BYTES;
        let checksum = self.checksum(TRAILER, 0, 0, &self.bytes[trailer..trailer + 20]);
        self.put(trailer + 20, &checksum.to_le_bytes());
    }

    fn seal_pages(&mut self, section: Section) {
        let contents = self.bytes[section.offset..section.offset + section.length].to_vec();
        for (number, page) in contents.chunks(PAGE).enumerate() {
            let checksum = self.checksum(section.kind, section.table, number, page);
            self.put(section.checksums_at() + number * 4, &checksum.to_le_bytes());
        }
    }

    fn checksum(&self, kind: u32, table: u32, number: usize, unit: &[u8]) -> u32 {
        let mut bytes = self.bytes[32..48].to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(table.to_le_bytes());
        bytes.extend((number as u64).to_le_bytes());
        bytes.extend(unit);
        crc32fast::hash(&bytes)
    }

    /// Puts other contents in the place of the footer, and the trailer after them.
    pub fn replace_footer(&mut self, contents: &[u8]) {
        self.bytes.truncate(self.footer.offset);
        self.footer.length = contents.len();
        self.bytes.extend(contents);
        self.bytes.resize(self.footer.ends().1, 0);
        self.bytes.extend((self.footer.offset as u64).to_le_bytes());
        self.bytes.extend((contents.len() as u64).to_le_bytes());
        self.bytes.extend([0; 8]);
        self.bytes.extend(*b"\n\x1a\n\rXDH\x89");
        self.seal();
    }

    /// Puts other metadata in the place of the metadata, and footer and trailer after it.
    pub fn replace_metadata(&mut self, contents: &[u8]) {
        let mut footer = self.bytes[self.footer.offset..][..self.footer.length].to_vec();
        let at = footer.len() - 8;
        LittleEndian::write_u64(&mut footer[at..], contents.len() as u64);
        let section = self.sections.last_mut().expect("metadata");
        section.length = contents.len();
        let (start, end) = (section.offset, section.ends().1);
        self.bytes.truncate(start);
        self.bytes.extend(contents);
        self.bytes.resize(end, 0);
        self.footer.offset = end;
        self.replace_footer(&footer);
    }
}

/// What an error is called in the tables of format-spec.md.
pub fn name_of(error: &ReadError) -> String {
    match error.kind() {
        ReadErrorKind::NotHamdex => "NotHamdex".to_owned(),
        ReadErrorKind::TooNew { .. } => "TooNew".to_owned(),
        ReadErrorKind::TooOld { .. } => "TooOld".to_owned(),
        ReadErrorKind::UnknownFeatures { .. } => "UnknownFeatures".to_owned(),
        ReadErrorKind::Truncated { .. } => "Truncated".to_owned(),
        ReadErrorKind::Width { .. } => "Width".to_owned(),
        ReadErrorKind::Damaged { place, .. } => {
            let place = match place {
                Place::Header => "Header",
                Place::Trailer => "Trailer",
                Place::Footer => "Footer",
                Place::Block { .. } => "Block",
                Place::Table { .. } => "Table",
                Place::Keys { .. } => "Keys",
                Place::Ids => "Ids",
                Place::IdStarts => "IdStarts",
                Place::IdDirectory => "IdDirectory",
                Place::Metadata => "Metadata",
                Place::Padding { .. } => "Padding",
                other => panic!("{other:?} is not in format-spec.md"),
            };
            format!("Damaged, {place}")
        }
        other => panic!("{other:?} is not in format-spec.md"),
    }
}
