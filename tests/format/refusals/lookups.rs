//! Look-ups by id and by name.

use hamdex::Builder;

use crate::common::forge::{Forged, ID_LOOKUP};
use crate::refusals::{Refusal, Spoil, When, options, raw, sealed, stored};

/// Buckets of the 300 places of the file below, and bits of its numbers.
const BUCKETS: usize = 16;
const START_BITS: usize = 9;
const TAG_BITS: usize = 12;
const PLACE_BITS: usize = 9;

/// The fingerprints of `plain`, with the ids 0, 1, 2 and so on, their names, and look-ups.
pub(crate) fn with_lookups() -> Vec<u8> {
    let mut builder = Builder::in_memory(options().names(true).lookups(true)).unwrap();
    for (id, fingerprint) in (0u64..).zip(stored()) {
        builder.push_with_id(fingerprint, id).unwrap();
        builder.push_name(id, format!("n {id}")).unwrap();
    }
    let file = builder.into_inner().unwrap().0;
    let length = entries_at() + (300 * (TAG_BITS + PLACE_BITS)).div_ceil(8);
    assert_eq!(Forged::new(file.clone()).contents(ID_LOOKUP, 0).len(), length);
    file
}

fn entries_at() -> usize {
    ((BUCKETS + 1) * START_BITS).div_ceil(8)
}

/// Makes some bits of the look-up of ids another number.
fn put(file: &mut Forged, list_at: usize, first_bit: usize, bits: usize, number: usize) {
    let list = file.section(ID_LOOKUP, 0).offset + list_at;
    for bit in 0..bits {
        let at = first_bit + bit;
        let mask = 0x80 >> (at % 8);
        let byte = &mut file.bytes[list + at / 8];
        *byte = *byte & !mask | if number >> (bits - 1 - bit) & 1 == 1 { mask } else { 0 };
    }
}

fn put_start(file: &mut Forged, bucket: usize, start: usize) {
    put(file, 0, bucket * START_BITS, START_BITS, start);
}

fn put_tag(file: &mut Forged, number: usize, tag: usize) {
    put(file, entries_at(), number * (TAG_BITS + PLACE_BITS), TAG_BITS, tag);
}

fn put_place(file: &mut Forged, number: usize, place: usize) {
    put(file, entries_at(), number * (TAG_BITS + PLACE_BITS) + TAG_BITS, PLACE_BITS, place);
}

/// Exchanges the first two entries, which are in one bucket.
fn swap_first_two(file: &mut Forged) {
    let (bits, list) = (TAG_BITS + PLACE_BITS, file.section(ID_LOOKUP, 0).offset + entries_at());
    let bit = |at: usize| usize::from(file.bytes[list + at / 8] >> (7 - at % 8) & 1);
    let [first, second] =
        [0, 1].map(|number| (number * bits..(number + 1) * bits).fold(0, |value, at| value << 1 | bit(at)));
    put(file, entries_at(), 0, bits, second);
    put(file, entries_at(), bits, bits, first);
}

fn set_bit(file: &mut Forged, byte: usize) {
    let at = file.section(ID_LOOKUP, 0).offset + byte;
    file.bytes[at] |= 1;
}

/// Makes the look-up of ids a byte shorter. The next section starts at a page, so it stays where it is.
fn shorten(file: &mut Forged) {
    let number = file.sections.iter().position(|section| section.kind == ID_LOOKUP).expect("a look-up");
    file.sections[number].length -= 1;
    let length = file.sections[number].length as u64;
    file.put_footer(file.section_record(number) + 16, &length.to_le_bytes());
}

const fn damaged(name: &'static str, when: When, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when, error: "Damaged, IdLookup", base: with_lookups, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged("lookups.length", When::Use, &[sealed("shorter or longer", shorten)]),
    damaged("lookups.checksum", When::Use, &[raw("checksum", |f| f.flip(ID_LOOKUP))]),
    damaged(
        "lookups.starts",
        When::Use,
        &[
            sealed("buckets are out of order", |f| put_start(f, 1, 511)),
            sealed("buckets are out of order", |f| put_start(f, 9, 0)),
        ],
    ),
    damaged("lookups.place", When::Use, &[sealed("not in the file", |f| put_place(f, 7, 300))]),
    damaged("lookups.order", When::Verify, &[sealed("places are out of order", swap_first_two)]),
    damaged("lookups.key", When::Verify, &[sealed("where its key leads", |f| put_tag(f, 299, 4095))]),
    damaged("lookups.count", When::Verify, &[sealed("more or fewer places", |f| put_start(f, BUCKETS, 299))]),
    damaged(
        "lookups.spare",
        When::Verify,
        &[
            sealed("bits after its end", |f| set_bit(f, entries_at() - 1)),
            sealed("bits after its end", |f| {
                set_bit(f, entries_at() + (300 * (TAG_BITS + PLACE_BITS)).div_ceil(8) - 1);
            }),
        ],
    ),
];
