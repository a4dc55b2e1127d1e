//! Whole units in the wrong place: each is intact, and its checksum is right where it belongs. Here
//! it is not.

use crate::common::file;
use crate::common::{Shape, built, built_with_ids, damaged_at, data};
use hamdex::{BuildOptions, Design, Index, Place};

fn options() -> BuildOptions<u64> {
    BuildOptions::new().block_bytes(512).design(Design::named("halves", 3).unwrap())
}

/// Two tables of several blocks each, with ids.
fn sample(seed: u64) -> (Vec<u64>, Vec<u8>) {
    let stored = data::<u64>(Shape::Uniform, 700, seed);
    let pairs: Vec<(u64, u64)> = (0..).zip(&stored).flat_map(|(n, &x)| [(x, n), (x, n + 1000)]).collect();
    (stored, built_with_ids(&pairs, options().metadata("recipe", seed.to_le_bytes())))
}

#[track_caller]
fn assert_refused(file: &[u8], at: impl Fn(Place) -> bool) {
    let outcome = Index::<u64>::from_bytes(file).and_then(|index| index.verify());
    assert!(outcome.as_ref().is_err_and(|error| damaged_at(error).is_some_and(at)), "{outcome:?}");
}

fn is_block(place: Place, of: usize) -> bool {
    matches!(place, Place::Block { table, .. } if table == of)
}

/// Checks that queries which read a misplaced block of a table fail: queried for every stored
/// fingerprint, some are, and none is answered wrongly.
fn assert_queries_notice(file: &[u8], stored: &[u64], of: usize) {
    let index = Index::<u64>::from_bytes(file).unwrap();
    let mut searcher = index.searcher();
    let mut noticed = 0;
    for &x in stored {
        match searcher.within(x, 3) {
            Ok(found) => assert!(found.iter().any(|m| m.fingerprint == x)),
            Err(error) => {
                assert!(damaged_at(&error).is_some_and(|place| is_block(place, of)), "{error}");
                noticed += 1;
            }
        }
        // Table 0 alone shows whether a fingerprint is stored.
        assert!(of != 0 || index.contains(x).unwrap_or(true));
    }
    assert!(noticed > 0);
}

#[test]
fn blocks_swapped_inside_a_table_are_refused() {
    let (stored, file) = sample(1);
    for table in [0, 1] {
        let blocks = file::section(&file, file::BLOCKS, table).length / 512;
        assert!(blocks > 4);
        for (a, b) in [(0, 1), (1, 2), (0, blocks - 1), (2, blocks - 2)] {
            let mut swapped = file.clone();
            let (a, b) = (file::block(&file, table, a), file::block(&file, table, b));
            swapped[a.clone()].copy_from_slice(&file[b.clone()]);
            swapped[b].copy_from_slice(&file[a]);
            assert_refused(&swapped, |place| is_block(place, table as usize));
            assert_queries_notice(&swapped, &stored, table as usize);
        }
    }
}

#[test]
fn a_block_in_place_of_another_is_refused() {
    let (stored, file) = sample(1);
    let mut copied = file.clone();
    copied[file::block(&file, 0, 3)].copy_from_slice(&file[file::block(&file, 0, 2)]);
    assert_refused(&copied, |place| matches!(place, Place::Block { table: 0, block: 3, .. }));
    assert_queries_notice(&copied, &stored, 0);
}

#[test]
fn blocks_swapped_between_tables_are_refused() {
    let (stored, file) = sample(1);
    for number in [0, 3] {
        let mut swapped = file.clone();
        let (a, b) = (file::block(&file, 0, number), file::block(&file, 1, number));
        swapped[a.clone()].copy_from_slice(&file[b.clone()]);
        swapped[b].copy_from_slice(&file[a]);
        assert_refused(&swapped, |place| is_block(place, 0));
        let mut only_second = file.clone();
        only_second[file::block(&file, 1, number)].copy_from_slice(&file[file::block(&file, 0, number)]);
        assert_refused(&only_second, |place| is_block(place, 1));
        assert_queries_notice(&only_second, &stored, 1);
    }
}

/// A file of the same shape: the same number of fingerprints and blocks, other contents.
fn alike(seed: u64) -> (Vec<u64>, Vec<u8>) {
    let stored = data::<u64>(Shape::Runs, 700, 4);
    let moved: Vec<u64> = stored.iter().map(|x| x ^ seed).collect();
    let file = built(&moved, options());
    (moved, file)
}

#[test]
fn blocks_from_another_file_are_refused() {
    // The lowest bit turned over in all fingerprints: all else stays as it was, even the sizes.
    let ((stored, file), (_, other)) = (alike(0), alike(1));
    assert_eq!(file.len(), other.len());
    assert_ne!(file::file_id(&file), file::file_id(&other));
    for table in [0, 1] {
        let mut mixed = file.clone();
        let blocks = file::section(&file, file::BLOCKS, table);
        let range = blocks.offset..blocks.offset + blocks.length;
        mixed[range.clone()].copy_from_slice(&other[range]);
        assert_refused(&mixed, |place| is_block(place, table as usize));
        assert_queries_notice(&mixed, &stored, table as usize);
        let mut mixed = file.clone();
        let one = file::block(&file, table, 1);
        mixed[one.clone()].copy_from_slice(&other[one]);
        assert_refused(&mixed, |place| {
            matches!(place, Place::Block { block: 1, .. }) && is_block(place, table as usize)
        });
        assert_queries_notice(&mixed, &stored, table as usize);
    }
}

/// Puts a stretch of another file of the same shape into one, checksums included.
fn graft(file: &[u8], other: &[u8], range: std::ops::Range<usize>) -> Vec<u8> {
    let mut mixed = file.to_vec();
    mixed[range.clone()].copy_from_slice(&other[range]);
    mixed
}

/// Returns the range of a section with its checksums.
fn whole(file: &[u8], kind: u32, table: u32) -> std::ops::Range<usize> {
    let sections = file::sections(file);
    let at = sections.iter().position(|s| (s.kind, s.table) == (kind, table)).unwrap();
    let end = sections.get(at + 1).map_or(file::footer(file).0, |next| next.offset);
    sections[at].offset..end
}

#[test]
fn keys_of_another_file_are_refused_when_the_file_is_opened() {
    let ((_, file), (_, other)) = (alike(0), alike(1));
    for table in [0, 1] {
        let mixed = graft(&file, &other, whole(&file, file::KEYS, table));
        let refused = Index::<u64>::from_bytes(&mixed).unwrap_err();
        assert!(damaged_at(&refused) == Some(Place::Keys { table: table as usize }), "{refused}");
    }
}

#[test]
fn keys_of_another_table_are_refused_when_the_file_is_opened() {
    let (_, file) = sample(1);
    let (first, second) = (whole(&file, file::KEYS, 0), whole(&file, file::KEYS, 1));
    assert_eq!(first.len(), second.len());
    let mut swapped = file.clone();
    swapped[first.clone()].copy_from_slice(&file[second.clone()]);
    swapped[second].copy_from_slice(&file[first]);
    let refused = Index::<u64>::from_bytes(&swapped).unwrap_err();
    assert_eq!(damaged_at(&refused), Some(Place::Keys { table: 0 }), "{refused}");
}

#[test]
fn footers_trailers_and_headers_of_another_file_are_refused_when_the_file_is_opened() {
    let ((_, file), (_, other)) = (alike(0), alike(1));
    let footer = file::footer(&file).0;
    let trailer = file.len() - file::TRAILER_BYTES;
    for (range, at) in [
        (footer..trailer, Place::Footer),
        (trailer..file.len(), Place::Trailer),
        (footer..file.len(), Place::Trailer),
        (0..file::PAGE, Place::Trailer),
    ] {
        let refused = Index::<u64>::from_bytes(graft(&file, &other, range)).unwrap_err();
        assert_eq!(damaged_at(&refused), Some(at), "{refused}");
    }
}

/// Two files with ids whose sections have the same lengths.
fn alike_with_ids(shift: u64) -> (Vec<u64>, Vec<u8>) {
    let stored = data::<u64>(Shape::Runs, 700, 4);
    let pairs: Vec<(u64, u64)> =
        (0..).zip(&stored).flat_map(|(n, &x)| [(x, n + shift), (x, n + 1000 + shift)]).collect();
    let metadata = shift.to_le_bytes();
    let file = built_with_ids(&pairs, options().metadata("recipe", metadata));
    (stored, file)
}

#[test]
fn ids_and_metadata_of_another_file_are_refused() {
    let ((stored, file), (_, other)) = (alike_with_ids(0), alike_with_ids(1));
    assert_eq!(file.len(), other.len());
    for (kind, at) in [
        (file::IDS, Place::Ids),
        (file::ID_STARTS, Place::IdStarts),
        (file::ID_DIRECTORY, Place::IdDirectory),
        (file::METADATA, Place::Metadata),
    ] {
        let mixed = graft(&file, &other, whole(&file, kind, 0));
        assert_refused(&mixed, |place| place == at);
        if kind != file::METADATA {
            let index = Index::<u64>::from_bytes(&mixed).unwrap();
            let refused = index.ids(stored[0]).map(Iterator::count).unwrap_err();
            assert_eq!(damaged_at(&refused), Some(at), "{refused}");
        }
    }
}

#[test]
fn pages_of_ids_in_the_wrong_order_are_refused() {
    let stored = data::<u64>(Shape::Uniform, 6000, 5);
    let pairs: Vec<(u64, u64)> = stored.iter().map(|&x| (x, x >> 20)).collect();
    let file = built_with_ids(&pairs, options());
    let ids = file::section(&file, file::IDS, 0);
    assert!(ids.length > 3 * file::PAGE);
    let (first, second) =
        (ids.offset..ids.offset + file::PAGE, ids.offset + file::PAGE..ids.offset + 2 * file::PAGE);
    let mut swapped = file.clone();
    swapped[first.clone()].copy_from_slice(&file[second.clone()]);
    swapped[second].copy_from_slice(&file[first]);
    // Their checksums move with them: the number of the page counts all the same.
    let checksums = ids.offset + ids.length.next_multiple_of(4);
    swapped[checksums..checksums + 4].copy_from_slice(&file[checksums + 4..checksums + 8]);
    swapped[checksums + 4..checksums + 8].copy_from_slice(&file[checksums..checksums + 4]);
    assert_refused(&swapped, |place| place == Place::Ids);
}
