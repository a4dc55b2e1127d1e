//! Checksums made right in bytes that need not be a hamdex file at all.
//!
//! Values out of range stay as they are: then the reader has to refuse them.

use byteorder::{ByteOrder, LittleEndian as Le};

use crate::common::file::{self, FOOTER, HEADER_BYTES, SectionAt, TRAILER_BYTES, field};

/// Makes every checksum right that has a place in these bytes.
pub fn seal(bytes: &mut [u8]) {
    if bytes.len() < HEADER_BYTES + TRAILER_BYTES {
        return;
    }
    file::sign_header(bytes);
    let (offset, length) = file::footer(bytes);
    let footer = SectionAt { kind: FOOTER, table: 0, offset, length, record: 0 };
    if fits(bytes, footer) {
        seal_sections(bytes, offset, length);
        file::sign_pages(bytes, footer);
    }
    file::sign_trailer(bytes);
}

fn seal_sections(bytes: &mut [u8], footer: usize, length: usize) {
    if length < field::TABLE {
        return;
    }
    let count = Le::read_u32(&bytes[footer + field::SECTIONS..]) as usize;
    if count.saturating_mul(24) > length {
        return;
    }
    let block_bytes = match bytes[footer + field::BLOCK_LOG2] {
        log2 @ 3..=20 => 1 << log2,
        _ => return,
    };
    for section in file::sections(bytes) {
        let Some(each) = section.block_bytes(block_bytes) else {
            if fits(bytes, section) {
                file::sign_pages(bytes, section);
            }
            continue;
        };
        if end(section).is_some_and(|end| end <= bytes.len()) {
            for number in 0..section.length / each {
                let start = section.offset + number * each;
                file::sign_block_at(bytes, (section.kind, section.table, number), start..start + each);
            }
        }
    }
}

fn end(section: SectionAt) -> Option<usize> {
    section.offset.checked_add(section.length)
}

/// Whether a section and its checksums lie in the bytes.
fn fits(bytes: &[u8], section: SectionAt) -> bool {
    end(section).is_some_and(|end| end <= bytes.len()) && section.ends().1 <= bytes.len()
}
