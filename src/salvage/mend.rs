//! Parts of a damaged file that follow from others, restored in memory.

use std::marker::PhantomData;

use byteorder::{ByteOrder, LittleEndian};
use hamdex_fingerprint::Fingerprint;

use crate::codec::{BlockCodec, CHECKSUM_BYTES, Scratch};
use crate::design::MAX_TABLES;
use crate::error::Place;
use crate::filter_bits::{Form, Geometry, LINE_BYTES};
use crate::format::checksum::{Context, UnitKind};
use crate::format::footer::{Arrangement, Counts, Footer, RANKED_PLACES};
use crate::format::section::{PAGE, Section, extent};
use crate::format::{self, FileId, Header, PAGE_BYTES, SectionRecord, Trailer};
use crate::ids::{self, Packer};
use crate::names::{self, directory::Directory};
use crate::salvage::changed_byte;
use crate::shingles::table;
use crate::shingles::table::Head;

/// Restores what can be restored of a file of fingerprints of type `F` with this id, whose length is the one that it
/// was written with:
///
/// - the header page, which contains only the file id
/// - the footer, if at most one byte of each page or of its checksum has changed: its contents must agree with
///   the length of the file and with itself
/// - the trailer, which has the offset of the footer
/// - keys, which are the last entries of blocks
/// - the id directory, which counts the entries of blocks and marks
/// - the directory of shingles, which has the ids of the file, and counts the pairs of each
/// - the keys of pairs of shingle and document
///
/// A damaged filter is replaced by one that every prefix passes, so that answers stay exact.
/// Damaged metadata are replaced by a placeholder, so that the file opens; the caller knows the metadata.
/// A file that stays damaged is refused when it is opened.
pub(super) fn mend<F: Fingerprint>(file: &mut [u8], file_id: FileId, _: PhantomData<F>) {
    if file.len() < PAGE_BYTES as usize + format::TRAILER_BYTES {
        return;
    }
    let page = Header { minor: format::MINOR, file_id }.page();
    file[..page.len()].copy_from_slice(&page);
    let Some(Found { trailer, contents, footer }) = find_footer::<F>(file, file_id) else { return };
    let at = file.len() - format::TRAILER_BYTES;
    file[at..].copy_from_slice(&trailer.bytes(file_id));
    let footer_record = SectionRecord {
        kind: UnitKind::Footer,
        table: 0,
        offset: trailer.footer_offset,
        length: trailer.footer_length,
    };
    write_section(file, file_id, footer_record, &contents);
    let blocks: Vec<Option<TableOfBlocks>> =
        (0..footer.tables.len()).map(|number| TableOfBlocks::of(&footer, file_id, number)).collect();
    for record in &footer.sections {
        if is_whole(file, file_id, *record) {
            continue;
        }
        match record.kind {
            UnitKind::Keys => {
                let table = blocks.get(record.table as usize).and_then(Option::as_ref);
                if let Some(keys) = table.map(|table| table.keys(file, F::ONES)) {
                    write_section(file, file_id, *record, &keys);
                }
            }
            UnitKind::IdDirectory => {
                let directory =
                    blocks[0].as_ref().and_then(|table| id_directory(file, file_id, &footer, table));
                if let Some(directory) = directory {
                    write_section(file, file_id, *record, &directory);
                }
            }
            UnitKind::Filter => {
                if let Some(filter) = filter_of_every_prefix(&footer, *record) {
                    write_section(file, file_id, *record, &filter);
                }
            }
            UnitKind::ShingleDirectory => {
                if let Some(directory) = shingle_directory(file, file_id, &footer, *record) {
                    write_section(file, file_id, *record, &directory);
                }
            }
            UnitKind::ShingleKeys => {
                if let Some(keys) = shingle_keys(file, file_id, &footer, *record) {
                    write_section(file, file_id, *record, &keys);
                }
            }
            UnitKind::Metadata => write_section(file, file_id, *record, &some_metadata(record.length)),
            _ => {}
        }
    }
}

/// A footer that fits a file.
pub(super) struct Found {
    pub(super) trailer: Trailer,
    contents: Vec<u8>,
    pub(super) footer: Footer,
}

/// Returns the only footer that fits the file: its start follows from the number of tables, from whether there are ids
/// and names, and from the number of optional sections, at most one per table and those of the file.
pub(super) fn find_footer<F: Fingerprint>(file: &[u8], file_id: FileId) -> Option<Found> {
    let by_trailer = Trailer::read(file, file_id).ok().map(|trailer| trailer.footer_length);
    let by_counts = (1..=MAX_TABLES as u32).flat_map(|tables| {
        let counts = (0..=tables + UnitKind::MAX_OPTIONAL_OF_FILE).flat_map(move |optional| {
            [(0, 0), (1, 0), (1, 1)].map(|(ids, names)| Counts {
                width: F::BITS,
                tables,
                ids,
                names,
                optional,
            })
        });
        counts.filter(|counts| may_begin_a_footer(*counts, file)).map(Counts::footer_length)
    });
    let lengths: Vec<u64> = by_trailer.into_iter().chain(by_counts).collect();
    let find =
        |most_changes| lengths.iter().find_map(|&length| footer_of::<F>(file, file_id, length, most_changes));
    // A footer that is whole comes before any that a change would make one.
    find(0).or_else(|| find(usize::MAX))
}

/// Returns whether a footer of that length would begin with these counts, except for one changed byte: much cheaper
/// than a search for that byte, and there are thousands of possible counts.
fn may_begin_a_footer(counts: Counts, file: &[u8]) -> bool {
    let end = (file.len() - format::TRAILER_BYTES) as u64;
    let offset = extent(counts.footer_length()).and_then(|extent| end.checked_sub(extent));
    let head = offset.and_then(|offset| file[offset as usize..].first_chunk());
    head.is_some_and(|head| counts.bytes_that_differ(head) <= 1)
}

/// Returns the footer with contents of this length, if at most `most_changes` of its pages differ, each in one byte of
/// the page or in its checksum.
fn footer_of<F: Fingerprint>(
    file: &[u8],
    file_id: FileId,
    length: u64,
    most_changes: usize,
) -> Option<Found> {
    let end = (file.len() - format::TRAILER_BYTES) as u64;
    let footer_offset = end.checked_sub(extent(length)?).filter(|&offset| offset >= PAGE_BYTES)?;
    let context = Context::new(file_id, UnitKind::Footer, 0);
    let mut contents = file[footer_offset as usize..(footer_offset + length) as usize].to_vec();
    let checksums_at = (footer_offset + length).next_multiple_of(4) as usize;
    let mut changes = 0;
    for (number, page) in contents.chunks_mut(PAGE).enumerate() {
        let stored = LittleEndian::read_u32(&file[checksums_at + 4 * number..]);
        let difference = context.checksum(number as u64, page) ^ stored;
        if difference == 0 {
            continue;
        }
        changes += 1;
        if changes > most_changes {
            return None;
        }
        let is_of_checksum = difference.to_le_bytes().iter().filter(|&&byte| byte != 0).count() == 1;
        if !is_of_checksum {
            let (at, change) = changed_byte(page.len(), difference)?;
            page[at] ^= change;
        }
    }
    let footer = Footer::from_bytes(&contents).ok().filter(|footer| footer.width == F::BITS)?;
    let arrangement = Arrangement::of(&footer)?;
    let fits = arrangement.end() == footer_offset && arrangement.sections() == footer.sections;
    let trailer = Trailer { footer_offset, footer_length: length };
    fits.then_some(Found { trailer, contents, footer })
}

/// Returns whether all pages of a section have the right checksums. Blocks have their own.
fn is_whole(file: &[u8], file_id: FileId, record: SectionRecord) -> bool {
    record.kind.is_blocks() || section(file_id, record).read_all(file).is_ok()
}

/// Returns the section of a kind, of which a file has at most one.
fn record_of(footer: &Footer, kind: UnitKind) -> Option<SectionRecord> {
    footer.sections.iter().find(|record| record.kind == kind).copied()
}

fn section(file_id: FileId, record: SectionRecord) -> Section {
    let context = Context::new(file_id, record.kind, record.table as usize);
    // The place is for messages, which a mended file gives none of.
    Section::new(Place::Footer, context, record.offset as usize, record.length as usize)
}

/// Writes the contents of a section, their checksums, and the zeros around these.
fn write_section(file: &mut [u8], file_id: FileId, record: SectionRecord, contents: &[u8]) {
    let context = Context::new(file_id, record.kind, record.table as usize);
    let (offset, end) = (record.offset as usize, record.end().expect("it lies inside the file") as usize);
    file[offset..end].fill(0);
    file[offset..offset + contents.len()].copy_from_slice(contents);
    let checksums_at = (offset + contents.len()).next_multiple_of(4);
    for (number, page) in contents.chunks(PAGE).enumerate() {
        let checksum = context.checksum(number as u64, page).to_le_bytes();
        file[checksums_at + 4 * number..][..4].copy_from_slice(&checksum);
    }
}

/// The blocks of a table, read without keys.
struct TableOfBlocks {
    codec: BlockCodec,
    context: Context,
    offset: usize,
    count: usize,
    block_bytes: usize,
}

impl TableOfBlocks {
    /// `None` if the code lengths make no code.
    fn of(footer: &Footer, file_id: FileId, number: usize) -> Option<Self> {
        let table = &footer.tables[number];
        let is_of_blocks =
            |record: &&SectionRecord| record.kind == UnitKind::Block && record.table as usize == number;
        Some(Self {
            codec: BlockCodec::from_lengths(footer.layout, &table.code_lengths, None)?,
            context: Context::new(file_id, UnitKind::Block, number),
            offset: footer.sections.iter().find(is_of_blocks)?.offset as usize,
            count: usize::try_from(table.blocks).ok()?,
            block_bytes: footer.layout.block_bytes,
        })
    }

    /// The blocks of pairs of shingle and document; `None` if there are none.
    fn of_pairs(footer: &Footer, file_id: FileId) -> Option<Self> {
        let (layout, blocks) = (table::LAYOUT, record_of(footer, UnitKind::ShinglePairs)?);
        Some(Self {
            codec: BlockCodec::from_counts(layout, &[], None),
            context: Context::new(file_id, UnitKind::ShinglePairs, 0),
            offset: blocks.offset as usize,
            count: blocks.length as usize / layout.block_bytes,
            block_bytes: layout.block_bytes,
        })
    }

    /// Returns the permuted entries of a block; none if it is damaged.
    fn decode<'v, F: Fingerprint>(
        &self,
        file: &[u8],
        block: usize,
        scratch: &mut Scratch<F>,
        values: &'v mut Vec<F>,
    ) -> &'v [F] {
        values.clear();
        let bytes = &file[self.offset + block * self.block_bytes..][..self.block_bytes];
        let checksum = self.context.checksum(block as u64, &bytes[CHECKSUM_BYTES..]);
        let is_right = checksum == LittleEndian::read_u32(bytes);
        if !is_right || self.codec.decode(&[bytes], scratch, values, |_, _| Ok(())).is_err() {
            values.clear();
        }
        values
    }

    /// Returns the keys as the file has them. That of a damaged block is the greatest that it can be, and at most `most`.
    fn keys<F: Fingerprint>(&self, file: &[u8], mut most: F) -> Vec<u8> {
        let (mut scratch, mut values) = (Scratch::default(), Vec::new());
        let mut keys = vec![0; self.count * F::BYTES];
        for block in (0..self.count).rev() {
            let entries = self.decode(file, block, &mut scratch, &mut values);
            let key = entries.last().copied().unwrap_or(most);
            // Damaged blocks next to each other: all of them have the entries that are missing.
            most = entries.first().copied().unwrap_or(key).minus(F::truncate(1));
            key.write_le(&mut keys[block * F::BYTES..][..F::BYTES]);
        }
        keys
    }
}

/// Returns the directory of ids, if all of table 0 and the marks are whole.
fn id_directory(file: &[u8], file_id: FileId, footer: &Footer, table: &TableOfBlocks) -> Option<Vec<u8>> {
    let count = footer.ids?.count;
    let marks = section(file_id, record_of(footer, UnitKind::IdStarts)?);
    let marks = marks.read_all(file).ok()?;
    let is_mark = |place: u64| marks.is_empty() || marks[(place / 8) as usize] & 0x80 >> (place % 8) != 0;
    let entries = match footer.width {
        64 => entry_counts::<u64>(file, table)?,
        _ => entry_counts::<u128>(file, table)?,
    };
    // Without marks each entry has one id; with them, each id has a bit. A footer may claim more.
    let most = if marks.is_empty() { entries.iter().sum() } else { marks.len() as u64 * 8 };
    if count > most {
        return None;
    }
    let mut entries = entries.into_iter();
    let (mut blocks, mut ranks) = (Vec::new(), Vec::new());
    let (mut passed, mut next_block_at) = (0u64, Some(0u64));
    for place in 0..count {
        if place > 0 && place % RANKED_PLACES == 0 && !marks.is_empty() {
            ranks.push(passed);
        }
        if is_mark(place) {
            if next_block_at == Some(passed) {
                blocks.push(place);
                next_block_at = entries.next().map(|entries| passed + entries);
            }
            passed += 1;
        }
    }
    let is_whole = passed == footer.fingerprints && blocks.len() == table.count;
    is_whole.then(|| blocks.into_iter().chain(ranks).flat_map(u64::to_le_bytes).collect())
}

/// Returns the number of entries of each block, if all can be read.
fn entry_counts<F: Fingerprint>(file: &[u8], table: &TableOfBlocks) -> Option<Vec<u64>> {
    let (mut scratch, mut values) = (Scratch::<F>::default(), Vec::new());
    let mut count = |block| match table.decode(file, block, &mut scratch, &mut values).len() {
        0 => None,
        entries => Some(entries as u64),
    };
    (0..table.count).map(&mut count).collect()
}

/// Returns the directory of shingles, if the ids and all blocks of pairs are whole, and the keys or pages of the damaged
/// directory do not contradict it.
fn shingle_directory(
    file: &[u8],
    file_id: FileId,
    footer: &Footer,
    record: SectionRecord,
) -> Option<Vec<u8>> {
    let ids = distinct_ids(file, file_id, footer)?;
    let pairs = TableOfBlocks::of_pairs(footer, file_id)?;
    let documents = ids.len() as u64;
    let mut head = Head { documents, pairs: 0, blocks: 0, place_bits: Head::place_bits_of(documents) };
    let mut ends: Vec<u64> = Vec::new();
    ends.try_reserve_exact(ids.len()).ok()?;
    ends.resize(ids.len(), 0);
    let (mut scratch, mut values) = (Scratch::default(), Vec::new());
    for block in 0..pairs.count {
        let entries = pairs.decode(file, block, &mut scratch, &mut values);
        if entries.is_empty() {
            return None;
        }
        for &pair in entries {
            *ends.get_mut(usize::try_from(head.place_of(pair)).ok()?)? += 1;
        }
    }
    for end in &mut ends {
        head.pairs += *end;
        *end = head.pairs;
    }
    head.blocks = pairs.count as u64;
    let keys = section(file_id, record_of(footer, UnitKind::ShingleKeys)?);
    let old_head = keys.read(file, 0..table::HEAD_BYTES.min(keys.length()));
    if old_head.is_ok_and(|old| old != head.to_bytes()) {
        return None;
    }
    let directory = packed_directory(&ids, &ends)?;
    let old = section(file_id, record);
    let is_possible = |(number, page): (usize, &[u8])| {
        old.read(file, number * PAGE..number * PAGE + page.len()).map_or(true, |old| old == page)
    };
    let is_possible =
        directory.len() as u64 == record.length && directory.chunks(PAGE).enumerate().all(is_possible);
    is_possible.then_some(directory)
}

/// Returns the contents of a directory of these ids and the ends of their entries; `None` if there are none.
fn packed_directory(ids: &[u64], ends: &[u64]) -> Option<Vec<u8>> {
    let head = names::Head::new(ids.len() as u64, (*ids.first()?, *ids.last()?), *ends.last()?);
    let mut contents = head.to_bytes().to_vec();
    for (numbers, base, bits) in [(ids, head.first, head.id_bits), (ends, 0, head.end_bits)] {
        let mut packer = Packer::default();
        numbers.iter().for_each(|number| packer.put(number - base, bits, &mut contents));
        packer.finish(&mut contents);
    }
    Some(contents)
}

/// Returns the ids of a file, ascending, if all can be read, and there is memory for them.
fn distinct_ids(file: &[u8], file_id: FileId, footer: &Footer) -> Option<Vec<u64>> {
    let ids = footer.ids?;
    if ids.bits == 0 {
        return (ids.count > 0).then(|| vec![ids.base]);
    }
    let packed = section(file_id, record_of(footer, UnitKind::Ids)?);
    let packed = packed.read_all(file).ok()?;
    if ids.count > packed.len() as u64 * 8 / u64::from(ids.bits) {
        return None;
    }
    let id = |place| ids.base.wrapping_add(ids::get(packed, place, ids.bits));
    let mut distinct = Vec::new();
    distinct.try_reserve_exact(ids.count as usize).ok()?;
    distinct.extend((0..ids.count).map(id));
    distinct.sort_unstable();
    distinct.dedup();
    Some(distinct)
}

/// Returns the head and the keys of pairs of shingle and document, if the shingle directory is whole.
fn shingle_keys(file: &[u8], file_id: FileId, footer: &Footer, record: SectionRecord) -> Option<Vec<u8>> {
    let directory = section(file_id, record_of(footer, UnitKind::ShingleDirectory)?);
    let documents = Directory::open(file, &directory, None).ok()?;
    let table = TableOfBlocks::of_pairs(footer, file_id)?;
    let head = Head {
        documents: documents.len(),
        pairs: documents.start(documents.len()).ok()?,
        blocks: table.count as u64,
        place_bits: Head::place_bits_of(documents.len()),
    };
    let mut contents = head.to_bytes().to_vec();
    contents.extend(table.keys::<u128>(file, head.most_pair()));
    (contents.len() as u64 == record.length).then_some(contents)
}

/// Returns a filter with all bits set, as long as the damaged one.
fn filter_of_every_prefix(footer: &Footer, record: SectionRecord) -> Option<Vec<u8>> {
    let prefix_bits = footer.tables.get(record.table as usize)?.mask.count_ones();
    let length = usize::try_from(record.length).ok()?;
    let lines = (length / LINE_BYTES).checked_sub(1)? as u64;
    let mut contents = Geometry { form: Form::Bloom, prefix_bits, lines }.head().to_vec();
    contents.resize(length, 0xff);
    Some(contents)
}

/// Metadata of a length: one value of zeros without a name.
fn some_metadata(length: u64) -> Vec<u8> {
    let mut metadata = vec![0; length as usize];
    if let Some(value) = metadata.get_mut(4..8) {
        LittleEndian::write_u32(value, (length - 8) as u32);
    }
    metadata
}
