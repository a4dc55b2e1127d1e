//! Elias–Fano blocks.

use crate::common::built;
use crate::common::forge::Forged;
use crate::refusals::contents::{damaged, fields, put_block};
use crate::refusals::{Refusal, When, options, plain_elias_fano, sealed};
use hamdex::inspect::reference::FieldKind;
use hamdex::{Codec, Design};

/// One block of six neighbours, the last of them the greatest fingerprint there is. Each has 3 low bits;
/// the second and the third are in one bucket.
pub(crate) fn close() -> Vec<u8> {
    let stored = [50, 47, 46, 30, 10, 0].map(|below| u64::MAX - below);
    built(&stored, few())
}

/// One block of one entry.
fn lonely() -> Vec<u8> {
    built(&[7], few())
}

fn few() -> hamdex::BuildOptions<u64> {
    options().design(Design::named("single", 3).unwrap()).codec(Codec::EliasFano)
}

/// Flips a bit of the first block, counted from the least significant of its first byte.
fn flip_bit(file: &mut Forged, bit: usize) {
    let at = file.block(0, 0).start + bit / 8;
    file.bytes[at] ^= 1 << (bit % 8);
}

/// Returns the position of an entry's one in the unary part of the first block.
fn one(file: &Forged, entry: usize) -> usize {
    let fields = fields(file, 0, 0);
    let is_its = |kind| matches!(kind, FieldKind::Bucket { entry: e, .. } if e == entry);
    fields.iter().find(|field| is_its(field.kind)).expect("a coded entry").bits.end - 1
}

/// Returns the start of an entry's low field in the first block.
fn low(file: &Forged, entry: usize) -> usize {
    let fields = fields(file, 0, 0);
    let is_its = |kind| matches!(kind, FieldKind::Low { entry: e, .. } if e == entry);
    fields.iter().find(|field| is_its(field.kind)).expect("a coded entry").bits.start
}

/// Moves the one of a coded entry by this number of places.
fn move_one(file: &mut Forged, entry: usize, by: isize) {
    let place = one(file, entry);
    flip_bit(file, place);
    flip_bit(file, place.saturating_add_signed(by));
}

/// One entry more than there is room for by the count of bits.
fn count_one_too_many(file: &mut Forged) {
    let low_bits = usize::from(file.bytes[file.block(0, 0).start + 6]);
    let most = 8 * (file.block_bytes - 16) / (low_bits + 1) + 1;
    put_block(file, 4, &(most as u16 + 1).to_le_bytes());
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged(
        "elias-fano.count",
        When::Use,
        "Damaged, Block",
        plain_elias_fano,
        &[
            sealed("entry count", |f| put_block(f, 4, &[0, 0])),
            sealed("entry count", |f| put_block(f, 4, &[0xff, 0xff])),
            sealed("entry count", count_one_too_many),
            sealed("entry count", count_one_too_many).of(close),
        ],
    ),
    damaged(
        "elias-fano.low-bits",
        When::Use,
        "Damaged, Block",
        plain_elias_fano,
        &[
            sealed("low fields", |f| put_block(f, 6, &[57])),
            sealed("low fields", |f| put_block(f, 6, &[64])),
            sealed("low fields", |f| put_block(f, 6, &[255])),
            sealed("low fields", |f| put_block(f, 6, &[57])).of(lonely),
        ],
    ),
    damaged(
        "elias-fano.reserved",
        When::Use,
        "Damaged, Block",
        plain_elias_fano,
        &[
            sealed("low fields", |f| put_block(f, 7, &[1])),
            sealed("low fields", |f| put_block(f, 7, &[0x80])),
        ],
    ),
    damaged(
        "elias-fano.length",
        When::Verify,
        "Damaged, Block",
        plain_elias_fano,
        &[
            sealed("do not end where", |f| flip_bit(f, one(f, 1))),
            sealed("do not end where", |f| flip_bit(f, one(f, 30))),
            sealed("do not end where", |f| flip_bit(f, one(f, 5))).of(close),
        ],
    ),
    damaged(
        "elias-fano.padding",
        When::Verify,
        "Damaged, Block",
        close,
        &[
            // Right after the last one; right before the low fields; where there are no low fields.
            sealed("belong to no entry", |f| flip_bit(f, one(f, 5) + 1)),
            sealed("belong to no entry", |f| flip_bit(f, low(f, 1) - 1)),
            sealed("belong to no entry", |f| flip_bit(f, 16 * 8)).of(lonely),
            sealed("belong to no entry", |f| flip_bit(f, 512 * 8 - 1)).of(lonely),
        ],
    ),
    damaged(
        "elias-fano.width",
        When::Verify,
        "Damaged, Block",
        close,
        &[sealed("not ascending", |f| move_one(f, 5, 1)), sealed("not ascending", |f| move_one(f, 5, 1000))],
    ),
    damaged(
        "elias-fano.order",
        When::Verify,
        "Damaged, Block",
        close,
        &[
            // The third entry is the second one again; the second one is in the first one's bucket and
            // has a lower low field.
            sealed("not ascending", |f| flip_bit(f, low(f, 2))),
            sealed("not ascending", |f| move_one(f, 1, -1)),
        ],
    ),
];
