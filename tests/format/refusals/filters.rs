//! Filters, and optional sections of unknown kind.

use crate::common::forge::{FILTER, Forged};
use crate::common::{Shape, built, data};
use crate::refusals::contents::damaged;
use crate::refusals::{Refusal, When, filtered, options, raw, sealed};
use hamdex::FilterChoice;

/// Filters of two pages each.
fn long() -> Vec<u8> {
    built(&data::<u64>(Shape::Uniform, 900, 2), options().filter(FilterChoice::Bits(64)))
}

/// Changes a byte of the filter of table 1.
fn put(file: &mut Forged, at: usize, byte: u8) {
    file.put(file.section(FILTER, 1).offset + at, &[byte]);
}

/// Makes the filter of table 1 a section of a kind that no reader knows.
fn rename(file: &mut Forged) {
    let number = file.sections.len() - 1;
    file.put_footer(file.section_record(number), &9999u32.to_le_bytes());
    file.sections[number].kind = 9999;
    file.seal();
}

pub(crate) const REFUSALS: &[Refusal] = &[
    damaged(
        "filter.head",
        When::Open,
        "Damaged, Filter",
        filtered,
        &[
            // Form, prefix bits, lines, reserved bytes.
            sealed("form", |f| put(f, 0, 0)),
            sealed("form", |f| put(f, 0, 2)),
            sealed("form", |f| put(f, 0, 3)),
            sealed("prefixes", |f| put(f, 4, 31)),
            sealed("prefixes", |f| put(f, 7, 1)),
            sealed("number of lines", |f| put(f, 8, 0xff)),
            sealed("number of lines", |f| put(f, 15, 1)),
            sealed("reserved", |f| put(f, 16, 1)),
            sealed("reserved", |f| put(f, 63, 1)),
        ],
    ),
    damaged(
        "filter.checksum",
        When::Use,
        "Damaged, Filter",
        long,
        &[raw("checksum", |f| {
            let section = f.section(FILTER, 1);
            assert!(section.length > 4096, "more than the page of the head");
            f.flip_at(section.offset + 4096);
        })],
    ),
    damaged(
        "filter.missing",
        When::Verify,
        "Damaged, Filter",
        filtered,
        &[sealed("lacks a prefix", |f| {
            let section = f.section(FILTER, 0);
            f.bytes[section.offset + 64..section.offset + section.length].fill(0);
        })],
    ),
    damaged(
        "optional.checksum",
        When::Verify,
        "Damaged, Section",
        filtered,
        &[raw("checksum", |f| {
            rename(f);
            f.flip_at(f.section(9999, 1).offset);
        })],
    ),
];
