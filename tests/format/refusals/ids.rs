//! Ids, marks and directory.

use crate::common::forge::{Forged, ID_DIRECTORY, ID_STARTS, IDS};
use crate::common::{Numbers, built_with_ids};
use crate::refusals::{Refusal, Spoil, When, options, raw, sealed, stored};

/// Ids of the file below: each takes ten bits.
const COUNT: usize = 501;

/// The fingerprints of `plain`: two ids each, but the last ones.
pub(crate) fn with_ids() -> Vec<u8> {
    let mut numbers = Numbers(2);
    let mut pairs: Vec<(u64, u64)> = (0..2)
        .flat_map(|round| stored().into_iter().map(move |x| (x, round)))
        .take(COUNT)
        .map(|(x, round)| (x, round * 512 + numbers.below(512)))
        .collect();
    // So that the range of the ids is known for sure.
    pairs[0].1 = 0;
    pairs[COUNT - 1].1 = 1023;
    built_with_ids(&pairs, options())
}

fn clear_first_mark(file: &mut Forged) {
    let at = file.section(ID_STARTS, 0).offset;
    file.bytes[at] &= 0x7f;
}

fn is_marked(file: &Forged, place: usize) -> bool {
    file.contents(ID_STARTS, 0)[place / 8] & 0x80 >> (place % 8) != 0
}

fn clear_a_second_id(file: &mut Forged) {
    let place = (0..COUNT).find(|&place| !is_marked(file, place)).unwrap();
    let ids = file.section(IDS, 0).offset;
    for bit in place * 10..place * 10 + 10 {
        file.bytes[ids + bit / 8] &= !(0x80 >> (bit % 8));
    }
}

/// A second id becomes the first of its fingerprint.
fn add_a_mark(file: &mut Forged) {
    let starts = file.section(ID_STARTS, 0).offset;
    let last = (0..COUNT).rev().find(|&place| !is_marked(file, place)).unwrap();
    file.bytes[starts + last / 8] |= 0x80 >> (last % 8);
}

/// Sets a bit after the end of a section's bit string.
fn set_spare_bit(file: &mut Forged, kind: u32) {
    let section = file.section(kind, 0);
    file.bytes[section.offset + section.length - 1] |= 1;
}

fn put_directory(file: &mut Forged, at: usize, place: u64) {
    file.put(file.section(ID_DIRECTORY, 0).offset + at * 8, &place.to_le_bytes());
}

/// As `with_ids`, with enough ids of one fingerprint for ranks of marks.
fn with_ranks() -> Vec<u8> {
    let pairs = stored().into_iter().map(|x| (x, 7)).chain((0..10_000).map(|id| (stored()[50], id)));
    built_with_ids(&pairs.collect::<Vec<(u64, u64)>>(), options())
}

/// Makes the last rank another.
fn put_rank(file: &mut Forged, rank: u64) {
    let directory = file.section(ID_DIRECTORY, 0);
    file.put(directory.offset + directory.length - 8, &rank.to_le_bytes());
}

const fn damaged(name: &'static str, when: When, error: &'static str, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when, error, base: with_ids, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged("ids.checksum", When::Use, "Damaged, Ids", &[raw("checksum", |f| f.flip(IDS))]),
    damaged("ids.spare", When::Verify, "Damaged, Ids", &[sealed("after its end", |f| set_spare_bit(f, IDS))]),
    damaged(
        "ids.order",
        When::Verify,
        "Damaged, Ids",
        &[
            // Some second id is as small as can be; the first id of all is no first one.
            sealed("out of order", clear_a_second_id),
            sealed("out of order", clear_first_mark),
        ],
    ),
    damaged(
        "ids.range",
        When::Verify,
        "Damaged, Ids",
        &[sealed("exceeds 64 bits", |f| f.put_footer(40, &[0xff; 8]))],
    ),
    damaged("id-starts.checksum", When::Use, "Damaged, IdStarts", &[raw("checksum", |f| f.flip(ID_STARTS))]),
    damaged(
        "id-starts.spare",
        When::Verify,
        "Damaged, IdStarts",
        &[sealed("after its end", |f| set_spare_bit(f, ID_STARTS))],
    ),
    damaged(
        "id-starts.count",
        When::Verify,
        "Damaged, IdStarts",
        &[sealed("marks than fingerprints", add_a_mark)],
    ),
    damaged(
        "id-directory.checksum",
        When::Use,
        "Damaged, IdDirectory",
        &[raw("checksum", |f| f.flip(ID_DIRECTORY))],
    ),
    damaged(
        "id-directory.beyond",
        When::Use,
        "Damaged, IdDirectory",
        &[
            sealed("beyond the ids", |f| put_directory(f, 0, COUNT as u64)),
            sealed("beyond the ids", |f| put_directory(f, 1, u64::MAX)),
        ],
    ),
    damaged(
        "id-directory.place",
        When::Verify,
        "Damaged, IdDirectory",
        &[sealed("does not start where", |f| put_directory(f, 1, 5))],
    ),
    Refusal {
        base: with_ranks,
        ..damaged(
            "id-directory.rank",
            When::Verify,
            "Damaged, IdDirectory",
            &[
                sealed("is not the number of marks", |f| put_rank(f, 0)),
                sealed("is not the number of marks", |f| put_rank(f, u64::MAX)),
            ],
        )
    },
];
