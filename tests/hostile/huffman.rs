//! Blocks of Huffman-coded first differing positions.

use crate::common::built;
use crate::common::file::Parts;
use crate::{PLAIN, assert_damaged, changed, entries, in_block, options};

#[test]
fn wrong_spare_bits_of_a_block_are_refused() {
    let right = u16::from_le_bytes(Parts::read(&PLAIN).tables[0].blocks[1][6..8].try_into().unwrap());
    for spare in [right + 1, right.wrapping_sub(1), right ^ 0x100, 4096, 4097, u16::MAX] {
        let file =
            changed(&PLAIN, |parts| parts.tables[0].blocks[1][6..8].copy_from_slice(&spare.to_le_bytes()));
        assert_damaged(&file, in_block(0, 1), "");
    }
}

/// A file whose first block of table 0 has several segments.
fn many_segments() -> Vec<u8> {
    let runs: Vec<u64> = (0..3000).collect();
    let file = built(&runs, options("single", 1));
    let parts = Parts::read(&file);
    assert!(count(&parts) > 3 * usize::from(parts.restart_interval));
    file
}

/// The entries of the first block of table 0.
fn count(parts: &Parts) -> usize {
    usize::from(u16::from_le_bytes(parts.tables[0].blocks[0][4..6].try_into().unwrap()))
}

#[test]
fn segments_that_start_out_of_order_or_outside_are_refused() {
    let file = many_segments();
    let parts = Parts::read(&file);
    let starts = 8 + 8 * count(&parts).div_ceil(usize::from(parts.restart_interval));
    let set = |place: usize, start: u16| {
        changed(&file, |parts| {
            let at = starts + 2 * place;
            parts.tables[0].blocks[0][at..at + 2].copy_from_slice(&start.to_le_bytes());
        })
    };
    let start = |place: usize| {
        u16::from_le_bytes(parts.tables[0].blocks[0][starts + 2 * place..][..2].try_into().unwrap())
    };
    for lie in [
        set(0, 0),
        set(0, start(1) + 1),
        set(1, start(0)),
        set(1, 0),
        set(0, start(0) + 1),
        set(0, start(0) - 1),
        set(2, 4096),
        set(0, u16::MAX),
        set(1, u16::MAX),
    ] {
        assert_damaged(&lie, in_block(0, 0), "");
    }
}

#[test]
fn segments_that_do_not_ascend_are_refused() {
    // Only raw fingerprints can break the order: an entry coded by h is always above the one before.
    let file = many_segments();
    let parts = Parts::read(&file);
    let values = entries(&parts, 0, 0);
    let interval = usize::from(parts.restart_interval);
    for lie in [values[interval - 1], values[interval - 2], 0, values[0]] {
        let file =
            changed(&file, |parts| parts.tables[0].blocks[0][16..24].copy_from_slice(&lie.to_le_bytes()));
        assert_damaged(&file, in_block(0, 0), "ascending");
    }
}
