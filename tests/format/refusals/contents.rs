//! Keys, metadata, and the parts common to all blocks and tables.

use crate::common::file;
use crate::common::forge::{Forged, KEYS, METADATA};
use crate::refusals::{Refusal, Spoil, When, plain, plain_elias_fano, raw, sealed};
use hamdex::inspect::reference::{self, Field};

/// The fields of a block.
pub(crate) fn fields(file: &Forged, table: usize, number: usize) -> Vec<Field<u64>> {
    let block = &file.bytes[file.block(table as u32, number)];
    reference::read_block(block, file.coding(table)).unwrap()
}

pub(crate) fn fingerprints(file: &Forged, table: usize, number: usize) -> Vec<u64> {
    reference::fingerprints(&fields(file, table, number))
}

/// Writes other entries into a block, and the last one as the block's key.
fn rewrite(file: &mut Forged, table: usize, number: usize, values: &[u64]) {
    let block = reference::write_block(values, file.coding(table), file.block_bytes).unwrap();
    file.put(file.block(table as u32, number).start, &block);
    let key = file.section(KEYS, table as u32).offset + number * 8;
    file.put(key, &values.last().unwrap().to_le_bytes());
}

/// Changes bytes of the first block.
pub(crate) fn put_block(file: &mut Forged, at: usize, bytes: &[u8]) {
    file.put(file.block(0, 0).start + at, bytes);
}

/// Exchanges the first two keys of table 0.
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

/// The count of one h is too low by one, that of another too high by one.
fn shift_counts(file: &mut Forged) {
    let counts = file.footer.offset + file.table_record(0) + 32 + 64;
    let (two, three) = (file.u64_at(counts + 16), file.u64_at(counts + 24));
    file.put(counts + 16, &(two - 1).to_le_bytes());
    file.put(counts + 24, &(three + 1).to_le_bytes());
}

/// Flips the last bit of an entry in the middle of a block of table 1, one that leaves all h as they are.
fn exchange_a_member(file: &mut Forged) {
    let mut values = fingerprints(file, 1, 0);
    let is_lonely = |three: &[u64]| {
        let flipped = three[1] ^ 1;
        let h = |a: u64, b: u64| (a ^ b).leading_zeros();
        three[0] < flipped
            && flipped < three[2]
            && h(three[0], flipped) == h(three[0], three[1])
            && h(flipped, three[2]) == h(three[1], three[2])
    };
    let before = values.windows(3).position(is_lonely).expect("an entry with some room");
    values[before + 1] ^= 1;
    rewrite(file, 1, 0, &values);
}

pub(crate) const fn damaged(
    name: &'static str,
    when: When,
    error: &'static str,
    base: fn() -> Vec<u8>,
    spoils: &'static [Spoil],
) -> Refusal {
    Refusal { name, when, error, base, spoils }
}

pub(crate) const SECTIONS: &[Refusal] = &[
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
            // Lengths cut short; name or value cut short; not UTF-8; a name twice; out of order.
            raw("names and values", |f| f.replace_metadata(&[0; 7])),
            raw("names and values", |f| f.replace_metadata(b"\x02\0\0\0\0\0\0\0n")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\xff\xff\xff\xffn")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0\xff")),
            // UTF-8 in more bytes than it needs; a surrogate; beyond the last character; cut short.
            raw("names and values", |f| f.replace_metadata(b"\x02\0\0\0\0\0\0\0\xc0\x80")),
            raw("names and values", |f| f.replace_metadata(b"\x03\0\0\0\0\0\0\0\xe0\x80\xaf")),
            raw("names and values", |f| f.replace_metadata(b"\x03\0\0\0\0\0\0\0\xed\xa0\x80")),
            raw("names and values", |f| f.replace_metadata(b"\x04\0\0\0\0\0\0\0\xf4\x90\x80\x80")),
            raw("names and values", |f| f.replace_metadata(b"\x02\0\0\0\0\0\0\0\xe2\x82")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0n\x01\0\0\0\0\0\0\0n")),
            raw("names and values", |f| f.replace_metadata(b"\x01\0\0\0\0\0\0\0b\x01\0\0\0\0\0\0\0a")),
        ],
    ),
];

pub(crate) const BLOCKS: &[Refusal] = &[
    damaged(
        "block.checksum",
        When::Use,
        "Damaged, Block",
        plain,
        &[
            raw("checksum", |f| f.flip(file::BLOCKS)),
            raw("checksum", |f| f.flip_at(f.block(0, 1).end - 1)),
            raw("checksum", |f| f.swap(f.block(0, 0), f.block(0, 1))),
            raw("checksum", |f| f.swap(f.block(0, 0), f.block(1, 0))),
            raw("checksum", |f| f.flip(file::BLOCKS)).of(plain_elias_fano),
            raw("checksum", |f| f.swap(f.block(0, 0), f.block(1, 0))).of(plain_elias_fano),
        ],
    ),
    damaged(
        "block.first",
        When::Verify,
        "Damaged, Block",
        plain,
        &[
            sealed("not ascending", begin_too_low),
            sealed("not ascending", begin_too_low).of(plain_elias_fano),
        ],
    ),
    damaged(
        "block.key",
        When::Verify,
        "Damaged, Block",
        plain,
        &[sealed("its key", |f| f.flip(KEYS)), sealed("its key", |f| f.flip(KEYS)).of(plain_elias_fano)],
    ),
];

pub(crate) const TABLES: &[Refusal] = &[
    damaged(
        "table.entries",
        When::Verify,
        "Damaged, Table",
        plain,
        &[
            sealed("299 entries; the footer says 300", drop_an_entry),
            sealed("299 entries; the footer says 300", drop_an_entry).of(plain_elias_fano),
        ],
    ),
    damaged(
        "table.counts",
        When::Verify,
        "Damaged, Table",
        plain,
        &[
            sealed("first differing positions", shift_counts),
            sealed("first differing positions", shift_counts).of(plain_elias_fano),
        ],
    ),
    damaged(
        "table.members",
        When::Verify,
        "Damaged, Table",
        plain,
        &[
            sealed("other fingerprints", exchange_a_member),
            sealed("other fingerprints", exchange_a_member).of(plain_elias_fano),
        ],
    ),
];
