//! Keys, metadata, blocks and tables.

use crate::forge::{BLOCK, Forged, KEYS, METADATA};
use crate::{Refusal, Spoil, When, dense, plain, raw, sealed};
use hamdex::reference::{self, Coding, Field, FieldKind};

/// How the blocks of a table are coded.
fn coding(file: &Forged, table: usize) -> Coding<'_> {
    Coding::Huffman { code_lengths: file.code_lengths(table), restart_interval: 128 }
}

/// The fields of a block.
fn fields(file: &Forged, table: usize, number: usize) -> Vec<Field<u64>> {
    let block = &file.bytes[file.block(table as u32, number)];
    reference::read_block(block, coding(file, table)).unwrap()
}

fn fingerprints(file: &Forged, table: usize, number: usize) -> Vec<u64> {
    reference::fingerprints(&fields(file, table, number))
}

/// Writes another run of entries into a block, and its last one as the block's key.
fn rewrite(file: &mut Forged, table: usize, number: usize, values: &[u64]) {
    let block = reference::write_block(values, coding(file, table), file.block_bytes).unwrap();
    file.put(file.block(table as u32, number).start, &block);
    let key = file.section(KEYS, table as u32).offset + number * 8;
    file.put(key, &values.last().unwrap().to_le_bytes());
}

/// Changes bytes of the first block.
fn put_block(file: &mut Forged, at: usize, bytes: &[u8]) {
    file.put(file.block(0, 0).start + at, bytes);
}

/// Changes where the second segment of the first block starts.
fn put_start(file: &mut Forged, start: u16) {
    let fields = fields(file, 0, 0);
    let field = fields.iter().find(|field| matches!(field.kind, FieldKind::Start(_)));
    put_block(file, field.unwrap().bits.start / 8, &start.to_le_bytes());
}

/// Turns the order of the first two keys of table 0 round.
fn swap_keys(file: &mut Forged) {
    let at = file.section(KEYS, 0).offset;
    file.swap(at..at + 8, at + 8..at + 16);
}

/// The second block begins with an entry below the first block's last.
fn begin_too_low(file: &mut Forged) {
    let mut values = fingerprints(file, 0, 1);
    values[0] = fingerprints(file, 0, 0)[0];
    // The entry after it may take more bits now.
    values.truncate(values.len() - 20);
    rewrite(file, 0, 1, &values);
}

fn drop_an_entry(file: &mut Forged) {
    let mut values = fingerprints(file, 1, 0);
    values.remove(3);
    rewrite(file, 1, 0, &values);
}

/// One h is told once too little, and another once too often.
fn shift_counts(file: &mut Forged) {
    let counts = file.footer.offset + file.table_record(0) + 32 + 64;
    let (two, three) = (file.u64_at(counts + 16), file.u64_at(counts + 24));
    file.put(counts + 16, &(two - 1).to_le_bytes());
    file.put(counts + 24, &(three + 1).to_le_bytes());
}

/// Flips the last bit of an entry in the middle of a block of table 1: all h stay as they are.
fn exchange_a_member(file: &mut Forged) {
    let fields = fields(file, 1, 0);
    let mut suffixes = fields.iter().filter(|field| matches!(field.kind, FieldKind::Suffix { .. }));
    let bit = suffixes.nth(5).unwrap().bits.end - 1;
    let at = file.block(1, 0).start + bit / 8;
    file.bytes[at] ^= 0x80 >> (bit % 8);
}

const fn damaged(
    name: &'static str,
    when: When,
    error: &'static str,
    base: fn() -> Vec<u8>,
    spoils: &'static [Spoil],
) -> Refusal {
    Refusal { name, when, error, base, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged(
        "keys.checksum",
        When::Open,
        "Damaged, Keys",
        plain,
        &[raw("checksum", |f| f.flip(KEYS)), raw("checksum", |f| f.swap_contents(KEYS))],
    ),
    damaged(
        "keys.order",
        When::Open,
        "Damaged, Keys",
        plain,
        &[
            sealed("not ascending", swap_keys),
            sealed("not ascending", |f| {
                let at = f.section(KEYS, 1).offset;
                f.bytes.copy_within(at..at + 8, at + 8);
            }),
        ],
    ),
    damaged(
        "metadata.length",
        When::Open,
        "Damaged, Metadata",
        plain,
        &[raw("too long", |f| f.replace_metadata(&vec![0; (16 << 20) + 1]))],
    ),
    damaged(
        "metadata.checksum",
        When::Open,
        "Damaged, Metadata",
        plain,
        &[raw("checksum", |f| f.flip(METADATA))],
    ),
    damaged(
        "metadata.entries",
        When::Open,
        "Damaged, Metadata",
        plain,
        &[
            // Lengths cut short; name or value cut short; no UTF-8; a name twice; out of order.
            raw("names and values", |f| f.replace_metadata(&[0; 7])),
            raw("names and values", |f| f.replace_metadata(b"\x02\0\0\0\0\0\0\0n")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\xff\xff\xff\xffn")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0\xff")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0n\x01\0\0\0\0\0\0\0n")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0b\x01\0\0\0\0\0\0\0a")),
        ],
    ),
    damaged(
        "block.checksum",
        When::Use,
        "Damaged, Block",
        plain,
        &[
            raw("checksum", |f| f.flip(BLOCK)),
            raw("checksum", |f| f.flip_at(f.block(0, 1).end - 1)),
            raw("checksum", |f| f.swap(f.block(0, 0), f.block(0, 1))),
            raw("checksum", |f| f.swap(f.block(0, 0), f.block(1, 0))),
        ],
    ),
    damaged(
        "block.count",
        When::Use,
        "Damaged, Block",
        plain,
        &[
            sealed("entry count", |f| put_block(f, 4, &[0, 0])),
            sealed("entry count", |f| put_block(f, 4, &[0xff, 0xff])),
            // One more than the block has bits.
            sealed("entry count", |f| put_block(f, 4, &[0x01, 0x10])),
        ],
    ),
    damaged(
        "block.spare",
        When::Use,
        "Damaged, Block",
        plain,
        &[sealed("in order inside the block", |f| put_block(f, 6, &[0xff, 0xff]))],
    ),
    damaged(
        "block.starts",
        When::Use,
        "Damaged, Block",
        dense,
        &[
            sealed("in order inside the block", |f| put_start(f, u16::MAX)),
            sealed("a segment does not end", |f| put_start(f, 0)),
        ],
    ),
    damaged(
        "block.length",
        When::Verify,
        "Damaged, Block",
        plain,
        &[sealed("does not end where", |f| f.flip_at(f.block(0, 0).start + 6))],
    ),
    damaged(
        "block.order",
        When::Verify,
        "Damaged, Block",
        dense,
        // The second segment begins as the first one does.
        &[sealed("not ascending", |f| put_block(f, 16, &[0; 8]))],
    ),
    damaged("block.first", When::Verify, "Damaged, Block", plain, &[sealed("not ascending", begin_too_low)]),
    damaged(
        "block.padding",
        When::Verify,
        "Damaged, Block",
        plain,
        &[sealed("bits after", |f| {
            assert!(f.bytes[f.block(0, 0).start + 6] > 0);
            f.flip_at(f.block(0, 0).end - 1);
        })],
    ),
    damaged("block.key", When::Verify, "Damaged, Block", plain, &[sealed("its key", |f| f.flip(KEYS))]),
    damaged(
        "table.entries",
        When::Verify,
        "Damaged, Table",
        plain,
        &[sealed("299 entries; the footer says 300", drop_an_entry)],
    ),
    damaged(
        "table.counts",
        When::Verify,
        "Damaged, Table",
        plain,
        &[sealed("first differing positions", shift_counts)],
    ),
    damaged(
        "table.members",
        When::Verify,
        "Damaged, Table",
        plain,
        &[sealed("other fingerprints", exchange_a_member)],
    ),
];
