//! Shingles and their directory.

use hamdex::Builder;

use crate::common::forge::{Forged, SHINGLE_DIRECTORY, SHINGLES};
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

fn put(file: &mut Forged, kind: u32, at: usize, bytes: &[u8]) {
    file.put(file.section(kind, 0).offset + at, bytes);
}

const fn of_shingles(name: &'static str, error: &'static str, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when: When::Use, error, base: with_shingles, spoils }
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
];
