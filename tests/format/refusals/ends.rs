//! Header, trailer, and the bytes between sections.

use crate::common::forge::{BLOCKS, Forged, IDS};
use crate::refusals::ids::with_ids;
use crate::refusals::{Refusal, When, plain, raw, sealed};

pub(crate) const HEADER: &[Refusal] = &[
    Refusal {
        name: "header.magic",
        when: When::Open,
        error: "NotHamdex",
        base: plain,
        spoils: &[
            raw("not a hamdex file", |f| f.bytes.clear()),
            raw("not a hamdex file", |f| f.bytes[0] = 0x09),
            raw("not a hamdex file", |f| f.bytes[4] = b'\n'),
        ],
    },
    Refusal {
        name: "header.length",
        when: When::Open,
        error: "Truncated",
        base: plain,
        spoils: &[raw("its 1 bytes", |f| f.bytes.truncate(1)), raw("its 63 bytes", |f| f.bytes.truncate(63))],
    },
    Refusal {
        name: "header.checksum",
        when: When::Open,
        error: "Damaged, Header",
        base: plain,
        spoils: &[raw("checksum", |f| f.bytes[8] ^= 2), raw("checksum", |f| f.bytes[60] ^= 1)],
    },
    Refusal {
        name: "header.newer",
        when: When::Open,
        error: "TooNew",
        base: plain,
        spoils: &[sealed("version 2", |f| f.put(8, &[2, 0]))],
    },
    Refusal {
        name: "header.older",
        when: When::Open,
        error: "TooOld",
        base: plain,
        spoils: &[sealed("version 0", |f| f.put(8, &[0, 0]))],
    },
    Refusal {
        name: "header.features",
        when: When::Open,
        error: "UnknownFeatures",
        base: plain,
        spoils: &[sealed("0x1)", |f| f.put(16, &[1])), sealed("0x8000000000000000", |f| f.put(23, &[0x80]))],
    },
    Refusal {
        name: "header.reserved",
        when: When::Open,
        error: "Damaged, Header",
        base: plain,
        spoils: &[sealed("reserved", |f| f.put(12, &[1])), sealed("reserved", |f| f.put(59, &[1]))],
    },
];

/// Changes bytes of the trailer.
fn put_trailer(file: &mut Forged, at: usize, bytes: &[u8]) {
    file.put(file.bytes.len() - 32 + at, bytes);
}

/// Cuts the file to `length` bytes and puts the magic of a trailer at its end.
fn cut_to(file: &mut Forged, length: usize) {
    file.bytes.truncate(length);
    file.put(length - 8, b"\n\x1a\n\rXDH\x89");
}

/// A whole header, and a trailer that overlaps with it by a byte, the checksum of which is right.
fn overlap(file: &mut Forged) {
    cut_to(file, 95);
    file.bytes[64..79].fill(0);
    let mut unit = file.bytes[32..48].to_vec();
    unit.extend([8u32, 0, 0, 0].map(u32::to_le_bytes).concat());
    unit.extend(&file.bytes[63..83]);
    let checksum = crc32fast::hash(&unit);
    file.put(83, &checksum.to_le_bytes());
}

pub(crate) const TRAILER: &[Refusal] = &[
    Refusal {
        name: "trailer.length",
        when: When::Open,
        error: "Truncated",
        base: plain,
        spoils: &[
            raw("its 64 bytes", |f| f.bytes.truncate(64)),
            raw("its 65 bytes", |f| f.bytes.truncate(65)),
            // The magic at the end does not make a trailer of bytes that belong to the header.
            raw("its 72 bytes", |f| cut_to(f, 72)),
            raw("its 95 bytes", |f| cut_to(f, 95)),
            raw("its 95 bytes", overlap),
        ],
    },
    Refusal {
        name: "trailer.magic",
        when: When::Open,
        error: "Truncated",
        base: plain,
        spoils: &[
            raw("truncated", |f| f.bytes.truncate(f.bytes.len() - 1)),
            raw("truncated", |f| f.bytes.push(0)),
            raw("truncated", |f| f.bytes.truncate(4096)),
            raw("truncated", |f| f.bytes.truncate(96)),
            raw("truncated", |f| put_trailer(f, 31, &[0x88])),
        ],
    },
    Refusal {
        name: "trailer.checksum",
        when: When::Open,
        error: "Damaged, Trailer",
        base: plain,
        spoils: &[
            raw("checksum", |f| put_trailer(f, 0, &[1])),
            // The header of another file.
            raw("checksum", |f| f.bytes[..64].copy_from_slice(&with_ids()[..64])),
        ],
    },
    Refusal {
        name: "trailer.reserved",
        when: When::Open,
        error: "Damaged, Trailer",
        base: plain,
        spoils: &[
            sealed("reserved", |f| put_trailer(f, 16, &[1])),
            sealed("reserved", |f| put_trailer(f, 19, &[1])),
        ],
    },
    Refusal {
        name: "trailer.footer",
        when: When::Open,
        error: "Damaged, Trailer",
        base: plain,
        spoils: &[
            sealed("right before", |f| put_trailer(f, 0, &[0xff; 8])),
            sealed("right before", |f| put_trailer(f, 8, &[0xff; 8])),
            sealed("right before", |f| put_trailer(f, 0, &(f.footer.offset as u64 + 8).to_le_bytes())),
            raw("right before", |f| f.replace_footer(&vec![0; (1 << 20) + 1])),
        ],
    },
];

pub(crate) const PADDING: &[Refusal] = &[Refusal {
    name: "padding",
    when: When::Verify,
    error: "Damaged, Padding",
    base: with_ids,
    spoils: &[
        // After the header; before blocks; after contents; after checksums.
        raw("byte 64,", |f| f.bytes[64] = 1),
        raw("byte 4095,", |f| f.bytes[4095] = 1),
        raw("unused", |f| f.flip_at(f.section(BLOCKS, 1).offset - 1)),
        raw("unused", |f| {
            let ids = f.section(IDS, 0);
            assert_ne!(ids.length % 4, 0);
            f.bytes[ids.offset + ids.length] = 1;
        }),
        raw("unused", |f| {
            let ends = f.sections.iter().skip(1).map(|section| section.ends());
            let (end, _) = ends.into_iter().find(|(end, padded)| end < padded).unwrap();
            f.bytes[end] = 1;
        }),
    ],
}];
