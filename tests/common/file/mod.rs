//! A file taken apart and put together again, with all offsets and checksums right: a second writer
//! of the format, which shares nothing with the library, and which writes anything, right or wrong.

mod parts;

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian as Le};
use crc32fast::Hasher;

pub use parts::Parts;

pub const PAGE: usize = 4096;
pub const HEADER_BYTES: usize = 64;
pub const TRAILER_BYTES: usize = 32;

/// The kinds of sections in the footer, and the two units that it does not list.
pub const BLOCKS: u32 = 1;
pub const KEYS: u32 = 2;
pub const IDS: u32 = 3;
pub const ID_STARTS: u32 = 4;
pub const ID_DIRECTORY: u32 = 5;
pub const METADATA: u32 = 6;
pub const FOOTER: u32 = 7;
pub const TRAILER: u32 = 8;
pub const NAME_DIRECTORY: u32 = 9;
pub const NAMES: u32 = 10;
/// The kinds of optional sections.
pub const FILTER: u32 = 256;
pub const SHINGLE_DIRECTORY: u32 = 257;
pub const ID_LOOKUP: u32 = 259;
pub const NAME_LOOKUP: u32 = 260;
pub const SHINGLE_PAIRS: u32 = 261;
pub const SHINGLE_KEYS: u32 = 262;

/// Bytes of a block of pairs of shingle and document, in all files.
pub const PAIR_BLOCK_BYTES: usize = 2048;

/// Offsets of the fields of the footer.
pub mod field {
    pub const WIDTH: usize = 0;
    pub const CODEC: usize = 4;
    pub const BLOCK_LOG2: usize = 5;
    pub const HAS_NAMES: usize = 6;
    pub const OPTIONAL: usize = 7;
    pub const DISTANCE: usize = 8;
    pub const TABLES: usize = 12;
    pub const FINGERPRINTS: usize = 16;
    pub const SECTIONS: usize = 24;
    pub const HAS_IDS: usize = 28;
    pub const ID_BITS: usize = 29;
    pub const NAME_LENGTH: usize = 30;
    pub const ID_COUNT: usize = 32;
    pub const ID_BASE: usize = 40;
    pub const NAME: usize = 48;
    /// The first table.
    pub const TABLE: usize = 112;

    /// Fields of a table, relative to its start.
    pub const TABLE_RADIUS: usize = 16;
    pub const TABLE_RESERVED: usize = 20;
    pub const TABLE_BLOCKS: usize = 24;
    pub const TABLE_LENGTHS: usize = 32;

    pub fn table_bytes(width: usize) -> usize {
        TABLE_LENGTHS + 9 * width
    }
}

/// The CRC-32 of a unit in its context.
pub fn checksum(id: &[u8; 16], kind: u32, table: u32, number: u64, unit: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(id);
    hasher.update(&kind.to_le_bytes());
    hasher.update(&table.to_le_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(unit);
    hasher.finalize()
}

/// The position of a section in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionAt {
    pub kind: u32,
    pub table: u32,
    pub offset: usize,
    pub length: usize,
    /// The offset of its record in the footer.
    pub record: usize,
}

impl SectionAt {
    /// Returns the bytes of each of its blocks, in a file with blocks of `block_bytes`; `None` if it has pages.
    pub fn block_bytes(self, block_bytes: usize) -> Option<usize> {
        match self.kind {
            BLOCKS => Some(block_bytes),
            SHINGLE_PAIRS => Some(PAIR_BLOCK_BYTES),
            _ => None,
        }
    }

    /// Returns the start of its checksums; blocks have their own instead.
    fn checksums(self) -> usize {
        self.offset + self.length.next_multiple_of(4)
    }

    /// Returns the end of its checksums, which is the end of the section.
    pub fn ends(self) -> (usize, usize) {
        let end = self.checksums() + self.length.div_ceil(PAGE) * 4;
        (end, end.next_multiple_of(8))
    }
}

pub fn file_id(file: &[u8]) -> [u8; 16] {
    file[32..48].try_into().unwrap()
}

/// Returns the offset and the length of the footer.
pub fn footer(file: &[u8]) -> (usize, usize) {
    let trailer = &file[file.len() - TRAILER_BYTES..];
    (Le::read_u64(trailer) as usize, Le::read_u64(&trailer[8..]) as usize)
}

pub fn width(file: &[u8]) -> usize {
    Le::read_u32(&file[footer(file).0..]) as usize
}

/// Returns the offset of a table's record in the footer.
pub fn table_record(file: &[u8], table: usize) -> usize {
    footer(file).0 + field::TABLE + table * field::table_bytes(width(file))
}

pub fn block_bytes(file: &[u8]) -> usize {
    1 << file[footer(file).0 + field::BLOCK_LOG2]
}

pub fn sections(file: &[u8]) -> Vec<SectionAt> {
    let (start, length) = footer(file);
    let count = Le::read_u32(&file[start + field::SECTIONS..]) as usize;
    let records = start + length - 24 * count;
    (0..count)
        .map(|number| {
            let record = records + 24 * number;
            SectionAt {
                kind: Le::read_u32(&file[record..]),
                table: Le::read_u32(&file[record + 4..]),
                offset: Le::read_u64(&file[record + 8..]) as usize,
                length: Le::read_u64(&file[record + 16..]) as usize,
                record,
            }
        })
        .collect()
}

pub fn section(file: &[u8], kind: u32, table: u32) -> SectionAt {
    let found = sections(file).into_iter().find(|s| (s.kind, s.table) == (kind, table));
    found.unwrap_or_else(|| panic!("no section of kind {kind} and table {table}"))
}

/// Makes the header's checksum right. All other units depend on the file id in it.
pub fn sign_header(file: &mut [u8]) {
    let checksum = crc32fast::hash(&file[..60]);
    Le::write_u32(&mut file[60..], checksum);
}

pub fn sign_trailer(file: &mut [u8]) {
    let (id, at) = (file_id(file), file.len() - TRAILER_BYTES);
    let checksum = checksum(&id, TRAILER, 0, 0, &file[at..at + 20]);
    Le::write_u32(&mut file[at + 20..], checksum);
}

pub fn sign_footer(file: &mut [u8]) {
    let (offset, length) = footer(file);
    sign_pages(file, SectionAt { kind: FOOTER, table: 0, offset, length, record: 0 });
}

pub fn sign_section(file: &mut [u8], kind: u32, table: u32) {
    sign_pages(file, section(file, kind, table));
}

/// Makes the checksums of a section other than blocks right, wherever the footer says it lies.
pub fn sign_pages(file: &mut [u8], section: SectionAt) {
    let id = file_id(file);
    let SectionAt { kind, table, offset, length, .. } = section;
    for (number, start) in (0..length).step_by(PAGE).enumerate() {
        let page = &file[offset + start..offset + length.min(start + PAGE)];
        let checksum = checksum(&id, kind, table, number as u64, page);
        Le::write_u32(&mut file[section.checksums() + 4 * number..], checksum);
    }
}

/// Appends a section other than blocks, its checksums included.
pub fn put_pages(file: &mut Vec<u8>, kind: u32, table: u32, contents: &[u8]) {
    let section = SectionAt { kind, table, offset: file.len(), length: contents.len(), record: 0 };
    file.extend(contents);
    file.resize(section.ends().1, 0);
    sign_pages(file, section);
}

/// Appends a footer and the trailer.
pub fn put_footer(file: &mut Vec<u8>, contents: &[u8]) {
    let offset = file.len() as u64;
    put_pages(file, FOOTER, 0, contents);
    file.extend(offset.to_le_bytes());
    file.extend((contents.len() as u64).to_le_bytes());
    file.extend([0; 8]);
    // The header's, backwards.
    file.extend(*b"\n\x1a\n\rXDH\x89");
    sign_trailer(file);
}

/// Returns the position of a block.
pub fn block(file: &[u8], table: u32, number: usize) -> Range<usize> {
    let bytes = block_bytes(file);
    let start = section(file, BLOCKS, table).offset + number * bytes;
    start..start + bytes
}

pub fn sign_block(file: &mut [u8], table: u32, number: usize) {
    sign_block_at(file, (BLOCKS, table, number), block(file, table, number));
}

/// Makes the checksum of a block right that lies at these bytes, by its kind, its table and its number.
pub fn sign_block_at(file: &mut [u8], (kind, table, number): (u32, u32, usize), at: Range<usize>) {
    let checksum = checksum(&file_id(file), kind, table, number as u64, &file[at.start + 4..at.end]);
    Le::write_u32(&mut file[at.start..], checksum);
}

/// Changes some bytes of the footer, and signs it anew.
pub fn with_footer(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let start = footer(&file).0 + at;
    file[start..start + bytes.len()].copy_from_slice(bytes);
    sign_footer(&mut file);
    file
}
