//! Header, footer, sections and trailer.

use hamdex::{Place, ReadErrorKind};

use crate::common::file::{self, Parts, field};
use crate::{
    BLOCK_BYTES, ELIAS_FANO, EMPTY, PLAIN, assert_damaged, assert_footer_damaged, changed, plains,
    refused_as, seeds,
};

#[test]
fn headers_of_other_versions_and_features_are_told_apart() {
    let with = |at: usize, byte: u8| changed(&PLAIN, |parts| parts.header[at] = byte);
    assert!(matches!(refused_as::<u64>(&with(0, b'H')), Some(ReadErrorKind::NotHamdex)));
    assert!(matches!(refused_as::<u64>(&with(8, 2)), Some(ReadErrorKind::TooNew { found: 2, supported: 1 })));
    assert!(matches!(refused_as::<u64>(&with(9, 255)), Some(ReadErrorKind::TooNew { found: 0xff01, .. })));
    assert!(matches!(refused_as::<u64>(&with(8, 0)), Some(ReadErrorKind::TooOld { found: 0, supported: 1 })));
    assert!(matches!(refused_as::<u64>(&with(16, 1)), Some(ReadErrorKind::UnknownFeatures { bits: 1 })));
    assert!(matches!(
        refused_as::<u64>(&with(23, 0x80)),
        Some(ReadErrorKind::UnknownFeatures { bits: 0x8000_0000_0000_0000 })
    ));
    for reserved in [12, 15, 48, 59] {
        assert_damaged(&with(reserved, 1), |place| place == Place::Header, "reserved");
    }
    // A later minor version and optional features are for readers to pass over.
    for passed_over in [10, 24, 31] {
        assert!(refused_as::<u64>(&with(passed_over, 1)).is_none(), "{passed_over}");
    }
}

#[test]
fn another_width_is_refused_as_such() {
    assert!(matches!(refused_as::<u128>(&PLAIN), Some(ReadErrorKind::Width { found: 64, expected: 128 })));
    for width in [0u32, 1, 32, 96, 127, 129, u32::MAX] {
        let file = file::with_footer(&PLAIN, field::WIDTH, &width.to_le_bytes());
        assert_footer_damaged(&file, "width");
    }
    // The same bytes as 128-bit fingerprints: the tables' records have another length then.
    let file = file::with_footer(&PLAIN, field::WIDTH, &128u32.to_le_bytes());
    assert!(matches!(refused_as::<u128>(&file), Some(ReadErrorKind::Damaged { place: Place::Footer, .. })));
}

#[test]
fn fields_of_the_footer_out_of_their_range_are_refused() {
    let plain = |at, bytes: &[u8], saying: &str| {
        assert_footer_damaged(&file::with_footer(&PLAIN, at, bytes), saying);
    };
    for codec in [0, 3, 255] {
        plain(field::CODEC, &[codec], "codec");
        assert_footer_damaged(&file::with_footer(&ELIAS_FANO, field::CODEC, &[codec]), "codec");
    }
    for log2 in [0, 8, 14, 63, 64, 255] {
        plain(field::BLOCK_LOG2, &[log2], "block size");
    }
    for optional in [1, 64, 128, 255] {
        plain(field::OPTIONAL, &[optional], "optional sections");
        let file = file::with_footer(&ELIAS_FANO, field::OPTIONAL, &[optional]);
        assert_footer_damaged(&file, "optional sections");
    }
    for distance in [65, 1000, u32::MAX] {
        plain(field::DISTANCE, &distance.to_le_bytes(), "distance");
    }
    for tables in [0, 65, u32::MAX] {
        plain(field::TABLES, &tables.to_le_bytes(), "number of tables");
    }
    for tables in [1u32, 3, 64] {
        plain(field::TABLES, &tables.to_le_bytes(), "");
    }
    for sections in [0u32, 1, 4, 6, 1 << 20, u32::MAX] {
        plain(field::SECTIONS, &sections.to_le_bytes(), "");
    }
    plain(field::HAS_IDS, &[2], "ids");
    plain(field::HAS_IDS, &[1], "ids");
    plain(field::ID_BITS, &[1], "ids");
    plain(field::ID_COUNT, &[1], "ids");
    plain(field::ID_BASE, &[1], "ids");
    plain(field::NAME_LENGTH, &0u16.to_le_bytes(), "name");
    plain(field::NAME_LENGTH, &65u16.to_le_bytes(), "name");
    plain(field::NAME_LENGTH, &5u16.to_le_bytes(), "name");
    plain(field::NAME_LENGTH, &7u16.to_le_bytes(), "name");
    plain(field::NAME, &[0xff], "UTF-8");
    plain(field::NAME, b"\n", "control");
    plain(field::NAME + 63, &[1], "name");
}

#[test]
fn fingerprints_are_as_many_as_the_tables_hold() {
    for plain in plains() {
        let stored = Parts::read(plain).fingerprints;
        for count in [0, 1, stored - 1, stored + 1, 1 << 20, 1 << 40, u64::MAX] {
            let file = file::with_footer(plain, field::FINGERPRINTS, &count.to_le_bytes());
            assert_footer_damaged(&file, "");
            // Now with counts that agree with it, as far as they can.
            let file = changed(plain, |parts| {
                parts.fingerprints = count;
                for table in &mut parts.tables {
                    table.counts = vec![0; 64];
                    table.counts[9] = count.saturating_sub(1);
                }
            });
            let refusal = refused_as::<u64>(&file);
            assert!(matches!(refusal, Some(ReadErrorKind::Damaged { .. })), "{count}: {refusal:?}");
        }
        let one = file::with_footer(&EMPTY, field::FINGERPRINTS, &1u64.to_le_bytes());
        assert_footer_damaged(&one, "blocks");
    }
}

#[test]
fn code_lengths_that_are_no_complete_code_are_refused() {
    let lie = |change: fn(&mut [u8])| changed(&PLAIN, |parts| change(&mut parts.tables[1].code_lengths));
    let lies: [fn(&mut [u8]); 7] = [
        |lengths| lengths.fill(0),
        |lengths| lengths.fill(1),
        |lengths| lengths.fill(7),
        |lengths| lengths.fill(16),
        |lengths| lengths.fill(255),
        |lengths| lengths[3] += 1,
        |lengths| lengths[3] = 0,
    ];
    for lie_of in lies {
        assert_footer_damaged(&lie(lie_of), "table 1: its code lengths are not a complete code");
    }
    // A code that is complete, but not the one that the blocks were written with.
    let file = changed(&PLAIN, |parts| parts.tables[1].code_lengths.reverse());
    assert!(matches!(refused_as::<u64>(&file), Some(ReadErrorKind::Damaged { .. })));
}

#[test]
fn code_lengths_where_there_is_no_code_are_refused() {
    let complete = Parts::read(&PLAIN).tables[1].code_lengths.clone();
    let mut one = vec![0; 64];
    one[63] = 1;
    for lengths in [complete, one, vec![6; 64], vec![255; 64]] {
        let file = changed(&ELIAS_FANO, |parts| parts.tables[1].code_lengths = lengths);
        assert_footer_damaged(&file, "table 1: its code lengths");
    }
}

#[test]
fn files_that_claim_the_other_codec_are_refused() {
    // All that the footer says fits the other codec: only the blocks do not.
    let complete = Parts::read(&PLAIN).tables[0].code_lengths.clone();
    let as_huffman = changed(&ELIAS_FANO, |parts| {
        parts.codec = 1;
        parts.tables.iter_mut().for_each(|table| table.code_lengths = complete.clone());
    });
    let as_elias_fano = changed(&PLAIN, |parts| {
        parts.codec = 2;
        parts.tables.iter_mut().for_each(|table| table.code_lengths.fill(0));
    });
    for file in [as_huffman, as_elias_fano] {
        assert_damaged(&file, |place| matches!(place, Place::Block { .. }), "");
    }
}

#[test]
fn reserved_bytes_of_a_table_are_zero() {
    for byte in 0..4 {
        let at = field::TABLE + field::TABLE_RESERVED + byte;
        assert_footer_damaged(&file::with_footer(&PLAIN, at, &[1]), "reserved");
    }
}

#[test]
fn blocks_are_as_many_as_the_sections_hold() {
    for plain in plains() {
        let blocks = Parts::read(plain).tables[0].blocks.len() as u64;
        for lie in [0, 1, blocks - 1, blocks + 1, 1 << 32, 1 << 55, 1 << 60, u64::MAX] {
            let file = file::with_footer(plain, field::TABLE + field::TABLE_BLOCKS, &lie.to_le_bytes());
            assert_footer_damaged(&file, "");
        }
        // Blocks and keys both gone from one table, and from all.
        let bare = |tables: std::ops::Range<usize>| {
            changed(plain, |parts| {
                for table in &mut parts.tables[tables] {
                    table.blocks.clear();
                    table.keys.clear();
                }
            })
        };
        assert_footer_damaged(&bare(1..2), "number of blocks is impossible");
        assert_footer_damaged(&bare(0..2), "number of blocks is impossible");
        // The last block of a table gone.
        let file = changed(plain, |parts| {
            parts.tables[1].blocks.pop();
            parts.tables[1].keys.pop();
        });
        assert_damaged(&file, |place| place == Place::Table { table: 1 }, "entries");
        // A block more than there are fingerprints.
        let file = changed(&EMPTY, |parts| {
            parts.tables[0].blocks.push(vec![0; BLOCK_BYTES]);
            parts.tables[0].keys.push(0);
        });
        assert_footer_damaged(&file, "number of blocks is impossible");
    }
}

#[test]
fn sections_lie_where_the_counts_put_them() {
    for seed in seeds() {
        for section in file::sections(seed) {
            let at = section.record - file::footer(seed).0;
            let lies = [
                (at, 0u64.to_le_bytes()),
                (at, 7u64.to_le_bytes()),
                (at, (u64::from(section.kind % 6 + 1) | u64::from(section.table) << 32).to_le_bytes()),
                (at, (u64::from(section.kind) | u64::from(section.table + 1) << 32).to_le_bytes()),
                (at, (u64::from(section.kind) | 0xffff_ffff << 32).to_le_bytes()),
                (at + 8, 0u64.to_le_bytes()),
                (at + 8, (section.offset as u64 + 8).to_le_bytes()),
                (at + 8, (section.offset as u64 - 8).to_le_bytes()),
                (at + 8, (seed.len() as u64).to_le_bytes()),
                (at + 8, u64::MAX.to_le_bytes()),
                (at + 16, (section.length as u64 + 1).to_le_bytes()),
                (at + 16, (section.length as u64 + 4096).to_le_bytes()),
                (at + 16, (1u64 << 40).to_le_bytes()),
                (at + 16, u64::MAX.to_le_bytes()),
                (at + 16, (u64::MAX - 7).to_le_bytes()),
            ];
            // No count gives the lengths of names and metadata, so their contents are wrong then.
            let places = [Place::Footer, Place::Metadata, Place::NameDirectory, Place::Names];
            for (at, bytes) in lies {
                assert_damaged(&file::with_footer(seed, at, &bytes), |place| places.contains(&place), "");
            }
        }
    }
}

#[test]
fn sections_in_another_order_are_refused() {
    let sections = file::sections(&PLAIN);
    for pair in sections.windows(2) {
        let start = file::footer(&PLAIN).0;
        let swapped = [pair[1].record..pair[1].record + 24, pair[0].record..pair[0].record + 24];
        let bytes: Vec<u8> = swapped.into_iter().flat_map(|record| PLAIN[record].to_vec()).collect();
        assert_footer_damaged(&file::with_footer(&PLAIN, pair[0].record - start, &bytes), "in order");
    }
}

#[test]
fn a_trailer_that_points_elsewhere_is_refused() {
    let (offset, length) = file::footer(&PLAIN);
    let (offset, length) = (offset as u64, length as u64);
    let all = PLAIN.len() as u64;
    let lies = [
        (0, length),
        (offset - 8, length),
        (offset + 8, length),
        (offset + 8, length - 8),
        (offset, length - 1),
        (offset, length + 1),
        (offset, 0),
        (all - 32, 0),
        (all, 0),
        (offset, 1 << 40),
        (u64::MAX, length),
        (offset, u64::MAX),
        (u64::MAX, u64::MAX),
        (u64::MAX - 31, 32),
    ];
    for (offset, length) in lies {
        let mut file = PLAIN.clone();
        let at = file.len() - file::TRAILER_BYTES;
        file[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        file[at + 8..at + 16].copy_from_slice(&length.to_le_bytes());
        file::sign_trailer(&mut file);
        assert_damaged(&file, |place| [Place::Trailer, Place::Footer].contains(&place), "");
    }
    let mut file = PLAIN.clone();
    let at = file.len() - file::TRAILER_BYTES + 16;
    file[at] = 1;
    file::sign_trailer(&mut file);
    assert_damaged(&file, |place| place == Place::Trailer, "reserved");
}

#[test]
fn a_footer_that_is_longer_or_shorter_than_its_fields_is_refused() {
    for (seed, more) in
        seeds().into_iter().flat_map(|seed| [(seed, 8), (seed, -8), (seed, 4096), (seed, -400)])
    {
        let (offset, length) = file::footer(seed);
        let new_length = length.saturating_add_signed(more);
        let mut contents = seed[offset..offset + length].to_vec();
        contents.resize(new_length, 0);
        let mut file = seed[..offset].to_vec();
        file.extend(contents);
        file.resize(
            (offset + new_length.next_multiple_of(4) + 4 * new_length.div_ceil(4096)).next_multiple_of(8),
            0,
        );
        let mut trailer = seed[seed.len() - file::TRAILER_BYTES..].to_vec();
        trailer[8..16].copy_from_slice(&(new_length as u64).to_le_bytes());
        file.extend(trailer);
        file::sign_footer(&mut file);
        file::sign_trailer(&mut file);
        assert_footer_damaged(&file, if more > 0 { "too long" } else { "too short" });
    }
}
