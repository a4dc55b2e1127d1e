//! Blocks of Huffman-coded first differing positions.

use crate::common::forge::Forged;
use crate::refusals::contents::{damaged, fields, put_block};
use crate::refusals::{Refusal, When, plain, sealed};
use hamdex::inspect::reference::FieldKind;

/// Changes how many entries the first block says it has.
fn change_count(file: &mut Forged, by: u16) {
    let count = fields(file, 0, 0).iter().find_map(|field| match field.kind {
        FieldKind::Count(count) => Some(count),
        _ => None,
    });
    put_block(file, 4, &(count.unwrap() + by).to_le_bytes());
}

/// Sets a bit of the first block that belongs to no entry.
fn set_padding(file: &mut Forged, pick: fn(&std::ops::Range<usize>) -> usize) {
    let fields = fields(file, 0, 0);
    let padding = fields.iter().find(|field| field.kind == FieldKind::Padding).unwrap();
    assert!(!padding.bits.is_empty());
    let bit = pick(&padding.bits);
    let start = file.block(0, 0).start;
    file.bytes[start + bit / 8] ^= 0x80 >> (bit % 8);
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged(
        "huffman.count",
        When::Use,
        "Damaged, Block",
        plain,
        &[
            sealed("entry count", |f| put_block(f, 4, &[0, 0])),
            sealed("entry count", |f| put_block(f, 4, &[0xff, 0xff])),
            // One more than there are bits for codes: 8 × (512 − 14), and the first entry.
            sealed("entry count", |f| put_block(f, 4, &3986u16.to_le_bytes())),
        ],
    ),
    damaged(
        "huffman.suffixes",
        When::Use,
        "Damaged, Block",
        plain,
        &[
            sealed("do not end where", |f| change_count(f, 1000)),
            sealed("do not end where", |f| put_block(f, 4, &3985u16.to_le_bytes())),
        ],
    ),
    damaged(
        "huffman.length",
        When::Verify,
        "Damaged, Block",
        plain,
        &[
            sealed("do not end where", |f| change_count(f, 1)),
            sealed("do not end where", |f| change_count(f, 2)),
        ],
    ),
    damaged(
        "huffman.order",
        When::Verify,
        "Damaged, Block",
        plain,
        // The next entry has a zero where the first one has a one.
        &[sealed("not ascending", |f| put_block(f, 6, &[0xff; 8]))],
    ),
    damaged(
        "huffman.padding",
        When::Verify,
        "Damaged, Block",
        plain,
        &[
            sealed("belong to no entry", |f| set_padding(f, |bits| bits.start)),
            sealed("belong to no entry", |f| set_padding(f, |bits| bits.end - 1)),
        ],
    ),
];
