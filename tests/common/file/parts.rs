//! A file taken apart, and put together again whatever it says.

use byteorder::{ByteOrder, LittleEndian as Le};

use super::{
    self as file, BLOCKS, HEADER_BYTES, ID_DIRECTORY, ID_STARTS, IDS, KEYS, METADATA, NAME_DIRECTORY, NAMES,
    PAGE, SectionAt, block_bytes, field, footer, section, table_record, width,
};

/// All that a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub header: [u8; HEADER_BYTES],
    pub width: u32,
    pub codec: u8,
    pub block_log2: u8,
    pub distance: u32,
    pub fingerprints: u64,
    pub name: Vec<u8>,
    pub tables: Vec<TableParts>,
    pub ids: Option<IdParts>,
    /// The name directory, and the names.
    pub names: Option<[Vec<u8>; 2]>,
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
        let names = (f[field::HAS_NAMES] == 1)
            .then(|| [NAME_DIRECTORY, NAMES].map(|kind| contents(kind, 0).to_vec()));
        let name_length = usize::from(Le::read_u16(&f[field::NAME_LENGTH..]));
        Self {
            header: file[..HEADER_BYTES].try_into().unwrap(),
            width: width as u32,
            codec: f[field::CODEC],
            block_log2: f[field::BLOCK_LOG2],
            distance: Le::read_u32(&f[field::DISTANCE..]),
            fingerprints: Le::read_u64(&f[field::FINGERPRINTS..]),
            name: f[field::NAME..][..name_length].to_vec(),
            tables,
            ids,
            names,
            metadata: contents(METADATA, 0).to_vec(),
        }
    }

    /// Puts a file together, whatever it says.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = self.header.to_vec();
        file::sign_header(&mut file);
        file.resize(PAGE, 0);
        let mut writer = Writer { file, sections: Vec::new() };
        for (number, table) in (0..).zip(&self.tables) {
            writer.put_blocks(number, &table.blocks);
            if let (0, Some(ids)) = (number, &self.ids) {
                writer.put(IDS, 0, &ids.ids);
                writer.put(ID_STARTS, 0, &ids.starts);
                let directory: Vec<u8> = ids.directory.iter().flat_map(|place| place.to_le_bytes()).collect();
                writer.put(ID_DIRECTORY, 0, &directory);
            }
            if let (0, Some([directory, names])) = (number, &self.names) {
                writer.put(NAME_DIRECTORY, 0, directory);
                writer.put(NAMES, 0, names);
            }
        }
        for (number, table) in (0..).zip(&self.tables) {
            let key_bytes = self.width as usize / 8;
            let keys = table.keys.iter().flat_map(|key| key.to_le_bytes()[..key_bytes].to_vec());
            writer.put(KEYS, number, &keys.collect::<Vec<u8>>());
        }
        writer.put(METADATA, 0, &self.metadata);
        let footer = self.footer(&writer.sections);
        file::put_footer(&mut writer.file, &footer);
        writer.file
    }

    fn footer(&self, sections: &[SectionAt]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(self.width.to_le_bytes());
        out.extend([self.codec, self.block_log2]);
        out.extend([u8::from(self.names.is_some()), 0]);
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

/// A file being put together.
struct Writer {
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
        for (number, block) in blocks.iter().enumerate() {
            let start = self.file.len();
            self.file.extend(block);
            let end = self.file.len();
            file::sign_block_at(&mut self.file, (BLOCKS, table, number), start..end);
        }
    }

    fn put(&mut self, kind: u32, table: u32, contents: &[u8]) {
        self.file.resize(self.file.len().next_multiple_of(8), 0);
        self.list(kind, table, contents.len());
        file::put_pages(&mut self.file, kind, table, contents);
    }
}
