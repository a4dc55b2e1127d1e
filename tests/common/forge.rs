//! Files that no correct writer writes: bytes are changed and every checksum is made right again, so
//! that only the check meant is left to refuse them.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};
use hamdex::inspect::reference::Coding;
use hamdex::{Place, ReadError, ReadErrorKind};

use super::file::{self, SectionAt, field};
pub use super::file::{
    BLOCKS, FILTER, ID_DIRECTORY, ID_LOOKUP, ID_STARTS, IDS, KEYS, METADATA, NAME_DIRECTORY, NAME_LOOKUP,
    NAMES, PAIR_BLOCK_BYTES, SHINGLE_DIRECTORY, SHINGLE_KEYS, SHINGLE_PAIRS,
};

/// Bytes of one section record of the footer.
pub const SECTION_RECORD: usize = 24;

/// A file to be forged. Its layout is read once, from the intact file.
pub struct Forged {
    pub bytes: Vec<u8>,
    pub width: usize,
    pub block_bytes: usize,
    pub sections: Vec<SectionAt>,
    pub footer: SectionAt,
}

impl Forged {
    pub fn new(bytes: Vec<u8>) -> Self {
        let (offset, length) = file::footer(&bytes);
        Self {
            width: file::width(&bytes),
            block_bytes: file::block_bytes(&bytes),
            sections: file::sections(&bytes),
            footer: SectionAt { kind: file::FOOTER, table: 0, offset, length, record: 0 },
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

    pub fn section(&self, kind: u32, table: u32) -> SectionAt {
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
        field::TABLE + table * field::table_bytes(self.width)
    }

    /// The offset in the footer of the record of the section of that number.
    pub fn section_record(&self, number: usize) -> usize {
        self.footer.length - (self.sections.len() - number) * SECTION_RECORD
    }

    pub fn code_lengths(&self, table: usize) -> &[u8] {
        &self.bytes[self.footer.offset + self.table_record(table) + 32..][..self.width]
    }

    /// The coding of a table's blocks.
    pub fn coding(&self, table: usize) -> Coding<'_> {
        match self.footer()[4] {
            1 => Coding::Huffman { code_lengths: self.code_lengths(table) },
            2 => Coding::EliasFano,
            other => panic!("codec {other} is not in format-spec.md"),
        }
    }

    pub fn block(&self, table: u32, number: usize) -> Range<usize> {
        let start = self.section(BLOCKS, table).offset + number * self.block_bytes;
        start..start + self.block_bytes
    }

    pub fn swap(&mut self, a: Range<usize>, b: Range<usize>) {
        let first = self.bytes[a.clone()].to_vec();
        self.bytes.copy_within(b.clone(), a.start);
        self.put(b.start, &first);
    }

    /// Recomputes all checksums at their offsets in the intact file.
    pub fn seal(&mut self) {
        file::sign_header(&mut self.bytes);
        for section in self.sections.clone() {
            let Some(bytes) = section.block_bytes(self.block_bytes) else {
                file::sign_pages(&mut self.bytes, section);
                continue;
            };
            for number in 0..section.length / bytes {
                let start = section.offset + number * bytes;
                let block = (section.kind, section.table, number);
                file::sign_block_at(&mut self.bytes, block, start..start + bytes);
            }
        }
        file::sign_pages(&mut self.bytes, self.footer);
        file::sign_trailer(&mut self.bytes);
    }

    /// Puts other contents in the place of the footer, and the trailer after them.
    pub fn replace_footer(&mut self, contents: &[u8]) {
        self.bytes.truncate(self.footer.offset);
        self.footer.length = contents.len();
        file::put_footer(&mut self.bytes, contents);
        self.seal();
    }

    /// Puts other metadata in the place of the metadata, and footer and trailer after it.
    pub fn replace_metadata(&mut self, contents: &[u8]) {
        let mut footer = self.footer().to_vec();
        let at = footer.len() - 8;
        LittleEndian::write_u64(&mut footer[at..], contents.len() as u64);
        let section = self.sections.last_mut().expect("metadata");
        section.length = contents.len();
        self.bytes.truncate(section.offset);
        file::put_pages(&mut self.bytes, METADATA, 0, contents);
        self.footer.offset = self.bytes.len();
        self.replace_footer(&footer);
    }
}

/// Returns the name of an error in the tables of format-spec.md.
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
                Place::Filter { .. } => "Filter",
                Place::Section { .. } => "Section",
                Place::Ids => "Ids",
                Place::IdStarts => "IdStarts",
                Place::IdDirectory => "IdDirectory",
                Place::NameDirectory => "NameDirectory",
                Place::Names => "Names",
                Place::ShingleDirectory => "ShingleDirectory",
                Place::Shingles => "Shingles",
                Place::ShingleBlock { .. } => "ShingleBlock",
                Place::ShingleKeys => "ShingleKeys",
                Place::IdLookup => "IdLookup",
                Place::NameLookup => "NameLookup",
                Place::Metadata => "Metadata",
                Place::Padding { .. } => "Padding",
                other => panic!("{other:?} is not in format-spec.md"),
            };
            format!("Damaged, {place}")
        }
        other => panic!("{other:?} is not in format-spec.md"),
    }
}
