//! Lies that are consistent: files whose checksums are all right and whose contents are not. Each is
//! refused when it is opened or by `verify`, with the place; a query on one gives some answer or an
//! error, and takes no memory to speak of.
//!
//! In a separate test binary, since the largest allocation is that of the whole process.
//!
//! - [`footer`]: header, footer, sections and trailer
//! - [`designs`]: masks, radii and distances
//! - [`blocks`]: keys, and blocks of any codec
//! - [`huffman`], [`elias_fano`]: blocks of one codec
//! - [`ids`]: ids and metadata
//! - [`names`]: names of ids

mod blocks;
#[path = "../common/mod.rs"]
mod common;
mod designs;
mod elias_fano;
mod footer;
mod huffman;
mod ids;
mod names;

use std::sync::LazyLock;

use common::allocations::{Watching, largest};
use common::ask::ask;
use common::file::{self, Parts};
use common::{Shape, built, built_with_ids, built_with_names, data, queries};
use hamdex::inspect::reference::{Coding, fingerprints, read_block, write_block};
use hamdex::{
    BuildOptions, Checksums, Codec, Design, Fingerprint, Index, OpenOptions, Place, ReadError, ReadErrorKind,
};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// No file here is larger than 64 KiB; nothing that one says may take a thousand times as much.
const MAX_BYTES: usize = 16 << 20;

const BLOCK_BYTES: usize = 512;

fn options<F: Fingerprint>(name: &str, distance: u32) -> BuildOptions<F> {
    BuildOptions::new().block_bytes(BLOCK_BYTES).design(Design::named(name, distance).unwrap())
}

/// Two tables of several blocks, without ids.
static PLAIN: LazyLock<Vec<u8>> = LazyLock::new(|| plain(Codec::Huffman));

/// The same by the other codec.
static ELIAS_FANO: LazyLock<Vec<u8>> = LazyLock::new(|| plain(Codec::EliasFano));

fn plain(codec: Codec) -> Vec<u8> {
    let options = options("halves", 3).codec(codec).metadata("a", "1").metadata("b", "2");
    built(&data::<u64>(Shape::Mixed, 800, 1), options)
}

/// A file of each codec, with the same contents.
fn plains() -> [&'static [u8]; 2] {
    [&PLAIN, &ELIAS_FANO]
}

/// One table, one id for each fingerprint, in order, and three bits to spare at the end.
static SINGLE_IDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let stored = data::<u64>(Shape::Uniform, 333, 2);
    let pairs: Vec<(u64, u64)> = stored.into_iter().zip(100..).collect();
    built_with_ids(&pairs, options("single", 1))
});

/// One table, up to four ids for each fingerprint, and the other codec.
static MANY_IDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let stored = data::<u64>(Shape::Uniform, 301, 3);
    let pairs = (0..).zip(stored).flat_map(|(n, x)| (0..=n % 4).map(move |i| (x, 1000 * i + n)));
    built_with_ids(&pairs.collect::<Vec<_>>(), options("single", 1).codec(Codec::EliasFano))
});

/// One table, and a name for each id, of which some are missing in between.
static NAMED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let pairs: Vec<(u64, u64)> = data(Shape::Uniform, 200, 6).into_iter().zip((0..).step_by(3)).collect();
    let names = pairs.iter().map(|&(_, id)| (id, format!("document {id}").into_bytes())).collect();
    built_with_names(&pairs, &names, options("single", 1))
});

static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| built::<u64>(&[], options("single", 3)));

fn seeds() -> [&'static [u8]; 6] {
    [&PLAIN, &ELIAS_FANO, &SINGLE_IDS, &MANY_IDS, &NAMED, &EMPTY]
}

/// Opens, asks and verifies, in every way there is; gives the refusal.
fn refusal<F: Fingerprint>(file: &[u8]) -> Option<ReadError> {
    let outcome = match Index::<F>::from_bytes(file) {
        Err(error) => Some(error),
        Ok(index) => {
            for query in queries::<F>(&[], 4, 7) {
                let _ = ask(&index, query);
            }
            // The result of `verify` does not depend on earlier accesses.
            let fresh = Index::<F>::from_bytes(file).unwrap().verify();
            let outcome = index.verify();
            assert_eq!(outcome.as_ref().err().map(ToString::to_string), fresh.err().map(|e| e.to_string()));
            outcome.err()
        }
    };
    for checksums in [Checksums::Always, Checksums::UpFront] {
        if let Ok(index) = OpenOptions::new().checksums(checksums).from_bytes::<F>(file) {
            let _ = ask(&index, F::ONES);
        }
    }
    assert!(largest() < MAX_BYTES, "{} bytes at once", largest());
    outcome
}

/// The defect of a rejected file.
fn refused_as<F: Fingerprint>(file: &[u8]) -> Option<ReadErrorKind> {
    refusal::<F>(file).map(ReadError::into_kind)
}

/// That a file is refused as damaged, where, and with a message that says what.
#[track_caller]
fn assert_damaged(file: &[u8], at: impl Fn(Place) -> bool, saying: &str) {
    match refused_as::<u64>(file) {
        Some(ReadErrorKind::Damaged { place, what }) => {
            assert!(at(place) && what.contains(saying), "{place:?}: {what}");
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_footer_damaged(file: &[u8], saying: &str) {
    assert_damaged(file, |place| place == Place::Footer, saying);
}

/// `seed` with changes to its contents.
fn changed(seed: &[u8], change: impl FnOnce(&mut Parts)) -> Vec<u8> {
    let mut parts = Parts::read(seed);
    change(&mut parts);
    parts.bytes()
}

fn in_block(table: usize, block: u64) -> impl Fn(Place) -> bool {
    move |place| matches!(place, Place::Block { table: t, block: b, .. } if (t, b) == (table, block))
}

/// The coding of a table's blocks.
fn coding(parts: &Parts, table: usize) -> Coding<'_> {
    match parts.codec {
        1 => Coding::Huffman { code_lengths: &parts.tables[table].code_lengths },
        2 => Coding::EliasFano,
        other => panic!("codec {other} is not in format-spec.md"),
    }
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
    for codec in Codec::ALL {
        let wide = built(&data::<u128>(Shape::Mixed, 900, 1), options("thirds", 4).codec(codec));
        assert_eq!(Parts::read(&wide).bytes(), wide);
        assert!(refusal::<u128>(&wide).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Any bytes of the footer changed, and signed anew: refused, or a file that means something else
    /// and holds together all the same.
    #[test]
    fn a_footer_of_lies_never_does_harm(
        pick in 0usize..6,
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
        pick in 0usize..5,
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
