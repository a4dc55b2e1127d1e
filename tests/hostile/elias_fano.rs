//! Elias–Fano blocks.

use hamdex::inspect::reference::{Coding, Field, FieldKind, read_block};

use crate::common::file::Parts;
use crate::{ELIAS_FANO, assert_damaged, changed, in_block};

const BLOCK: usize = 1;

fn fields(parts: &Parts) -> Vec<Field<u64>> {
    read_block(&parts.tables[0].blocks[BLOCK], Coding::EliasFano).unwrap()
}

/// Changes the block; every checksum is made right.
fn spoiled(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    changed(&ELIAS_FANO, |parts| change(&mut parts.tables[0].blocks[BLOCK]))
}

#[test]
fn other_sizes_of_low_fields_are_refused() {
    let right = Parts::read(&ELIAS_FANO).tables[0].blocks[BLOCK][6];
    for low_bits in (0..=255).filter(|&bits| bits != right) {
        let says = if low_bits > 56 { "low fields" } else { "" };
        assert_damaged(&spoiled(|block| block[6] = low_bits), in_block(0, BLOCK as u64), says);
    }
}

#[test]
fn the_byte_after_the_size_of_low_fields_is_zero() {
    for byte in [1, 0x80, 255] {
        assert_damaged(&spoiled(|block| block[7] = byte), in_block(0, BLOCK as u64), "low fields");
    }
}

#[test]
fn every_flipped_bit_of_the_unary_part_is_refused() {
    let parts = Parts::read(&ELIAS_FANO);
    let fields = fields(&parts);
    let of_kind = |is_it: fn(&FieldKind<u64>) -> bool| fields.iter().filter(move |field| is_it(&field.kind));
    let ones: Vec<usize> =
        of_kind(|kind| matches!(kind, FieldKind::Bucket { .. })).map(|field| field.bits.end - 1).collect();
    let start = (8 + 8) * 8;
    let lows = of_kind(|kind| matches!(kind, FieldKind::Low { .. })).next().unwrap().bits.start;
    for bit in start..lows {
        let file = spoiled(|block| block[bit / 8] ^= 1 << (bit % 8));
        let says = if ones.contains(&bit) { "do not end where" } else { "bits that belong to no entry" };
        assert_damaged(&file, in_block(0, BLOCK as u64), says);
    }
}

#[test]
fn entries_moved_to_other_buckets_are_refused() {
    let parts = Parts::read(&ELIAS_FANO);
    for field in fields(&parts) {
        let FieldKind::Bucket { .. } = field.kind else { continue };
        // The one is swapped with the bit before it, which changes nothing if that is a one.
        let (one, before) = (field.bits.end - 1, field.bits.end - 2);
        if field.bits.len() > 1 {
            let file = spoiled(|block| {
                block[one / 8] ^= 1 << (one % 8);
                block[before / 8] ^= 1 << (before % 8);
            });
            assert_damaged(&file, |_| true, "");
        }
    }
}
