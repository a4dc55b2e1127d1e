//! The footer, field by field.

use crate::common::forge::{BLOCKS, Forged};
use crate::common::{Shape, built, built_with_ids, data};
use crate::refusals::ids::with_ids;
use crate::refusals::lookups::with_lookups;
use crate::refusals::names::with_names;
use crate::refusals::shingles::with_shingles;
use crate::refusals::{Refusal, Spoil, When, filtered, plain, plain_elias_fano, raw, sealed};
use hamdex::BuildOptions;

fn wide() -> Vec<u8> {
    built(&data::<u128>(Shape::Uniform, 30, 1), BuildOptions::new().block_bytes(512))
}

/// No fingerprints, and so no ids.
fn empty_with_ids() -> Vec<u8> {
    built_with_ids::<u64>(&[], BuildOptions::new().block_bytes(512))
}

/// Changes bytes of a table's record.
fn put_table(file: &mut Forged, table: usize, at: usize, bytes: &[u8]) {
    file.put_footer(file.table_record(table) + at, bytes);
}

/// Changes bytes of a section's record.
fn put_section(file: &mut Forged, section: usize, at: usize, bytes: &[u8]) {
    file.put_footer(file.section_record(section) + at, bytes);
}

/// Sets how many fingerprints there are, and counts that fit.
fn fingerprints_are(file: &mut Forged, fingerprints: u64) {
    file.put_footer(16, &fingerprints.to_le_bytes());
    for table in 0..2 {
        put_table(file, table, 32 + 64, &[0; 64 * 8]);
        put_table(file, table, 32 + 64, &(fingerprints - 1).to_le_bytes());
    }
}

const fn damaged(name: &'static str, spoils: &'static [Spoil]) -> Refusal {
    Refusal { name, when: When::Open, error: "Damaged, Footer", base: plain, spoils }
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged(
        "footer.checksum",
        &[
            raw("checksum", |f| f.bytes[f.footer.offset] ^= 1),
            raw("checksum", |f| f.bytes[f.footer.ends().0 - 1] ^= 1),
        ],
    ),
    Refusal {
        name: "footer.padding",
        when: When::Open,
        error: "Damaged, Padding",
        base: plain,
        spoils: &[raw("unused", |f| {
            let (end, padded) = f.footer.ends();
            assert!(end < padded);
            f.bytes[end] = 1;
        })],
    },
    damaged(
        "footer.length",
        &[
            raw("too short", |f| f.replace_footer(&[])),
            raw("too short", |f| f.replace_footer(&f.footer().to_vec()[..f.footer.length - 1])),
            raw("too long", |f| f.replace_footer(&[f.footer(), &[0]].concat())),
            sealed("too short", |f| f.put_footer(24, &[0xff; 4])),
        ],
    ),
    damaged("footer.width", &[sealed("width", |f| f.put_footer(0, &[65]))]),
    damaged(
        "footer.codec",
        &[
            sealed("codec", |f| f.put_footer(4, &[0])),
            sealed("codec", |f| f.put_footer(4, &[3])),
            sealed("codec", |f| f.put_footer(4, &[255])),
        ],
    ),
    damaged(
        "footer.block-size",
        &[
            sealed("block size", |f| f.put_footer(5, &[8])),
            sealed("block size", |f| f.put_footer(5, &[14])),
            sealed("block size", |f| f.put_footer(5, &[255])),
        ],
    ),
    damaged("footer.distance", &[sealed("distance", |f| f.put_footer(8, &[65]))]),
    damaged(
        "footer.tables",
        &[
            sealed("number of tables", |f| f.put_footer(12, &[0])),
            sealed("number of tables", |f| f.put_footer(12, &[65])),
        ],
    ),
    damaged(
        "footer.ids",
        &[
            sealed("description of the ids", |f| f.put_footer(28, &[2])),
            sealed("description of the ids", |f| f.put_footer(28, &[1, 65])),
            // With ids: fewer than fingerprints. Without: bits, count or base.
            sealed("too few", |f| f.put_footer(28, &[1])),
            sealed("too many", |f| f.put_footer(29, &[1])),
            sealed("too many", |f| f.put_footer(32, &[1])),
            sealed("too many", |f| f.put_footer(40, &[1])),
            // With ids and without fingerprints.
            sealed("too many", |f| f.put_footer(32, &[1])).of(empty_with_ids),
        ],
    ),
    damaged(
        "footer.names",
        &[
            sealed("description of the names", |f| f.put_footer(6, &[1])),
            sealed("description of the names", |f| f.put_footer(6, &[2])).of(with_names),
        ],
    ),
    damaged(
        "footer.name",
        &[
            sealed("design's name", |f| f.put_footer(30, &[0])),
            sealed("design's name", |f| f.put_footer(30, &[65])),
            sealed("after the design's name", |f| f.put_footer(48 + 63, b"x")),
            sealed("UTF-8", |f| f.put_footer(48, &[0xff])),
            sealed("UTF-8", |f| f.put_footer(48, &[0xc1, 0xa1])),
            sealed("UTF-8", |f| f.put_footer(48, &[0xed, 0xa0, 0x80])),
            sealed("UTF-8", |f| f.put_footer(48, &[0xf4, 0x90, 0x80, 0x80])),
            sealed("control characters", |f| f.put_footer(48, &[0])),
            sealed("control characters", |f| f.put_footer(48, b"\n")),
            sealed("control characters", |f| f.put_footer(48, "\u{9f}".as_bytes())),
        ],
    ),
    damaged("footer.reserved", &[sealed("reserved", |f| put_table(f, 1, 20, &[1]))]),
    damaged(
        "footer.optional",
        &[
            sealed("optional sections", |f| f.put_footer(7, &[1])),
            sealed("optional sections", |f| f.put_footer(7, &[0x80])).of(plain_elias_fano),
            sealed("optional sections", |f| f.put_footer(7, &[1])).of(filtered),
            // The second one is of table 0, as the first; of a table that is not there; of a lesser kind.
            sealed("not in order", |f| put_section(f, f.sections.len() - 1, 4, &[0])).of(filtered),
            sealed("not there", |f| put_section(f, f.sections.len() - 1, 4, &[2])).of(filtered),
            sealed("not in order", |f| put_section(f, f.sections.len() - 2, 0, &[1])).of(filtered),
        ],
    ),
    damaged(
        "footer.shingles",
        &[
            // The keys become an unknown section, the directory a filter, the keys those of another table.
            sealed("shingles come with", |f| put_section(f, f.sections.len() - 1, 0, &[7])).of(with_shingles),
            sealed("shingles come with", |f| put_section(f, f.sections.len() - 3, 0, &[0])).of(with_shingles),
            sealed("shingles come with", |f| put_section(f, f.sections.len() - 1, 4, &[1])).of(with_shingles),
            // The directory becomes shingles of an earlier version, of another table.
            sealed("shingles come with", |f| put_section(f, f.sections.len() - 3, 0, &[2, 1, 0, 0, 1]))
                .of(with_shingles),
        ],
    ),
    damaged(
        "footer.lookups",
        &[
            // The look-up of names becomes an unknown section, or one of another table; the names go.
            sealed("look-ups are of", |f| put_section(f, f.sections.len() - 1, 0, &[7])).of(with_lookups),
            sealed("look-ups are of", |f| put_section(f, f.sections.len() - 1, 4, &[1])).of(with_lookups),
            sealed("look-ups are of", |f| f.put_footer(6, &[0])).of(with_lookups),
        ],
    ),
    damaged(
        "footer.mask",
        &[
            sealed("wider", |f| put_table(f, 1, 8, &[1])),
            sealed("table 1 needs", |f| put_table(f, 1, 0, &[0; 8])),
        ],
    ),
    damaged("footer.first-mask", &[sealed("leading ones", |f| put_table(f, 0, 0, &[1]))]),
    damaged("footer.radius", &[sealed("table 1 needs", |f| put_table(f, 1, 16, &[33]))]),
    damaged(
        "footer.coverage",
        &[sealed("misses", |f| put_table(f, 1, 16, &[0])), sealed("misses", |f| f.put_footer(8, &[4]))],
    ),
    damaged(
        "footer.counts",
        &[
            sealed("sum", |f| put_table(f, 0, 32 + 64, &[0xee])),
            sealed("sum", |f| put_table(f, 1, 32 + 64, &[0xff; 16])),
        ],
    ),
    damaged(
        "footer.blocks",
        &[
            sealed("number of blocks", |f| fingerprints_are(f, 1)),
            sealed("number of blocks", |f| {
                fingerprints_are(f, f.section(BLOCKS, 0).length as u64 * 8 + 1);
            }),
        ],
    ),
    damaged(
        "footer.code",
        &[
            sealed("complete code", |f| put_table(f, 0, 32, &[0])),
            sealed("complete code", |f| put_table(f, 0, 32, &[17])),
            sealed("complete code", |f| put_table(f, 0, 32, &[1; 64])),
            sealed("complete code", |f| put_table(f, 1, 32, &[16; 64])),
            // A length where there is no code; a complete code; the tag of the other codec alone.
            sealed("code", |f| put_table(f, 0, 32, &[1])).of(plain_elias_fano),
            sealed("code", |f| put_table(f, 1, 32 + 63, &[255])).of(plain_elias_fano),
            sealed("code", |f| put_table(f, 1, 32, &[6; 64])).of(plain_elias_fano),
            sealed("code", |f| f.put_footer(4, &[2])),
            sealed("complete code", |f| f.put_footer(4, &[1])).of(plain_elias_fano),
        ],
    ),
    damaged(
        "footer.section-kind",
        &[
            sealed("unknown kind", |f| put_section(f, 0, 0, &[0])),
            sealed("unknown kind", |f| put_section(f, 0, 0, &[7])),
            sealed("unknown kind", |f| put_section(f, 0, 0, &[11])),
            sealed("unknown kind", |f| put_section(f, 0, 0, &[255])),
        ],
    ),
    damaged(
        "footer.sections",
        &[
            // A section's kind, table, offset or length; a table's blocks.
            sealed("in order", |f| put_section(f, 0, 0, &[2])),
            sealed("in order", |f| put_section(f, 1, 4, &[0])),
            sealed("in order", |f| f.put_footer(6, &[0])).of(with_names),
            sealed("in order", |f| f.put_footer(6, &[1])).of(with_ids),
            sealed("in order", |f| put_section(f, 4, 16, &[0xff; 8])).of(with_names),
            sealed("in order", |f| put_section(f, 1, 8, &[8])),
            sealed("in order", |f| put_section(f, 1, 16, &[8])),
            sealed("in order", |f| put_section(f, 4, 16, &[0xff; 8])),
            sealed("in order", |f| put_table(f, 0, 24, &[0])),
            sealed("in order", |f| put_table(f, 0, 24, &[0xff; 8])),
        ],
    ),
    Refusal {
        name: "width",
        when: When::Open,
        error: "Width",
        base: wide,
        spoils: &[raw("holds fingerprints of 128 bits, not 64", |_| ())],
    },
];
