//! Keys, and blocks of any codec.

use hamdex::inspect::reference::{Coding, FieldKind, read_block};
use hamdex::{Index, Place};

use crate::common::file::Parts;
use crate::common::{Numbers, damaged_at};
use crate::{assert_damaged, assert_footer_damaged, changed, coding, entries, in_block, plains, set_entries};

#[test]
fn counts_of_first_differing_positions_are_counted_again() {
    for plain in plains() {
        // The sum is right: only counting finds it.
        let file = changed(plain, |parts| {
            let counts = &mut parts.tables[1].counts;
            let from = counts.iter().position(|&count| count > 0).unwrap();
            counts[from] -= 1;
            counts[63 - from] += 1;
        });
        assert_damaged(&file, |place| place == Place::Table { table: 1 }, "first differing positions");
        let file = changed(plain, |parts| parts.tables[0].counts[5] += 1);
        assert_footer_damaged(&file, "counts do not sum");
        let file = changed(plain, |parts| {
            parts.tables[0].counts[5] = u64::MAX;
            parts.tables[0].counts[6] = u64::MAX;
        });
        assert_footer_damaged(&file, "counts do not sum");
    }
}

#[test]
fn keys_out_of_order_are_refused() {
    for plain in plains() {
        let keys_of = |table| move |place| place == Place::Keys { table };
        let file = changed(plain, |parts| parts.tables[1].keys.swap(0, 1));
        assert_damaged(&file, keys_of(1), "ascending");
        let file = changed(plain, |parts| parts.tables[0].keys[1] = parts.tables[0].keys[0]);
        assert_damaged(&file, keys_of(0), "ascending");
        let file = changed(plain, |parts| *parts.tables[1].keys.last_mut().unwrap() = 0);
        assert_damaged(&file, keys_of(1), "ascending");
    }
}

#[test]
fn keys_that_are_not_the_last_entries_are_refused() {
    for plain in plains() {
        for table in 0..2 {
            for block in 0..Parts::read(plain).tables[table].keys.len() {
                for change in [|key: &mut u128| *key -= 1, |key: &mut u128| *key ^= 1] {
                    let file = changed(plain, |parts| change(&mut parts.tables[table].keys[block]));
                    assert_damaged(&file, in_block(table, block as u64), "key");
                }
            }
        }
    }
}

#[test]
fn impossible_entry_counts_of_a_block_are_refused() {
    for plain in plains() {
        let right = Parts::read(plain).tables[0].blocks[1][4];
        let counts =
            [0, 1, u16::from(right) - 1, u16::from(right) + 1, 127, 128, 129, 4096, 4097, 32_768, u16::MAX];
        for count in counts.into_iter().filter(|&count| count != u16::from(right)) {
            let file =
                changed(plain, |parts| parts.tables[0].blocks[1][4..6].copy_from_slice(&count.to_le_bytes()));
            assert_damaged(&file, in_block(0, 1), "");
        }
    }
}

#[test]
fn bits_after_the_last_entry_of_a_block_are_zero() {
    for plain in plains() {
        let parts = Parts::read(plain);
        // The bit of that number: the codecs count the bits of a byte from either end.
        let mask = |bit: usize| match coding(&parts, 0) {
            Coding::EliasFano => 1 << (bit % 8),
            _ => 0x80 >> (bit % 8),
        };
        let mut seen = 0;
        for (number, block) in parts.tables[0].blocks.iter().enumerate() {
            let fields = read_block::<u64>(block, coding(&parts, 0)).unwrap();
            let padding = fields.iter().find(|field| field.kind == FieldKind::Padding).unwrap();
            for bit in [padding.bits.start, padding.bits.end - 1] {
                if padding.bits.contains(&bit) {
                    seen += 1;
                    let file = changed(plain, |parts| parts.tables[0].blocks[number][bit / 8] ^= mask(bit));
                    assert_damaged(&file, in_block(0, number as u64), "bits that belong to no entry");
                }
            }
        }
        assert!(seen > 2, "some blocks have bits to spare");
    }
}

#[test]
fn blocks_of_garbage_are_refused() {
    for plain in plains() {
        let parts = Parts::read(plain);
        for (number, seed) in (0..parts.tables[0].blocks.len()).zip(50..) {
            for keep in [4, 6, 8, 16, 100, 400] {
                let file = changed(plain, |parts| {
                    let mut numbers = Numbers(seed);
                    parts.tables[0].blocks[number][keep..].fill_with(|| numbers.word() as u8);
                });
                assert_damaged(&file, in_block(0, number as u64), "");
            }
            let file = changed(plain, |parts| parts.tables[0].blocks[number].fill(0));
            assert_damaged(&file, in_block(0, number as u64), "count");
            let file = changed(plain, |parts| parts.tables[0].blocks[number].fill(255));
            assert_damaged(&file, in_block(0, number as u64), "");
        }
    }
}

#[test]
fn tables_that_hold_different_sets_are_refused() {
    for plain in plains() {
        // The lowest bit of an entry far from both its neighbours: all counts stay as they were.
        let parts = Parts::read(plain);
        let (block, at, values) = (0..parts.tables[1].blocks.len())
            .find_map(|block| {
                let values = entries(&parts, 1, block);
                let room = |w: &[u64]| w[1] & 1 == 0 && w[1] - w[0] > 8 && w[2] - w[1] > 8;
                let at = values.windows(3).position(room)?;
                Some((block, at + 1, values))
            })
            .unwrap();
        let file = changed(plain, |parts| {
            let mut values = values.clone();
            values[at] += 1;
            set_entries(parts, 1, block, &values);
        });
        assert_damaged(&file, |place| place == Place::Table { table: 1 }, "other fingerprints than table 0");
    }
}

#[test]
fn blocks_that_start_before_the_one_before_them_ends_are_refused() {
    for plain in plains() {
        let parts = Parts::read(plain);
        let values = entries(&parts, 0, 1);
        // Fewer entries, so that they fit however far apart they are; the check comes before any count.
        let few = &values[values.len() - 9..];
        for first in [parts.tables[0].keys[0] as u64, 5] {
            let file = changed(plain, |parts| set_entries(parts, 0, 1, &[&[first], few].concat()));
            assert_damaged(&file, in_block(0, 1), "ascending");
        }
    }
}

#[test]
fn a_place_beyond_the_entries_of_all_blocks_is_damage_of_their_table() {
    for plain in plains() {
        let file = changed(plain, |parts| {
            let last = parts.tables[0].blocks.len() - 1;
            let values = entries(parts, 0, last);
            set_entries(parts, 0, last, &values[1..]);
        });
        let index = Index::<u64>::from_bytes(&file[..]).unwrap();
        let last = index.place_count() - 1;
        index.fingerprint_at(last - 1).unwrap();
        let refused = index.fingerprint_at(last).unwrap_err();
        assert_eq!(damaged_at(&refused), Some(Place::Table { table: 0 }));
    }
}
