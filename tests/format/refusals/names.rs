//! Names and their directory.

use std::collections::BTreeMap;

use crate::common::built_with_names;
use crate::common::forge::{Forged, NAME_DIRECTORY, NAMES};
use crate::refusals::{Refusal, Spoil, When, options, raw, sealed, stored};

/// Bits of the ids and of the ends of the file below.
const ID_BITS: usize = 9;
const END_BITS: usize = 11;

/// The fingerprints of `plain`, with the ids 0, 1, 3, 4, 6, 7 and so on.
pub(crate) fn with_names() -> Vec<u8> {
    let pairs: Vec<(u64, u64)> = (0..).map(|n| n + n / 2).zip(stored()).map(|(id, x)| (x, id)).collect();
    let names: BTreeMap<u64, Vec<u8>> =
        pairs.iter().map(|&(_, id)| (id, format!("n {id}").into_bytes())).collect();
    let file = built_with_names(&pairs, &names, options());
    let forged = Forged::new(file.clone());
    let directory = forged.contents(NAME_DIRECTORY, 0);
    assert_eq!(directory[16..18], [ID_BITS as u8, END_BITS as u8]);
    assert_eq!(directory.len(), ends_at() + (300 * END_BITS).div_ceil(8));
    file
}

fn ends_at() -> usize {
    24 + (300 * ID_BITS).div_ceil(8)
}

fn put_head(file: &mut Forged, at: usize, bytes: &[u8]) {
    file.put(file.section(NAME_DIRECTORY, 0).offset + at, bytes);
}

/// Makes a number of a packed list another.
fn put_number(file: &mut Forged, list_at: usize, bits: usize, place: usize, number: u64) {
    let list = file.section(NAME_DIRECTORY, 0).offset + list_at;
    for bit in 0..bits {
        let at = place * bits + bit;
        let mask = 0x80 >> (at % 8);
        let byte = &mut file.bytes[list + at / 8];
        *byte = *byte & !mask | if number >> (bits - 1 - bit) & 1 == 1 { mask } else { 0 };
    }
}

fn put_id(file: &mut Forged, place: usize, number: u64) {
    put_number(file, 24, ID_BITS, place, number);
}

fn put_end(file: &mut Forged, place: usize, number: u64) {
    put_number(file, ends_at(), END_BITS, place, number);
}

fn set_bit(file: &mut Forged, byte: usize) {
    let at = file.section(NAME_DIRECTORY, 0).offset + byte;
    file.bytes[at] |= 1;
}

const fn damaged(name: &'static str, when: When, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when, error: "Damaged, NameDirectory", base: with_names, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged("name-directory.checksum", When::Use, &[raw("checksum", |f| f.flip(NAME_DIRECTORY))]),
    damaged(
        "name-directory.fields",
        When::Use,
        &[
            sealed("out of range", |f| put_head(f, 16, &[65])),
            sealed("out of range", |f| put_head(f, 17, &[65])),
            sealed("out of range", |f| put_head(f, 23, &[1])),
            // No names, yet a width; consecutive ids up to beyond 64 bits.
            sealed("out of range", |f| put_head(f, 0, &[0; 8])),
            sealed("out of range", |f| {
                put_head(f, 8, &[0xff; 8]);
                put_head(f, 16, &[0]);
            }),
        ],
    ),
    damaged(
        "name-directory.length",
        When::Use,
        &[
            sealed("shorter or longer", |f| put_head(f, 0, &[0xff; 8])),
            sealed("shorter or longer", |f| put_head(f, 0, &[45])),
            sealed("shorter or longer", |f| put_head(f, 16, &[0])),
            sealed("shorter or longer", |f| put_head(f, 17, &[64])),
        ],
    ),
    damaged("name-directory.last", When::Use, &[sealed("does not end with", |f| put_end(f, 299, 5))]),
    damaged(
        "name-directory.ids",
        When::Verify,
        &[
            sealed("out of order", |f| put_id(f, 0, 1)),
            sealed("out of order", |f| put_id(f, 7, 9)),
            sealed("exceeds 64 bits", |f| put_head(f, 8, &[0xff; 8])),
        ],
    ),
    damaged(
        "name-directory.ends",
        When::Verify,
        &[
            sealed("out of order", |f| put_end(f, 298, 0)),
            sealed("out of order", |f| put_end(f, 298, (1 << END_BITS) - 1)),
        ],
    ),
    damaged(
        "name-directory.spare",
        When::Verify,
        &[
            sealed("after its end", |f| set_bit(f, ends_at() - 1)),
            sealed("after its end", |f| set_bit(f, f.section(NAME_DIRECTORY, 0).length - 1)),
        ],
    ),
    damaged("name-directory.missing", When::Verify, &[sealed("id 7 has none", |f| put_id(f, 5, 8))]),
    Refusal {
        error: "Damaged, Names",
        ..damaged("names.checksum", When::Use, &[raw("checksum", |f| f.flip(NAMES))])
    },
];
