//! From bytes to an index. Everything that later reads rely on is checked here: that every section
//! lies inside the file, that the design covers, that keys ascend.

use std::path::Path;
use std::sync::OnceLock;

use crate::codec::BlockCodec;
use crate::design::{Design, TableDesign};
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::format::checksum::{Checked, Context, UnitKind};
use crate::format::footer::{self, Arrangement, Footer, OLD_SHINGLES};
use crate::format::section::{Section, extent};
use crate::format::{self, FileId, Header, SectionRecord, Trailer};
use crate::ids::reader::IdTable;
use crate::index::Index;
use crate::index::read_ahead::ReadAhead;
use crate::lookup::LookupTable;
use crate::mapping::Mapping;
use crate::metadata;
use crate::names::NameTable;
use crate::permutation::Permutation;
use crate::shingles::{PairTable, ShingleTable};
use crate::table::Table;
use crate::table::filter::Filter;
use crate::table::keys::Keys;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// When the checksum of a block is verified. Keys, footer and metadata are always checked when the
/// index is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Checksums {
    /// The first time that a query touches the block: the default.
    #[default]
    FirstTouch,
    /// On every read, of blocks and of pages of ids: for files on storage that changes under its readers. Keys are copied
    /// into memory.
    Always,
    /// All of them, when the index is opened, which reads the whole file.
    UpFront,
}

/// Options of opening an index.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    checksums: Checksums,
    larger_than_memory: bool,
    in_memory: bool,
    maps_keys: bool,
}

type Read<F> = fn(&OpenOptions, Mapping, ReadAhead) -> Result<Index<F>, ReadError>;

per_width! {
    compiled_read: Read = read_with;
}

impl OpenOptions {
    /// Returns the defaults: checksums on first touch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when to verify checksums.
    #[must_use]
    pub fn checksums(mut self, checksums: Checksums) -> Self {
        self.checksums = checksums;
        self
    }

    /// Sets whether the file exceeds the memory available to it. The blocks of a query are prefetched from
    /// storage together, so that a query waits once and not once per block: by default only blocks that have
    /// not been read since the file was opened, which costs nothing later; with this option all blocks every
    /// time, since the system may have evicted them. And the system learns which blocks are used often, and
    /// keeps these.
    ///
    /// It applies to files that are opened by their path.
    #[must_use]
    pub fn larger_than_memory(mut self, larger: bool) -> Self {
        self.larger_than_memory = larger;
        self
    }

    /// Sets whether to read the whole file into memory of the process, in huge pages if the system has them
    /// (see [`Mapping::load`]), instead of mapping it: slower to open, faster to query for files of hundreds of
    /// megabytes.
    #[must_use]
    pub fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    /// Sets whether keys and filters stay in the mapped file, where all processes that map it share them. By default
    /// they are copied into memory of the process when the file is opened, in huge pages if the system has
    /// them, so that the system never evicts them and a query reads nothing but blocks from the file.
    #[must_use]
    pub fn map_keys(mut self, maps_keys: bool) -> Self {
        self.maps_keys = maps_keys;
        self
    }

    /// Returns whether the whole file is read into memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Opens a file by mapping it, or by reading it with [`OpenOptions::in_memory`]; see [`Index::open`].
    ///
    /// # Errors
    /// As for [`Index::open`].
    pub fn open<F: Fingerprint>(&self, path: impl AsRef<Path>) -> Result<Index<F>, ReadError> {
        let path = path.as_ref();
        let data = if self.in_memory { Mapping::load(path) } else { Mapping::open(path) };
        let data = data.map_err(|error| ReadError::from(ReadErrorKind::Io(error)).of_file(Some(path)))?;
        self.from_mapping(data, path)
    }

    /// Opens an index that has been mapped, or read into memory, from a file, which errors then name.
    ///
    /// # Errors
    /// As for [`Index::open`].
    pub fn from_mapping<F: Fingerprint>(
        &self,
        data: Mapping,
        path: impl AsRef<Path>,
    ) -> Result<Index<F>, ReadError> {
        let path = path.as_ref();
        let read_ahead =
            if data.is_file() { ReadAhead::of_file(self.larger_than_memory) } else { ReadAhead::none() };
        let index = compiled_read()(self, data, read_ahead).map_err(|error| error.of_file(Some(path)))?;
        Ok(Index { path: Some(path.into()), ..index })
    }

    /// Opens an index from the bytes of a file. Slices are copied.
    ///
    /// # Errors
    /// As for [`Index::open`].
    pub fn from_bytes<F: Fingerprint>(&self, bytes: impl Into<Mapping>) -> Result<Index<F>, ReadError> {
        compiled_read()(self, bytes.into(), ReadAhead::none())
    }
}

pub(super) fn read_with<F: Fingerprint>(
    options: &OpenOptions,
    data: Mapping,
    read_ahead: ReadAhead,
) -> Result<Index<F>, ReadError> {
    let index = read(options, data, read_ahead)?;
    for table in &index.tables {
        let (offset, length) = table.extent(0..table.keys.len());
        index.read_ahead.keep_repeated(&index.data, offset..offset + length);
    }
    if options.checksums == Checksums::UpFront {
        index.tables.iter().try_for_each(|table| check_all_blocks(&index, table))?;
        for filter in index.tables.iter().filter_map(|table| table.filter.as_ref()) {
            read_whole(&index, filter.section())?;
        }
        if let Some(ids) = &index.ids {
            for section in [&ids.ids, &ids.starts, &ids.directory] {
                read_whole(&index, section)?;
            }
        }
        if let Some(NameTable { directory, values }) = &index.names {
            read_whole(&index, directory)?;
            read_whole(&index, values)?;
        }
        for lookup in [&index.id_lookup, &index.name_lookup].into_iter().flatten() {
            read_whole(&index, &lookup.section)?;
        }
        if let Some(ShingleTable::Listed { directory, pairs }) = &index.shingles {
            read_whole(&index, directory)?;
            check_all_blocks(&index, pairs.table())?;
            read_whole(&index, pairs.section())?;
        }
    }
    Ok(index)
}

/// Reads all blocks of a table, and checks them.
fn check_all_blocks<F: Fingerprint, V: Fingerprint>(
    index: &Index<F>,
    table: &Table<V>,
) -> Result<(), ReadError> {
    let mut windows = index.read_ahead.windows(&index.data);
    for block in 0..table.keys.len() {
        windows.reach(table, block);
        table.check(index.data.as_ref(), block)?;
        table.checked.insert(block);
    }
    Ok(())
}

/// Reads all of a section, a part at a time, and checks it.
fn read_whole<F: Fingerprint>(index: &Index<F>, section: &Section) -> Result<(), ReadError> {
    for part in index.read_ahead.parts(&index.data, section.contents()) {
        section.read(index.data.as_ref(), part)?;
    }
    Ok(())
}

impl<F: Fingerprint> Index<F> {
    /// Opens a file by mapping it; the checksum of a block is verified when it is first read.
    ///
    /// While it is open, the file must not be truncated or written to, and its storage must be readable:
    /// otherwise the operating system ends the process with `SIGBUS`. [`Mapping`] has the details. Replacing
    /// the file by rename, as a rebuild does, is safe. For a file that others may change, or that lies on
    /// storage that may fail, use [`OpenOptions::in_memory`].
    ///
    /// # Errors
    /// When the file cannot be read, is not a whole hamdex file, or holds another width.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        OpenOptions::new().open(path)
    }

    /// Opens an index from the bytes of a file. Slices are copied.
    ///
    /// # Errors
    /// As for [`Index::open`].
    pub fn from_bytes(bytes: impl Into<Mapping>) -> Result<Self, ReadError> {
        OpenOptions::new().from_bytes(bytes)
    }
}

/// Returns the width, in bits, of the fingerprints in a file: 64 or 128.
///
/// # Errors
/// As for [`Index::open`].
pub fn width(path: impl AsRef<Path>) -> Result<u32, ReadError> {
    let path = path.as_ref();
    let data = Mapping::open(path).map_err(|error| ReadErrorKind::Io(error).into());
    let ends = data.and_then(|data| read_ends(data.as_ref()));
    ends.map(|ends| ends.footer.width).map_err(|error: ReadError| error.of_file(Some(path)))
}

/// The contents of the two ends of a file, consistent with each other and with the file's length.
struct Ends {
    header: Header,
    footer: Footer,
}

fn read_ends(file: &[u8]) -> Result<Ends, ReadError> {
    let header = Header::read(file)?;
    // A trailer does not overlap with the header.
    if file.len() < format::HEADER_BYTES + format::TRAILER_BYTES {
        return Err(ReadErrorKind::Truncated { length: file.len() as u64 }.into());
    }
    let trailer = Trailer::read(file, header.file_id)?;
    let misplaced = || ReadError::damaged(Place::Trailer, "the footer does not lie right before it");
    let Trailer { footer_offset, footer_length } = trailer;
    if footer_length > footer::MAX_BYTES {
        return Err(misplaced());
    }
    let end = extent(footer_length).and_then(|extent| footer_offset.checked_add(extent));
    if end != Some((file.len() - format::TRAILER_BYTES) as u64) {
        return Err(misplaced());
    }
    let context = Context::new(header.file_id, UnitKind::Footer, 0);
    let section = Section::new(Place::Footer, context, footer_offset as usize, footer_length as usize);
    section.verify(file)?;
    let footer = Footer::from_bytes(section.read_all(file)?)?;

    let arrangement = Arrangement::of(&footer)
        .filter(|arrangement| arrangement.end() == footer_offset)
        .filter(|arrangement| arrangement.sections() == footer.sections)
        .ok_or_else(|| ReadError::damaged(Place::Footer, "its sections do not fill the file in order"))?;
    let mut sections = arrangement.sections().iter();
    let metadata = sections.find(|s| s.kind == UnitKind::Metadata).expect("every file has metadata");
    if metadata.length > footer::MAX_METADATA_BYTES {
        return Err(ReadError::damaged(Place::Metadata, "it is too long"));
    }
    Ok(Ends { header, footer })
}

fn read<F: Fingerprint>(
    options: &OpenOptions,
    data: Mapping,
    read_ahead: ReadAhead,
) -> Result<Index<F>, ReadError> {
    let file = data.as_ref();
    let Ends { header, footer } = read_ends(file)?;
    if footer.width != F::BITS {
        return Err(ReadErrorKind::Width { found: footer.width, expected: F::BITS }.into());
    }
    let sections = Sections {
        checksums: options.checksums,
        keys: match (data.is_file(), options.maps_keys) {
            (_, true) => KeysIn::File,
            (false, false) => KeysIn::Memory,
            (true, false) => KeysIn::Copy,
        },
        file_id: header.file_id,
        records: &footer.sections,
    };
    read_keys_ahead(&data, &read_ahead, &footer, &sections);
    let design = read_design(&footer)?;
    let mut tables: Vec<Table<F>> = Vec::with_capacity(footer.tables.len());
    for number in 0..footer.tables.len() {
        let before = tables.last().map(|table| &table.codec);
        tables.push(read_table(file, &footer, &sections, &design, number, before)?);
    }
    let ids = footer.ids.map(|record| IdTable {
        record,
        fingerprints: footer.fingerprints,
        ids: sections.open(Place::Ids, UnitKind::Ids, 0),
        starts: sections.open(Place::IdStarts, UnitKind::IdStarts, 0),
        directory: sections.open(Place::IdDirectory, UnitKind::IdDirectory, 0),
        blocks: tables[0].keys.len(),
    });
    let names = sections.find(UnitKind::Names, 0).map(|_| NameTable {
        directory: sections.open(Place::NameDirectory, UnitKind::NameDirectory, 0),
        values: sections.open(Place::Names, UnitKind::Names, 0),
    });
    let shingles = sections.shingles(file)?;
    let id_lookup = sections.lookup(Place::IdLookup, UnitKind::IdLookup);
    let name_lookup = sections.lookup(Place::NameLookup, UnitKind::NameLookup);
    let metadata_section = sections.open(Place::Metadata, UnitKind::Metadata, 0);
    let metadata = metadata::from_bytes(metadata_section.read_all(file)?)
        .ok_or_else(|| ReadError::damaged(Place::Metadata, "it is not a list of names and values"))?;
    let plans = (0..=F::BITS).map(|_| OnceLock::new()).collect();
    Ok(Index {
        path: None,
        data,
        read_ahead,
        header,
        footer,
        design,
        tables,
        ids,
        names,
        shingles,
        id_lookup,
        name_lookup,
        metadata_section,
        metadata,
        plans,
        ranks: OnceLock::new(),
    })
}

/// Announces the keys, and what lies behind them and is read when the file is opened.
fn read_keys_ahead(data: &Mapping, read_ahead: &ReadAhead, footer: &Footer, sections: &Sections<'_>) {
    // Filters that stay in the file are read page by page, and so are look-ups. Shingles are read from front to back,
    // if at all.
    let stays = |section: &&SectionRecord| sections.keys == KeysIn::File || section.kind != UnitKind::Filter;
    let first = footer.optional_sections().iter().find(stays);
    let end = first.map_or(data.as_ref().len(), |section| section.offset as usize);
    let keys = sections.record(UnitKind::Keys, 0).offset as usize..end;
    read_ahead.bytes(data, keys.clone());
    // Every query reads keys.
    read_ahead.keep(data, keys);
}

fn read_design<F: Fingerprint>(footer: &Footer) -> Result<Design<F>, ReadError> {
    let tables = footer
        .tables
        .iter()
        .map(|table| TableDesign { mask: F::truncate(table.mask), radius: table.radius })
        .collect();
    Design::custom(footer.design.clone(), footer.distance, tables)
        .map_err(|error| ReadError::damaged(Place::Footer, error))
}

/// The place of keys and filters while the file is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeysIn {
    /// A copy in memory.
    Copy,
    /// The bytes of the file, which are in memory.
    Memory,
    /// The mapped file.
    File,
}

/// Finds sections by what they are; that they lie inside the file is established.
struct Sections<'a> {
    checksums: Checksums,
    keys: KeysIn,
    file_id: FileId,
    records: &'a [SectionRecord],
}

impl Sections<'_> {
    fn find(&self, kind: UnitKind, table: usize) -> Option<SectionRecord> {
        self.records.iter().find(|r| r.kind == kind && r.table as usize == table).copied()
    }

    /// Returns the record of a section that every file of this footer has.
    fn record(&self, kind: UnitKind, table: usize) -> SectionRecord {
        self.find(kind, table).expect("the arrangement has been compared")
    }

    fn open(&self, place: Place, kind: UnitKind, table: usize) -> Section {
        let record = self.record(kind, table);
        let context = Context::new(self.file_id, kind, table);
        let section = Section::new(place, context, record.offset as usize, record.length as usize);
        if self.checksums == Checksums::Always { section.always_checked() } else { section }
    }

    /// Opens the shingles, if the file has them.
    fn shingles(&self, file: &[u8]) -> Result<Option<ShingleTable>, ReadError> {
        if self.find(OLD_SHINGLES, 0).is_some() {
            return Ok(Some(ShingleTable::Old));
        }
        let Some(record) = self.find(UnitKind::ShinglePairs, 0) else { return Ok(None) };
        let context = Context::new(self.file_id, UnitKind::ShinglePairs, 0);
        let start = record.offset as usize;
        let blocks = (start..start + record.length as usize, context);
        let keys = self.open(Place::ShingleKeys, UnitKind::ShingleKeys, 0);
        let always_check = self.checksums == Checksums::Always;
        let copies_keys = self.keys == KeysIn::Copy || always_check;
        let pairs = PairTable::open(file, blocks, keys, (copies_keys, always_check))?;
        let directory = self.open(Place::ShingleDirectory, UnitKind::ShingleDirectory, 0);
        Ok(Some(ShingleTable::Listed { directory, pairs: Box::new(pairs) }))
    }

    /// Opens a look-up, if the file has it.
    fn lookup(&self, place: Place, kind: UnitKind) -> Option<LookupTable> {
        self.find(kind, 0)?;
        Some(LookupTable { section: self.open(place, kind, 0) })
    }
}

/// Returns the filter of a table, if it has one.
fn read_filter(
    file: &[u8],
    sections: &Sections<'_>,
    number: usize,
    prefix_bits: u32,
) -> Result<Option<Filter>, ReadError> {
    if sections.find(UnitKind::Filter, number).is_none() {
        return Ok(None);
    }
    let place = Place::Filter { table: number };
    let section = sections.open(place, UnitKind::Filter, number);
    let filter = Filter::open(place, section, file, prefix_bits)?;
    Ok(Some(match sections.keys {
        _ if sections.checksums == Checksums::Always => filter.copied(file)?,
        KeysIn::Copy => filter.copied(file)?,
        KeysIn::Memory => filter.verified(file)?,
        KeysIn::File => filter,
    }))
}

fn read_table<F: Fingerprint>(
    file: &[u8],
    footer: &Footer,
    sections: &Sections<'_>,
    design: &Design<F>,
    number: usize,
    before: Option<&BlockCodec>,
) -> Result<Table<F>, ReadError> {
    let record = &footer.tables[number];
    let damaged = |what| ReadError::damaged(Place::Footer, format_args!("table {number}: {what}"));
    let pairs = footer.fingerprints.saturating_sub(1);
    let counted = record.counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
    if counted != Some(pairs) {
        return Err(damaged("its counts do not sum to the number of neighbours"));
    }
    // Every block holds at least one entry, and every entry but a block's first takes at least a bit.
    let most = record.blocks.saturating_mul(footer.layout.block_bytes as u64 * 8);
    if record.blocks > footer.fingerprints
        || footer.fingerprints > most
        || u32::try_from(record.blocks).is_err()
    {
        return Err(damaged("its number of blocks is impossible"));
    }
    let codec = BlockCodec::from_lengths(footer.layout, &record.code_lengths, before)
        .ok_or_else(|| damaged("its code lengths are not a complete code"))?;

    let place = Place::Keys { table: number };
    let section = sections.open(place, UnitKind::Keys, number);
    section.read_all(file)?;
    let keys = Keys::new(file, section.contents())
        .ok_or_else(|| ReadError::damaged(place, "they are not ascending"))?;
    let always_check = sections.checksums == Checksums::Always;
    let is_copied = sections.keys == KeysIn::Copy || always_check;
    let prefix_bits = design.tables()[number].prefix_bits();
    let filter = read_filter(file, sections, number, prefix_bits)?;
    let blocks = sections.record(UnitKind::Block, number);
    Ok(Table {
        unit: UnitKind::Block,
        number,
        permutation: Permutation::new(design.tables()[number].mask),
        codec,
        keys: if is_copied { keys.copied(file) } else { keys },
        filter,
        entries_per_block: (footer.fingerprints / record.blocks.max(1)) as usize,
        offset: blocks.offset as usize,
        context: Context::new(sections.file_id, UnitKind::Block, number),
        checked: Checked::new(record.blocks as usize),
        always_check,
    })
}
