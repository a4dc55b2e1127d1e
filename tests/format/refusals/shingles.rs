//! Shingles, their directory, and the table of pairs of shingle and document.

use hamdex::Builder;

use crate::common::forge::{
    Forged, PAIR_BLOCK_BYTES, SHINGLE_DIRECTORY, SHINGLE_KEYS, SHINGLE_PAIRS, SHINGLES,
};
use crate::refusals::{Refusal, Spoil, When, options, raw, sealed, stored};

/// The fingerprints of `plain`, with the ids 0, 1, 2 and so on, each with three shingles in 20 bytes.
pub(crate) fn with_shingles() -> Vec<u8> {
    let mut builder = Builder::in_memory(options().shingles(true)).unwrap();
    for (id, fingerprint) in (0u64..).zip(stored()) {
        builder.push_with_id(fingerprint, id).unwrap();
        builder.push_shingles(id, &[id, 1 << 40 | id, 1 << 47 | id]).unwrap();
    }
    builder.into_inner().unwrap().0
}

/// So many documents, with one shingle or two each, that their numbers of shingles are not on the page of the keys.
fn with_many_documents() -> Vec<u8> {
    let mut builder = Builder::in_memory(options().shingles(true)).unwrap();
    let stored = stored();
    for id in 0..34_001 {
        builder.push_with_id(stored[id as usize % stored.len()], id).unwrap();
        let set = [id / 100, (1 << 40) | (id / 100)];
        builder.push_shingles(id, &set[..1 + id as usize % 2]).unwrap();
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

/// The offset in the section of keys of the number of shingles of the first document.
fn sizes_at(file: &Forged) -> usize {
    32 + 16 * blocks(file) as usize
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
    of_shingles("shingles.checksum", "Damaged, Shingles", &[raw("checksum", |f| f.flip(SHINGLES))]),
    of_shingles(
        "shingles.set",
        "Damaged, Shingles",
        &[
            sealed("not a set", |f| put(f, SHINGLES, 0, &[2])),
            sealed("not a set", |f| put(f, SHINGLES, 0, &[0xff])),
            sealed("not a set", |f| put(f, SHINGLES, 19, &[0])),
        ],
    ),
    of_keys(
        "shingle-keys.head",
        When::Open,
        &[
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 24, &[8])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 24, &[64])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 25, &[33])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 20, &[1])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 26, &[1])),
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 31, &[1])),
            // As many documents as 64 bits count, in so many bits.
            sealed("out of range", |f| put(f, SHINGLE_KEYS, 0, &[0xff; 8])),
        ],
    ),
    of_keys(
        "shingle-keys.length",
        When::Open,
        &[
            sealed("shorter or longer", |f| put(f, SHINGLE_KEYS, 0, &[0, 2])),
            sealed("shorter or longer", |f| {
                let more = blocks(f) + 1;
                put(f, SHINGLE_KEYS, 16, &more.to_le_bytes());
            }),
            sealed("shorter or longer", |f| put(f, SHINGLE_KEYS, 25, &[3])),
            sealed("shorter or longer", |f| {
                put(f, SHINGLE_KEYS, 0, &[0xff; 8]);
                put(f, SHINGLE_KEYS, 24, &[64, 32]);
            }),
        ],
    ),
    of_keys(
        "shingle-keys.blocks",
        When::Open,
        &[
            sealed("impossible", |f| put(f, SHINGLE_KEYS, 8, &[0; 8])),
            sealed("impossible", |f| put(f, SHINGLE_KEYS, 8, &[0xff; 8])),
            // A key more takes the bytes of 64 documents less.
            sealed("impossible", |f| {
                let more = blocks(f) + 1;
                put(f, SHINGLE_KEYS, 16, &more.to_le_bytes());
                put(f, SHINGLE_KEYS, 0, &236u64.to_le_bytes());
                put(f, SHINGLE_KEYS, 24, &[8]);
            }),
        ],
    ),
    of_keys(
        "shingle-keys.checksum",
        When::Open,
        &[
            raw("checksum", |f| f.flip(SHINGLE_KEYS)),
            raw("checksum", |f| {
                let section = f.section(SHINGLE_KEYS, 0);
                f.flip_at(section.offset + 32);
            })
            .of(with_many_documents),
        ],
    ),
    of_keys(
        "shingle-keys.order",
        When::Open,
        &[
            sealed("ascending", |f| put(f, SHINGLE_KEYS, 32, &[0xff; 16])),
            sealed("ascending", |f| {
                let [first, second] = [key(f, 0), key(f, 1)];
                f.bytes.copy_within(first, second.start);
            }),
        ],
    ),
    of_keys(
        "shingle-keys.page",
        When::Use,
        &[raw("checksum", |f| {
            let section = f.section(SHINGLE_KEYS, 0);
            assert!(sizes_at(f) < 4096 && section.length > 4096);
            f.flip_at(section.offset + section.length - 1);
        })
        .of(with_many_documents)],
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
    of_keys(
        "shingle-pairs.place",
        When::Use,
        // There are places for 512 documents, of which 300 are there.
        &[sealed("other pairs", |f| put_first_entry(f, 0, 0, &[0xff, 1]))],
    ),
    of_keys("shingle-pairs.sets", When::Verify, &[sealed("other pairs", |f| put_first_entry(f, 0, 0, &[1]))]),
    of_keys(
        "shingle-keys.documents",
        When::Verify,
        &[sealed("more or fewer documents", |f| {
            // As many bytes as for 300, of which the last two bits are spare then.
            put(f, SHINGLE_KEYS, 0, &299u64.to_le_bytes());
            let section = f.section(SHINGLE_KEYS, 0);
            f.bytes[section.offset + section.length - 1] &= 0b1111_1100;
        })],
    ),
    of_keys(
        "shingle-keys.pairs",
        When::Verify,
        &[
            sealed("not 901", |f| put(f, SHINGLE_KEYS, 8, &901u64.to_le_bytes())),
            sealed("not 899", |f| put(f, SHINGLE_KEYS, 8, &899u64.to_le_bytes())),
        ],
    ),
    of_keys(
        "shingle-keys.sizes",
        When::Verify,
        &[sealed("document 0 has 3 shingles", |f| put(f, SHINGLE_KEYS, sizes_at(f), &[0b0111_1111]))],
    ),
    of_keys(
        "shingle-keys.spare",
        When::Verify,
        &[sealed("after the last number", |f| {
            let section = f.section(SHINGLE_KEYS, 0);
            f.flip_at(section.offset + section.length - 1);
        })
        .of(with_many_documents)],
    ),
];
