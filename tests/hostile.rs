//! Lies that are consistent: files whose checksums are all right and whose contents are not. Each is
//! refused when it is opened or by `verify`, with the place; a query on one gives some answer or an
//! error, and takes no memory to speak of.

mod common;

use std::sync::LazyLock;

use common::allocations::{Watching, largest};
use common::ask::ask;
use common::file::{self, Parts, field};
use common::{Shape, built, built_with_ids, data, queries};
use hamdex::reference::{Coding, FieldKind, fingerprints, read_block, write_block};
use hamdex::{BuildOptions, Checksums, Design, Fingerprint, Index, OpenOptions, Place, ReadError};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// No file here is larger than 64 KiB; nothing that one says may take a thousand times as much.
const MOST_BYTES: usize = 16 << 20;

const BLOCK_BYTES: usize = 512;

fn options<F: Fingerprint>(name: &str, distance: u32) -> BuildOptions<F> {
    BuildOptions::new().block_bytes(BLOCK_BYTES).design(Design::named(name, distance).unwrap())
}

/// Two tables of several blocks, without ids.
static PLAIN: LazyLock<Vec<u8>> = LazyLock::new(|| {
    built(&data::<u64>(Shape::Mixed, 800, 1), options("halves", 3).metadata("a", "1").metadata("b", "2"))
});

/// One table, one id for each fingerprint, in order, and three bits to spare at the end.
static SINGLE_IDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let stored = data::<u64>(Shape::Uniform, 333, 2);
    let pairs: Vec<(u64, u64)> = stored.into_iter().zip(100..).collect();
    built_with_ids(&pairs, options("single", 1))
});

/// One table, up to four ids for each fingerprint.
static MANY_IDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let stored = data::<u64>(Shape::Uniform, 301, 3);
    let pairs = (0..).zip(stored).flat_map(|(n, x)| (0..=n % 4).map(move |i| (x, 1000 * i + n)));
    built_with_ids(&pairs.collect::<Vec<_>>(), options("single", 1))
});

static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| built::<u64>(&[], options("single", 3)));

fn seeds() -> [&'static [u8]; 4] {
    [&PLAIN, &SINGLE_IDS, &MANY_IDS, &EMPTY]
}

/// Opens, asks and verifies, in every way there is; gives the refusal.
fn refusal<F: Fingerprint>(file: &[u8]) -> Option<ReadError> {
    let outcome = match Index::<F, _>::from_bytes(file) {
        Err(error) => Some(error),
        Ok(index) => {
            for query in queries::<F>(&[], 4, 7) {
                let _ = ask(&index, query);
            }
            // What `verify` says does not hang on what has been touched before.
            let fresh = Index::<F, _>::from_bytes(file).unwrap().verify();
            let outcome = index.verify();
            assert_eq!(outcome.as_ref().err().map(ToString::to_string), fresh.err().map(|e| e.to_string()));
            outcome.err()
        }
    };
    for checksums in [Checksums::Always, Checksums::UpFront] {
        if let Ok(index) = OpenOptions::new().checksums(checksums).from_bytes::<F, _>(file) {
            let _ = ask(&index, F::ONES);
        }
    }
    assert!(largest() < MOST_BYTES, "{} bytes at once", largest());
    outcome
}

/// That a file is refused as damaged, where, and with a message that says what.
#[track_caller]
fn assert_damaged(file: &[u8], at: impl Fn(Place) -> bool, saying: &str) {
    match refusal::<u64>(file) {
        Some(ReadError::Damaged { place, what }) => {
            assert!(at(place) && what.contains(saying), "{place:?}: {what}");
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_footer_damaged(file: &[u8], saying: &str) {
    assert_damaged(file, |place| place == Place::Footer, saying);
}

/// `seed` with changes to what it says.
fn changed(seed: &[u8], change: impl FnOnce(&mut Parts)) -> Vec<u8> {
    let mut parts = Parts::read(seed);
    change(&mut parts);
    parts.bytes()
}

fn in_block(table: usize, block: u64) -> impl Fn(Place) -> bool {
    move |place| matches!(place, Place::Block { table: t, block: b, .. } if (t, b) == (table, block))
}

/// How the blocks of a table are coded.
fn coding(parts: &Parts, table: usize) -> Coding<'_> {
    let code_lengths = &parts.tables[table].code_lengths;
    Coding::Huffman { code_lengths, restart_interval: usize::from(parts.restart_interval) }
}

/// The entries of a block, in the table's order of bits.
fn entries(parts: &Parts, table: usize, block: usize) -> Vec<u64> {
    fingerprints(&read_block(&parts.tables[table].blocks[block], coding(parts, table)).unwrap())
}

/// Writes a block anew with these entries.
fn set_entries(parts: &mut Parts, table: usize, block: usize, values: &[u64]) {
    let bytes = write_block(values, coding(parts, table), BLOCK_BYTES).unwrap();
    parts.tables[table].blocks[block] = bytes;
}

#[test]
fn a_file_put_together_by_the_tests_is_the_one_that_the_library_writes() {
    for seed in seeds() {
        assert_eq!(Parts::read(seed).bytes(), seed);
        assert!(refusal::<u64>(seed).is_none());
    }
    let wide = built(&data::<u128>(Shape::Mixed, 900, 1), options("thirds", 4));
    assert_eq!(Parts::read(&wide).bytes(), wide);
    assert!(refusal::<u128>(&wide).is_none());
}

#[test]
fn headers_of_other_versions_and_features_are_told_apart() {
    let with = |at: usize, byte: u8| changed(&PLAIN, |parts| parts.header[at] = byte);
    assert!(matches!(refusal::<u64>(&with(0, b'H')), Some(ReadError::NotHamdex)));
    assert!(matches!(refusal::<u64>(&with(8, 2)), Some(ReadError::TooNew { found: 2, supported: 1 })));
    assert!(matches!(refusal::<u64>(&with(9, 255)), Some(ReadError::TooNew { found: 0xff01, .. })));
    assert!(matches!(refusal::<u64>(&with(8, 0)), Some(ReadError::TooOld { found: 0, supported: 1 })));
    assert!(matches!(refusal::<u64>(&with(16, 1)), Some(ReadError::UnknownFeatures { bits: 1 })));
    assert!(matches!(
        refusal::<u64>(&with(23, 0x80)),
        Some(ReadError::UnknownFeatures { bits: 0x8000_0000_0000_0000 })
    ));
    for reserved in [12, 15, 48, 59] {
        assert_damaged(&with(reserved, 1), |place| place == Place::Header, "reserved");
    }
    // A later minor version and optional features are for readers to pass over.
    for passed_over in [10, 24, 31] {
        assert!(refusal::<u64>(&with(passed_over, 1)).is_none(), "{passed_over}");
    }
}

#[test]
fn another_width_is_refused_as_such() {
    assert!(matches!(refusal::<u128>(&PLAIN), Some(ReadError::Width { found: 64, asked: 128 })));
    for width in [0u32, 1, 32, 96, 127, 129, u32::MAX] {
        let file = file::with_footer(&PLAIN, field::WIDTH, &width.to_le_bytes());
        assert_footer_damaged(&file, "width");
    }
    // The same bytes as 128-bit fingerprints: the tables' records have another length then.
    let file = file::with_footer(&PLAIN, field::WIDTH, &128u32.to_le_bytes());
    assert!(matches!(refusal::<u128>(&file), Some(ReadError::Damaged { place: Place::Footer, .. })));
}

#[test]
fn fields_of_the_footer_out_of_their_range_are_refused() {
    let plain = |at, bytes: &[u8], saying: &str| {
        assert_footer_damaged(&file::with_footer(&PLAIN, at, bytes), saying);
    };
    for codec in [0, 2, 255] {
        plain(field::CODEC, &[codec], "codec");
    }
    for log2 in [0, 8, 14, 63, 64, 255] {
        plain(field::BLOCK_LOG2, &[log2], "block size");
    }
    plain(field::RESTART_INTERVAL, &[0, 0], "restart interval");
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
    let stored = Parts::read(&PLAIN).fingerprints;
    for count in [0, 1, stored - 1, stored + 1, 1 << 20, 1 << 40, u64::MAX] {
        let file = file::with_footer(&PLAIN, field::FINGERPRINTS, &count.to_le_bytes());
        assert_footer_damaged(&file, "");
        // Now with counts that agree with it, as far as they can.
        let file = changed(&PLAIN, |parts| {
            parts.fingerprints = count;
            for table in &mut parts.tables {
                table.counts = vec![0; 64];
                table.counts[9] = count.saturating_sub(1);
            }
        });
        let refusal = refusal::<u64>(&file);
        assert!(matches!(refusal, Some(ReadError::Damaged { .. })), "{count}: {refusal:?}");
    }
    let one = file::with_footer(&EMPTY, field::FINGERPRINTS, &1u64.to_le_bytes());
    assert_footer_damaged(&one, "blocks");
}

#[test]
fn counts_of_first_differing_positions_are_counted_again() {
    // The sum is right: only counting tells.
    let file = changed(&PLAIN, |parts| {
        let counts = &mut parts.tables[1].counts;
        let from = counts.iter().position(|&count| count > 0).unwrap();
        counts[from] -= 1;
        counts[63 - from] += 1;
    });
    assert_damaged(&file, |place| place == Place::Table { table: 1 }, "first differing positions");
    let file = changed(&PLAIN, |parts| parts.tables[0].counts[5] += 1);
    assert_footer_damaged(&file, "counts do not sum");
    let file = changed(&PLAIN, |parts| {
        parts.tables[0].counts[5] = u64::MAX;
        parts.tables[0].counts[6] = u64::MAX;
    });
    assert_footer_damaged(&file, "counts do not sum");
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
        assert_footer_damaged(&lie(lie_of), "table 1: its code lengths make no complete code");
    }
    // A code that is complete, but not the one that the blocks were written with.
    let file = changed(&PLAIN, |parts| parts.tables[1].code_lengths.reverse());
    assert!(matches!(refusal::<u64>(&file), Some(ReadError::Damaged { .. })));
}

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
    // One bit fewer leads table 1: a larger prefix is covered all the more, and the order is another.
    let file = changed(&PLAIN, |parts| parts.tables[1].mask = 0x7fff_fffe);
    assert_damaged(&file, |place| place == Place::Table { table: 1 }, "other fingerprints than table 0");
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
    let blocks = Parts::read(&PLAIN).tables[0].blocks.len() as u64;
    for lie in [0, 1, blocks - 1, blocks + 1, 1 << 32, 1 << 55, 1 << 60, u64::MAX] {
        let file = file::with_footer(&PLAIN, field::TABLE + field::TABLE_BLOCKS, &lie.to_le_bytes());
        assert_footer_damaged(&file, "");
    }
    // Blocks and keys both gone from one table, and from all.
    let bare = |tables: std::ops::Range<usize>| {
        changed(&PLAIN, |parts| {
            for table in &mut parts.tables[tables] {
                table.blocks.clear();
                table.keys.clear();
            }
        })
    };
    assert_footer_damaged(&bare(1..2), "number of blocks is impossible");
    assert_footer_damaged(&bare(0..2), "number of blocks is impossible");
    // The last block of a table gone.
    let file = changed(&PLAIN, |parts| {
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
            for (at, bytes) in lies {
                assert_damaged(
                    &file::with_footer(seed, at, &bytes),
                    |place| [Place::Footer, Place::Metadata].contains(&place),
                    "",
                );
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

#[test]
fn keys_out_of_order_are_refused() {
    let keys_of = |table| move |place| place == Place::Keys { table };
    let file = changed(&PLAIN, |parts| parts.tables[1].keys.swap(0, 1));
    assert_damaged(&file, keys_of(1), "ascending");
    let file = changed(&PLAIN, |parts| parts.tables[0].keys[1] = parts.tables[0].keys[0]);
    assert_damaged(&file, keys_of(0), "ascending");
    let file = changed(&PLAIN, |parts| *parts.tables[1].keys.last_mut().unwrap() = 0);
    assert_damaged(&file, keys_of(1), "ascending");
}

#[test]
fn keys_that_are_not_the_last_entries_are_refused() {
    for table in 0..2 {
        for block in 0..Parts::read(&PLAIN).tables[table].keys.len() {
            for change in [|key: &mut u128| *key -= 1, |key: &mut u128| *key ^= 1] {
                let file = changed(&PLAIN, |parts| change(&mut parts.tables[table].keys[block]));
                assert_damaged(&file, in_block(table, block as u64), "key");
            }
        }
    }
}

#[test]
fn impossible_entry_counts_of_a_block_are_refused() {
    let right = Parts::read(&PLAIN).tables[0].blocks[1][4];
    let counts =
        [0, 1, u16::from(right) - 1, u16::from(right) + 1, 127, 128, 129, 4096, 4097, 32_768, u16::MAX];
    for count in counts.into_iter().filter(|&count| count != u16::from(right)) {
        let file =
            changed(&PLAIN, |parts| parts.tables[0].blocks[1][4..6].copy_from_slice(&count.to_le_bytes()));
        assert_damaged(&file, in_block(0, 1), "");
    }
}

#[test]
fn wrong_spare_bits_of_a_block_are_refused() {
    let right = u16::from_le_bytes(Parts::read(&PLAIN).tables[0].blocks[1][6..8].try_into().unwrap());
    for spare in [right + 1, right.wrapping_sub(1), right ^ 0x100, 4096, 4097, u16::MAX] {
        let file =
            changed(&PLAIN, |parts| parts.tables[0].blocks[1][6..8].copy_from_slice(&spare.to_le_bytes()));
        assert_damaged(&file, in_block(0, 1), "");
    }
}

#[test]
fn bits_after_the_last_entry_of_a_block_are_zero() {
    let parts = Parts::read(&PLAIN);
    let mut seen = 0;
    for (number, block) in parts.tables[0].blocks.iter().enumerate() {
        let fields = read_block::<u64>(block, coding(&parts, 0)).unwrap();
        let padding = fields.last().filter(|field| field.kind == FieldKind::Padding).unwrap();
        for bit in [padding.bits.start, padding.bits.end - 1] {
            if padding.bits.contains(&bit) {
                seen += 1;
                let file =
                    changed(&PLAIN, |parts| parts.tables[0].blocks[number][bit / 8] ^= 0x80 >> (bit % 8));
                assert_damaged(&file, in_block(0, number as u64), "bits after its last entry");
            }
        }
    }
    assert!(seen > 2, "some blocks have bits to spare");
}

/// A file whose first block of table 0 has several segments.
fn many_segments() -> Vec<u8> {
    let runs: Vec<u64> = (0..3000).collect();
    let file = built(&runs, options("single", 1));
    let count = u16::from_le_bytes(Parts::read(&file).tables[0].blocks[0][4..6].try_into().unwrap());
    assert!(count > 3 * 128, "{count}");
    file
}

#[test]
fn segments_that_start_out_of_order_or_outside_are_refused() {
    let file = many_segments();
    let parts = Parts::read(&file);
    let count = usize::from(u16::from_le_bytes(parts.tables[0].blocks[0][4..6].try_into().unwrap()));
    let starts = 8 + 8 * count.div_ceil(128);
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
        assert_damaged(&lie, in_block(0, 0), "segment");
    }
}

#[test]
fn entries_that_do_not_ascend_are_refused() {
    // Only raw fingerprints can break the order: an entry told by h is always above the one before.
    let file = many_segments();
    let parts = Parts::read(&file);
    let values = entries(&parts, 0, 0);
    for lie in [values[127], values[126], 0, values[0]] {
        let file =
            changed(&file, |parts| parts.tables[0].blocks[0][16..24].copy_from_slice(&lie.to_le_bytes()));
        assert_damaged(&file, in_block(0, 0), "ascending");
    }
    // A block that starts where the one before it ends, and one that starts before that.
    for first in [parts.tables[0].keys[0] as u64, 5] {
        let file = changed(&file, |parts| {
            let mut values = entries(parts, 0, 1);
            values[0] = first;
            set_entries(parts, 0, 1, &values);
        });
        assert_damaged(&file, in_block(0, 1), "ascending");
    }
}

#[test]
fn blocks_of_garbage_are_refused() {
    let parts = Parts::read(&PLAIN);
    for (number, seed) in (0..parts.tables[0].blocks.len()).zip(50..) {
        for keep in [4, 6, 8, 16, 100, 400] {
            let file = changed(&PLAIN, |parts| {
                let mut numbers = common::Numbers(seed);
                parts.tables[0].blocks[number][keep..].fill_with(|| numbers.word() as u8);
            });
            assert_damaged(&file, in_block(0, number as u64), "");
        }
        let file = changed(&PLAIN, |parts| parts.tables[0].blocks[number].fill(0));
        assert_damaged(&file, in_block(0, number as u64), "count");
        let file = changed(&PLAIN, |parts| parts.tables[0].blocks[number].fill(255));
        assert_damaged(&file, in_block(0, number as u64), "");
    }
}

#[test]
fn tables_that_hold_different_sets_are_refused() {
    // The lowest bit of an entry far from both its neighbours: all counts stay as they were.
    let parts = Parts::read(&PLAIN);
    let (block, at, values) = (0..parts.tables[1].blocks.len())
        .find_map(|block| {
            let values = entries(&parts, 1, block);
            let room = |w: &[u64]| w[1] & 1 == 0 && w[1] - w[0] > 8 && w[2] - w[1] > 8;
            let at = values.windows(3).position(room)?;
            Some((block, at + 1, values))
        })
        .unwrap();
    let file = changed(&PLAIN, |parts| {
        let mut values = values.clone();
        values[at] += 1;
        set_entries(parts, 1, block, &values);
    });
    assert_damaged(&file, |place| place == Place::Table { table: 1 }, "other fingerprints than table 0");
}

#[test]
fn ids_out_of_order_are_refused() {
    let seed = &MANY_IDS;
    let parts = Parts::read(seed);
    let ids = parts.ids.as_ref().unwrap();
    // All ids alike: those of one fingerprint do not ascend.
    let file = changed(seed, |parts| parts.ids.as_mut().unwrap().ids.fill(0));
    assert_damaged(&file, |place| place == Place::Ids, "out of order");
    // The greatest ones beyond 64 bits.
    for seed in [&*SINGLE_IDS, seed] {
        let file = changed(seed, |parts| parts.ids.as_mut().unwrap().base = u64::MAX - 3);
        assert_damaged(&file, |place| place == Place::Ids, "64 bits");
    }
    assert!(ids.count > parts.fingerprints);
}

#[test]
fn id_bits_and_counts_that_do_not_fit_the_sections_are_refused() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let parts = Parts::read(seed);
        let ids = parts.ids.unwrap();
        for bits in [0, 1, ids.bits - 1, ids.bits + 1, 64, 65, 255] {
            assert_footer_damaged(&file::with_footer(seed, field::ID_BITS, &[bits]), "");
        }
        for count in [0, 1, parts.fingerprints - 1, ids.count + 8, 1 << 40, 1 << 61, u64::MAX] {
            assert_footer_damaged(&file::with_footer(seed, field::ID_COUNT, &count.to_le_bytes()), "");
        }
        // A width of no bits, with a section of that length, and as many ids as one likes.
        let file = changed(seed, |parts| {
            let ids = parts.ids.as_mut().unwrap();
            (ids.bits, ids.ids) = (0, Vec::new());
        });
        let refusal = refusal::<u64>(&file);
        let single = ids.count == parts.fingerprints;
        assert_eq!(refusal.is_none(), single, "the same id for each is no lie: {refusal:?}");
    }
    // More ids than fingerprints, without marks for them: the marks' length does not fit.
    let file = changed(&SINGLE_IDS, |parts| {
        let ids = parts.ids.as_mut().unwrap();
        (ids.bits, ids.ids, ids.count) = (0, Vec::new(), 1 << 62);
    });
    assert_footer_damaged(&file, "");
}

#[test]
fn marks_that_are_more_or_fewer_than_fingerprints_are_refused() {
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        changed(&MANY_IDS, |parts| change(&mut parts.ids.as_mut().unwrap().starts))
    };
    let in_marks = |place| [Place::Ids, Place::IdStarts, Place::IdDirectory].contains(&place);
    assert_damaged(&change(&|starts| starts.fill(0)), in_marks, "");
    assert_damaged(&change(&|starts| starts[0] &= 0x7f), in_marks, "");
    assert_damaged(&change(&|starts| starts[5] = 0), in_marks, "");
    assert_damaged(&change(&|starts| starts[5] = 0xff), in_marks, "");
    let count = Parts::read(&MANY_IDS).ids.unwrap().count;
    assert_ne!(count % 8, 0, "some bits are to spare");
    assert_damaged(
        &change(&|starts| *starts.last_mut().unwrap() |= 1),
        |place| place == Place::IdStarts,
        "after its end",
    );
}

#[test]
fn bits_after_the_last_id_are_zero() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let ids = Parts::read(seed).ids.unwrap();
        assert_ne!(ids.count * u64::from(ids.bits) % 8, 0, "some bits are to spare");
        let file = changed(seed, |parts| *parts.ids.as_mut().unwrap().ids.last_mut().unwrap() |= 1);
        assert_damaged(&file, |place| place == Place::Ids, "after its end");
    }
}

#[test]
fn an_id_directory_that_leads_elsewhere_is_refused() {
    for seed in [&*SINGLE_IDS, &*MANY_IDS] {
        let ids = Parts::read(seed).ids.unwrap();
        for block in 0..ids.directory.len() {
            let right = ids.directory[block];
            let lies = [
                0,
                1,
                right + 1,
                right.wrapping_sub(1),
                ids.count - 1,
                ids.count,
                ids.count + 1,
                1 << 40,
                u64::MAX,
            ];
            for lie in lies.into_iter().filter(|&lie| lie != right) {
                let file = changed(seed, |parts| parts.ids.as_mut().unwrap().directory[block] = lie);
                assert_damaged(&file, |place| place == Place::IdDirectory, "");
                // Every stored fingerprint asks its way through the directory; none finds what is not there.
                let index = Index::<u64, _>::from_bytes(&file).unwrap();
                for entry in entries(&Parts::read(seed), 0, block) {
                    if let Ok(found) = index.ids(entry) {
                        assert!(found.len() as u64 <= ids.count);
                        assert_eq!(found.len(), found.count());
                    }
                }
            }
        }
    }
}

#[test]
fn metadata_that_is_no_list_of_names_and_values_is_refused() {
    let entry = |name: &[u8], value: &[u8]| {
        let lengths = [(name.len() as u32).to_le_bytes(), (value.len() as u32).to_le_bytes()].concat();
        [&lengths, name, value].concat()
    };
    let right = entry(b"b", b"2");
    let lies = [
        vec![1],
        vec![0; 7],
        vec![255; 8],
        right[..right.len() - 1].to_vec(),
        [&right[..], &[0]].concat(),
        [&right[..], &right[..]].concat(),
        [&right[..], &entry(b"a", b"")[..]].concat(),
        entry(b"\xff", b""),
        [&u32::MAX.to_le_bytes()[..], &[0; 4], b"abc"].concat(),
        [&[0; 4][..], &u32::MAX.to_le_bytes(), b"abc"].concat(),
    ];
    for lie in lies {
        let file = changed(&PLAIN, |parts| parts.metadata = lie);
        assert_damaged(&file, |place| place == Place::Metadata, "");
    }
    assert!(refusal::<u64>(&changed(&PLAIN, |parts| parts.metadata = right.clone())).is_none());
}

/// An empty index with so many tables more, their masks at random.
fn many_tables(tables: usize, lead: u32, distance: u32, radius: u32) -> Vec<u8> {
    let mut numbers = common::Numbers(77);
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
    let index = Index::<u64, _>::from_bytes(&file).unwrap();
    index.verify().unwrap();
    let mut searcher = index.searcher();
    for distance in [0, 5, 11, 12, 13, 16, 24, 40, 64] {
        assert!(searcher.within(5, distance).unwrap().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any bytes of the footer changed, and signed anew: refused, or a file that means something else
    /// and holds together all the same.
    #[test]
    fn a_footer_of_lies_never_does_harm(
        pick in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut file = seeds()[pick].to_vec();
        let (start, length) = file::footer(&file);
        for (at, byte) in changes {
            file[start + at.index(length)] = byte;
        }
        file::sign_footer(&mut file);
        let _ = refusal::<u64>(&file);
        let _ = refusal::<u128>(&file);
    }

    /// The same for the contents of blocks and of all sections.
    #[test]
    fn contents_of_lies_never_do_harm(
        pick in 0usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut file = seeds()[pick].to_vec();
        for (section, at, byte) in changes {
            let sections: Vec<_> = file::sections(&file).into_iter().filter(|s| s.length > 0).collect();
            let section = sections[section.index(sections.len())];
            file[section.offset + at.index(section.length)] = byte;
            if section.kind == file::BLOCKS {
                for block in 0..section.length / BLOCK_BYTES {
                    file::sign_block(&mut file, section.table, block);
                }
            } else {
                file::sign_section(&mut file, section.kind, section.table);
            }
        }
        let _ = refusal::<u64>(&file);
    }
}
