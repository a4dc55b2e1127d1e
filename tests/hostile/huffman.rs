//! Blocks of Huffman-coded first differing positions.

use crate::common::file::Parts;
use crate::{PLAIN, assert_damaged, changed, coding, entries, in_block};
use hamdex::inspect::reference::{FieldKind, read_block};

/// Entries that a block does not have make its codes run into its suffixes, or its suffixes into its codes, or
/// reach bits that belong to no entry.
#[test]
fn codes_and_suffixes_that_do_not_lie_apart_are_refused() {
    let parts = Parts::read(&PLAIN);
    for (number, block) in parts.tables[0].blocks.iter().enumerate() {
        let count = u16::from_le_bytes([block[4], block[5]]);
        for more in [1, 2, 3, 10, 100, 1000, 3000] {
            let file = changed(&PLAIN, |parts| {
                parts.tables[0].blocks[number][4..6].copy_from_slice(&(count + more).to_le_bytes());
            });
            assert_damaged(&file, in_block(0, number as u64), "");
        }
    }
}

/// A code of another length moves all codes after it, another of the same length all suffixes.
#[test]
fn changed_codes_are_refused() {
    let parts = Parts::read(&PLAIN);
    let fields = read_block::<u64>(&parts.tables[0].blocks[0], coding(&parts, 0)).unwrap();
    let codes = fields.iter().filter(|field| matches!(field.kind, FieldKind::Code { .. }));
    for bit in codes.flat_map(|field| field.bits.clone()) {
        let file = changed(&PLAIN, |parts| parts.tables[0].blocks[0][bit / 8] ^= 0x80 >> (bit % 8));
        assert_damaged(&file, in_block(0, 0), "");
    }
}

#[test]
fn entries_that_do_not_ascend_are_refused() {
    // Only the first entry can break the order: another is coded as one above the one before.
    let values = entries(&Parts::read(&PLAIN), 0, 0);
    for lie in [values[1], values[2], u64::MAX, values[0] | values[1]] {
        let file =
            changed(&PLAIN, |parts| parts.tables[0].blocks[0][6..14].copy_from_slice(&lie.to_le_bytes()));
        assert_damaged(&file, in_block(0, 0), "ascending");
    }
}
