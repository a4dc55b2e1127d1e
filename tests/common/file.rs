//! A file taken apart and put together again, with all offsets and checksums right: a second writer
//! of the format, which shares nothing with the library, and which writes whatever it is told to.

use byteorder::{ByteOrder, LittleEndian as Le};
use crc32fast::Hasher;

pub const PAGE: usize = 4096;
pub const HEADER_BYTES: usize = 64;
pub const TRAILER_BYTES: usize = 32;

/// What the footer calls the kinds of sections, and the two units that it does not list.
pub const BLOCKS: u32 = 1;
pub const KEYS: u32 = 2;
pub const IDS: u32 = 3;
pub const ID_STARTS: u32 = 4;
pub const ID_DIRECTORY: u32 = 5;
pub const METADATA: u32 = 6;
pub const FOOTER: u32 = 7;
pub const TRAILER: u32 = 8;

/// Where the fields of the footer lie.
pub mod field {
    pub const WIDTH: usize = 0;
    pub const CODEC: usize = 4;
    pub const BLOCK_LOG2: usize = 5;
    pub const RESTART_INTERVAL: usize = 6;
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

    /// Fields of a table, counted from where it starts.
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

/// All that a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub header: [u8; HEADER_BYTES],
    pub width: u32,
    pub codec: u8,
    pub block_log2: u8,
    pub restart_interval: u16,
    pub distance: u32,
    pub fingerprints: u64,
    pub name: Vec<u8>,
    pub tables: Vec<TableParts>,
    pub ids: Option<IdParts>,
    pub metadata: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableParts {
    pub mask: u128,
    pub radius: u32,
    pub code_lengths: Vec<u8>,
    pub counts: Vec<u64>,
    /// Their checksums are made anew when the file is put together.
    pub blocks: Vec<Vec<u8>>,
    pub keys: Vec<u128>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdParts {
    pub count: u64,
    pub base: u64,
    pub bits: u8,
    pub ids: Vec<u8>,
    pub starts: Vec<u8>,
    pub directory: Vec<u64>,
}

/// Where a section lies in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionAt {
    pub kind: u32,
    pub table: u32,
    pub offset: usize,
    pub length: usize,
    /// Where the footer's record of it lies in the file.
    pub record: usize,
}

pub fn file_id(file: &[u8]) -> [u8; 16] {
    file[32..48].try_into().unwrap()
}

/// Where the footer starts, and how long it is.
pub fn footer(file: &[u8]) -> (usize, usize) {
    let trailer = &file[file.len() - TRAILER_BYTES..];
    (Le::read_u64(trailer) as usize, Le::read_u64(&trailer[8..]) as usize)
}

pub fn width(file: &[u8]) -> usize {
    Le::read_u32(&file[footer(file).0..]) as usize
}

/// Where the footer's record of a table starts.
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
    sign_pages(file, FOOTER, 0, offset, length);
}

pub fn sign_section(file: &mut [u8], kind: u32, table: u32) {
    let at = section(file, kind, table);
    sign_pages(file, kind, table, at.offset, at.length);
}

fn sign_pages(file: &mut [u8], kind: u32, table: u32, offset: usize, length: usize) {
    let id = file_id(file);
    let checksums = offset + length.next_multiple_of(4);
    for (number, start) in (0..length).step_by(PAGE).enumerate() {
        let page = &file[offset + start..offset + length.min(start + PAGE)];
        let checksum = checksum(&id, kind, table, number as u64, page);
        Le::write_u32(&mut file[checksums + 4 * number..], checksum);
    }
}

/// Where a block lies.
pub fn block(file: &[u8], table: u32, number: usize) -> std::ops::Range<usize> {
    let bytes = block_bytes(file);
    let start = section(file, BLOCKS, table).offset + number * bytes;
    start..start + bytes
}

pub fn sign_block(file: &mut [u8], table: u32, number: usize) {
    let range = block(file, table, number);
    let checksum = checksum(&file_id(file), BLOCKS, table, number as u64, &file[range.start + 4..range.end]);
    Le::write_u32(&mut file[range.start..], checksum);
}

/// Changes some bytes of the footer, and signs it anew.
pub fn with_footer(file: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let start = footer(&file).0 + at;
    file[start..start + bytes.len()].copy_from_slice(bytes);
    sign_footer(&mut file);
    file
}

impl Parts {
    /// Takes a file apart that the library wrote.
    pub fn read(file: &[u8]) -> Self {
        let (start, _) = footer(file);
        let (width, block_bytes) = (width(file), block_bytes(file));
        let f = &file[start..];
        let contents = |kind, table| {
            let at = section(file, kind, table);
            &file[at.offset..at.offset + at.length]
        };
        let tables = (0..Le::read_u32(&f[field::TABLES..]))
            .map(|number| {
                let record = &file[table_record(file, number as usize)..];
                let (lengths, counts) = record[field::TABLE_LENGTHS..].split_at(width);
                TableParts {
                    mask: Le::read_u128(record),
                    radius: Le::read_u32(&record[field::TABLE_RADIUS..]),
                    code_lengths: lengths.to_vec(),
                    counts: counts[..8 * width].chunks(8).map(Le::read_u64).collect(),
                    blocks: contents(BLOCKS, number).chunks(block_bytes).map(<[u8]>::to_vec).collect(),
                    keys: contents(KEYS, number)
                        .chunks(width / 8)
                        .map(|key| Le::read_uint128(key, width / 8))
                        .collect(),
                }
            })
            .collect();
        let ids = (f[field::HAS_IDS] == 1).then(|| IdParts {
            count: Le::read_u64(&f[field::ID_COUNT..]),
            base: Le::read_u64(&f[field::ID_BASE..]),
            bits: f[field::ID_BITS],
            ids: contents(IDS, 0).to_vec(),
            starts: contents(ID_STARTS, 0).to_vec(),
            directory: contents(ID_DIRECTORY, 0).chunks(8).map(Le::read_u64).collect(),
        });
        let name_length = usize::from(Le::read_u16(&f[field::NAME_LENGTH..]));
        Self {
            header: file[..HEADER_BYTES].try_into().unwrap(),
            width: width as u32,
            codec: f[field::CODEC],
            block_log2: f[field::BLOCK_LOG2],
            restart_interval: Le::read_u16(&f[field::RESTART_INTERVAL..]),
            distance: Le::read_u32(&f[field::DISTANCE..]),
            fingerprints: Le::read_u64(&f[field::FINGERPRINTS..]),
            name: f[field::NAME..][..name_length].to_vec(),
            tables,
            ids,
            metadata: contents(METADATA, 0).to_vec(),
        }
    }

    /// Puts a file together, whatever it says.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = self.header.to_vec();
        sign_header(&mut file);
        file.resize(PAGE, 0);
        let mut writer = Writer { id: file_id(&file), file, sections: Vec::new() };
        for (number, table) in (0..).zip(&self.tables) {
            writer.put_blocks(number, &table.blocks);
            if let (0, Some(ids)) = (number, &self.ids) {
                writer.put(IDS, 0, &ids.ids);
                writer.put(ID_STARTS, 0, &ids.starts);
                let directory: Vec<u8> = ids.directory.iter().flat_map(|place| place.to_le_bytes()).collect();
                writer.put(ID_DIRECTORY, 0, &directory);
            }
        }
        for (number, table) in (0..).zip(&self.tables) {
            let key_bytes = self.width as usize / 8;
            let keys = table.keys.iter().flat_map(|key| key.to_le_bytes()[..key_bytes].to_vec());
            writer.put(KEYS, number, &keys.collect::<Vec<u8>>());
        }
        writer.put(METADATA, 0, &self.metadata);
        writer.finish(self)
    }

    fn footer(&self, sections: &[SectionAt]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.width.to_le_bytes());
        out.extend([self.codec, self.block_log2]);
        out.extend(self.restart_interval.to_le_bytes());
        out.extend(self.distance.to_le_bytes());
        out.extend((self.tables.len() as u32).to_le_bytes());
        out.extend(self.fingerprints.to_le_bytes());
        out.extend((sections.len() as u32).to_le_bytes());
        let ids = self.ids.as_ref();
        out.extend([u8::from(ids.is_some()), ids.map_or(0, |ids| ids.bits)]);
        out.extend((self.name.len() as u16).to_le_bytes());
        out.extend(ids.map_or(0, |ids| ids.count).to_le_bytes());
        out.extend(ids.map_or(0, |ids| ids.base).to_le_bytes());
        out.extend(&self.name);
        out.resize(field::TABLE, 0);
        for table in &self.tables {
            out.extend(table.mask.to_le_bytes());
            out.extend(table.radius.to_le_bytes());
            out.extend([0; 4]);
            out.extend((table.blocks.len() as u64).to_le_bytes());
            out.extend(&table.code_lengths);
            out.extend(table.counts.iter().flat_map(|count| count.to_le_bytes()));
        }
        for section in sections {
            out.extend(section.kind.to_le_bytes());
            out.extend(section.table.to_le_bytes());
            out.extend((section.offset as u64).to_le_bytes());
            out.extend((section.length as u64).to_le_bytes());
        }
        out
    }
}

struct Writer {
    id: [u8; 16],
    file: Vec<u8>,
    sections: Vec<SectionAt>,
}

impl Writer {
    fn list(&mut self, kind: u32, table: u32, length: usize) {
        self.sections.push(SectionAt { kind, table, offset: self.file.len(), length, record: 0 });
    }

    fn put_blocks(&mut self, table: u32, blocks: &[Vec<u8>]) {
        self.file.resize(self.file.len().next_multiple_of(PAGE), 0);
        self.list(BLOCKS, table, blocks.iter().map(Vec::len).sum());
        for (number, block) in (0..).zip(blocks) {
            self.file.extend(checksum(&self.id, BLOCKS, table, number, &block[4..]).to_le_bytes());
            self.file.extend(&block[4..]);
        }
    }

    fn put(&mut self, kind: u32, table: u32, contents: &[u8]) {
        self.file.resize(self.file.len().next_multiple_of(8), 0);
        self.list(kind, table, contents.len());
        self.put_pages(kind, table, contents);
    }

    fn put_pages(&mut self, kind: u32, table: u32, contents: &[u8]) {
        self.file.extend(contents);
        self.file.resize(self.file.len().next_multiple_of(4), 0);
        for (number, page) in (0..).zip(contents.chunks(PAGE)) {
            self.file.extend(checksum(&self.id, kind, table, number, page).to_le_bytes());
        }
        self.file.resize(self.file.len().next_multiple_of(8), 0);
    }

    fn finish(mut self, parts: &Parts) -> Vec<u8> {
        let footer = parts.footer(&self.sections);
        let offset = self.file.len() as u64;
        self.put_pages(FOOTER, 0, &footer);
        let mut trailer = Vec::new();
        trailer.extend(offset.to_le_bytes());
        trailer.extend((footer.len() as u64).to_le_bytes());
        trailer.extend([0; 4]);
        trailer.extend(checksum(&self.id, TRAILER, 0, 0, &trailer).to_le_bytes());
        self.file.extend(trailer);
        let magic: Vec<u8> = self.file[..8].iter().rev().copied().collect();
        self.file.extend(magic);
        self.file
    }
}
