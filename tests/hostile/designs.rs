//! Masks, radii and distances.

use hamdex::{Fingerprint, Index, Place};

use crate::common::Numbers;
use crate::common::file::{self, Parts, field};
use crate::{EMPTY, PLAIN, assert_damaged, assert_footer_damaged, changed, plains};

#[test]
fn designs_that_do_not_cover_are_refused() {
    for distance in [4u32, 10, 64] {
        let file = file::with_footer(&PLAIN, field::DISTANCE, &distance.to_le_bytes());
        assert_footer_damaged(&file, "misses");
    }
    let lie = |change: fn(&mut Parts)| changed(&PLAIN, change);
    assert_footer_damaged(&lie(|parts| parts.tables[1].radius = 0), "misses");
    assert_footer_damaged(&lie(|parts| parts.tables[1].mask |= 1 << 40), "misses");
    assert_footer_damaged(&lie(|parts| parts.tables[1].radius = 33), "radius");
    assert_footer_damaged(&lie(|parts| parts.tables[1].radius = u32::MAX), "radius");
    assert_footer_damaged(&lie(|parts| parts.tables[1].mask = 0), "prefix bit");
    assert_footer_damaged(&lie(|parts| parts.tables[0].mask = 0xffff_ffff), "leading");
    assert_footer_damaged(&lie(|parts| parts.tables[1].mask |= 1 << 64), "wider");
    assert_footer_damaged(&lie(|parts| parts.tables[0].mask = u128::MAX), "wider");
}

#[test]
fn a_mask_that_still_covers_is_seen_by_the_order_of_its_table() {
    for plain in plains() {
        // One bit fewer leads table 1: a larger prefix is covered all the more, and the order is another.
        let file = changed(plain, |parts| parts.tables[1].mask = 0x7fff_fffe);
        assert_damaged(&file, |place| place == Place::Table { table: 1 }, "other fingerprints than table 0");
    }
}

/// An empty index with this number of further tables, their masks at random.
fn many_tables(tables: usize, lead: u32, distance: u32, radius: u32) -> Vec<u8> {
    let mut numbers = Numbers(77);
    changed(&EMPTY, |parts| {
        parts.distance = distance;
        parts.tables[0].mask = u128::from(u64::prefix_mask(lead));
        parts.tables[0].radius = radius;
        while parts.tables.len() < tables {
            let mut table = parts.tables[0].clone();
            table.mask = 0;
            while table.mask.count_ones() < lead {
                table.mask |= 1 << numbers.below(64);
            }
            parts.tables.push(table);
        }
    })
}

#[test]
fn a_design_that_is_too_hard_to_check_is_refused_in_the_end() {
    let said = "cannot check whether design";
    assert_footer_damaged(&many_tables(64, 32, 24, 12), said);
    assert_footer_damaged(&many_tables(8, 16, 24, 9), said);
}

#[test]
fn any_distance_may_be_asked_of_a_design_that_is_hard_to_check() {
    let file = many_tables(8, 32, 12, 9);
    let index = Index::<u64>::from_bytes(&file).unwrap();
    index.verify().unwrap();
    let mut searcher = index.searcher();
    for distance in [0, 5, 11, 12, 13, 16, 24, 40, 64] {
        assert!(searcher.within(5, distance).unwrap().is_empty());
    }
}
