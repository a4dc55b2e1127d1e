//! Blocks of Huffman-coded first differing positions.

use crate::common::forge::Forged;
use crate::refusals::contents::{damaged, fields, put_block};
use crate::refusals::{Refusal, When, dense, plain, sealed};
use hamdex::reference::FieldKind;

/// Changes where the second segment of the first block starts.
fn put_start(file: &mut Forged, start: u16) {
    let fields = fields(file, 0, 0);
    let field = fields.iter().find(|field| matches!(field.kind, FieldKind::Start(_)));
    put_block(file, field.unwrap().bits.start / 8, &start.to_le_bytes());
}

/// Changes how many bits of the first block are said to be unused.
fn change_spare(file: &mut Forged, by: i16) {
    let fields = fields(file, 0, 0);
    let spare = fields.iter().find_map(|field| match field.kind {
        FieldKind::Spare(spare) => Some(spare),
        _ => None,
    });
    put_block(file, 6, &spare.unwrap().checked_add_signed(by).unwrap().to_le_bytes());
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
            // One more than the block has bits.
            sealed("entry count", |f| put_block(f, 4, &[0x01, 0x10])),
        ],
    ),
    damaged(
        "huffman.spare",
        When::Use,
        "Damaged, Block",
        plain,
        &[sealed("in order inside the block", |f| put_block(f, 6, &[0xff, 0xff]))],
    ),
    damaged(
        "huffman.starts",
        When::Use,
        "Damaged, Block",
        dense,
        &[
            sealed("in order inside the block", |f| put_start(f, u16::MAX)),
            sealed("do not end where", |f| put_start(f, 0)),
        ],
    ),
    damaged(
        "huffman.length",
        When::Verify,
        "Damaged, Block",
        plain,
        &[
            // The segment is longer than what is in it, then shorter.
            sealed("do not end where", |f| change_spare(f, -1)),
            sealed("do not end where", |f| change_spare(f, 1)),
        ],
    ),
    damaged(
        "huffman.order",
        When::Verify,
        "Damaged, Block",
        dense,
        // The second segment begins as the first one does.
        &[sealed("not ascending", |f| put_block(f, 16, &[0; 8]))],
    ),
    damaged(
        "huffman.padding",
        When::Verify,
        "Damaged, Block",
        plain,
        &[sealed("bits after", |f| {
            assert!(f.bytes[f.block(0, 0).start + 6] > 0);
            f.flip_at(f.block(0, 0).end - 1);
        })],
    ),
];
