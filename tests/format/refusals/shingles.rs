//! Shingles, their directory, and the table of pairs of shingle and document.

use hamdex::Builder;

use crate::common::forge::{Forged, PAIR_BLOCK_BYTES, SHINGLE_DIRECTORY, SHINGLE_KEYS, SHINGLE_PAIRS};
use crate::refusals::{Refusal, Spoil, When, options, raw, sealed, stored};

/// The fingerprints of `plain`, with the ids 0, 1, 2 and so on, each with three shingles.
pub(crate) fn with_shingles() -> Vec<u8> {
    let mut builder = Builder::in_memory(options().shingles(true)).unwrap();
    for (id, fingerprint) in (0u64..).zip(stored()) {
        builder.push_with_id(fingerprint, id).unwrap();
        builder.push_shingles(id, &[id, 1 << 40 | id, 1 << 47 | id]).unwrap();
    }
    builder.into_inner().unwrap().0
}

/// The bytes of a key.
fn key(file: &Forged, number: usize) -> std::ops::Range<usize> {
    let start = file.section(SHINGLE_KEYS, 0).offset + 32 + 16 * number;
    start..start + 16
}

/// The number of blocks of pairs.
fn blocks(file: &Forged) -> u64 {
    (file.section(SHINGLE_PAIRS, 0).length / PAIR_BLOCK_BYTES) as u64
}

/// Changes bytes of the first entry of a block, the lowest of which is byte 0.
fn put_first_entry(file: &mut Forged, block: usize, at: usize, bytes: &[u8]) {
    put(file, SHINGLE_PAIRS, block * PAIR_BLOCK_BYTES + 8 + at, bytes);
}

fn put(file: &mut Forged, kind: u32, at: usize, bytes: &[u8]) {
    file.put(file.section(kind, 0).offset + at, bytes);
}

const fn of_shingles(name: &'static str, error: &'static str, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when: When::Use, error, base: with_shingles, spoils }
}

const fn of_keys(name: &'static str, when: When, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when, error: "Damaged, ShingleKeys", base: with_shingles, spoils }
}

const fn of_pairs(name: &'static str, when: When, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when, error: "Damaged, ShingleBlock", base: with_shingles, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    of_shingles(
        "shingle-directory",
        "Damaged, ShingleDirectory",
        &[
            raw("checksum", |f| f.flip(SHINGLE_DIRECTORY)),
            sealed("out of range", |f| put(f, SHINGLE_DIRECTORY, 17, &[65])),
            sealed("shorter or longer", |f| put(f, SHINGLE_DIRECTORY, 0, &[7, 0])),
        ],
    ),
    of_keys(
        "shingle-keys.head",
        When::Open,
        &[
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 24, &[8])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 24, &[64])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 20, &[1])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 25, &[1])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 31, &[1])),
            // As many documents as 64 bits count, in so many bits.
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 0, &[0xff; 8])),
        ],
    ),
    of_keys(
        "shingle-keys.length",
        When::Open,
        &[
            sealed("shorter or longer", |f| {
                let more = blocks(f) + 1;
                put(f, SHINGLE_KEYS, 16, &more.to_le_bytes());
            }),
            sealed("shorter or longer", |f| put(f, SHINGLE_KEYS, 16, &[0])),
        ],
    ),
    of_keys(
        "shingle-keys.blocks",
        When::Open,
        &[
            sealed("impossible", |f| put(f, SHINGLE_KEYS, 8, &[0; 8])),
            sealed("impossible", |f| put(f, SHINGLE_KEYS, 8, &[0xff; 8])),
        ],
    ),
    of_keys(
        "shingle-keys.checksum",
        When::Open,
        &[
            raw("checksum", |f| f.flip(SHINGLE_KEYS)),
            raw("checksum", |f| {
                let section = f.section(SHINGLE_KEYS, 0);
                f.flip_at(section.offset + section.length - 1);
            }),
        ],
    ),
    of_keys(
        "shingle-keys.order",
        When::Open,
        &[
            sealed("ascending", |f| put(f, SHINGLE_KEYS, 32, &[0xff; 16])),
            // The greatest shingle of 48 bits, and a bit more.
            sealed("exceeds the bits", |f| {
                let last = key(f, blocks(f) as usize - 1);
                f.put(last.start, &(1u128 << 57).to_le_bytes());
            }),
            sealed("ascending", |f| {
                let [first, second] = [key(f, 0), key(f, 1)];
                f.bytes.copy_within(first, second.start);
            }),
        ],
    ),
    of_pairs(
        "shingle-pairs.checksum",
        When::Use,
        &[
            raw("checksum", |f| f.flip(SHINGLE_PAIRS)),
            raw("checksum", |f| {
                let at = f.section(SHINGLE_PAIRS, 0).offset;
                f.swap(at..at + PAIR_BLOCK_BYTES, at + PAIR_BLOCK_BYTES..at + 2 * PAIR_BLOCK_BYTES);
            }),
        ],
    ),
    of_pairs(
        "shingle-pairs.block",
        When::Use,
        &[
            sealed("", |f| put(f, SHINGLE_PAIRS, 4, &[0, 0])),
            sealed("", |f| put(f, SHINGLE_PAIRS, 6, &[121])),
            sealed("", |f| put(f, SHINGLE_PAIRS, 7, &[1])),
        ],
    ),
    of_pairs(
        "shingle-pairs.entries",
        When::Verify,
        &[
            // An entry before the key of the block before; blocks that do not belong to their keys.
            sealed("", |f| put_first_entry(f, 1, 0, &[0; 16])),
            sealed("", |f| {
                let at = f.section(SHINGLE_PAIRS, 0).offset;
                f.swap(at..at + PAIR_BLOCK_BYTES, at + PAIR_BLOCK_BYTES..at + 2 * PAIR_BLOCK_BYTES);
            }),
        ],
    ),
    of_pairs(
        "shingle-pairs.place",
        When::Use,
        // There are places for 512 documents, of which 300 are there.
        &[sealed("no document 511", |f| put_first_entry(f, 0, 0, &[0xff, 1]))],
    ),
    of_shingles(
        "shingle-pairs.documents",
        "Damaged, Shingles",
        &[sealed("has more or fewer", |f| put_first_entry(f, 0, 0, &[1]))],
    ),
    of_keys(
        "shingle-keys.documents",
        When::Use,
        &[sealed("more or fewer documents", |f| put(f, SHINGLE_KEYS, 0, &299u64.to_le_bytes()))],
    ),
    of_keys(
        "shingle-keys.pairs",
        When::Use,
        &[
            sealed("more or fewer pairs", |f| put(f, SHINGLE_KEYS, 8, &901u64.to_le_bytes())),
            sealed("more or fewer pairs", |f| put(f, SHINGLE_KEYS, 8, &899u64.to_le_bytes())),
        ],
    ),
];
