//! Blocks of any bits under right checksums: what the reference codec reads of them is what the engine finds in them,
//! and what it refuses, the engine refuses.

use std::sync::LazyLock;

use arbitrary::Unstructured;
use hamdex::inspect::reference::{Coding, fingerprints, read_block, write_block};
use hamdex::{BuildOptions, Codec, Design, Fingerprint, Index, VerifyOptions};

use crate::choose::{below, flag};
use crate::common::file::Parts;
use crate::common::{Numbers, Shape, brute_force, built, data, pairs};

const BLOCK_BYTES: usize = 512;

/// Half of a block without its checksum.
const MAX_HALF: usize = (BLOCK_BYTES - 4) / 2;

/// A file of one block per codec and width.
static FILES: LazyLock<[Parts; 4]> = LazyLock::new(|| {
    let narrow = |codec| Parts::read(&built(&data::<u64>(Shape::Uniform, 20, 1), options(codec)));
    let wide = |codec| Parts::read(&built(&data::<u128>(Shape::Uniform, 20, 1), options(codec)));
    let [a, b] = [Codec::Huffman, Codec::EliasFano];
    [narrow(a), wide(a), narrow(b), wide(b)]
});

/// Puts the input into a file as its one block.
pub fn run(input: &[u8]) {
    let mut bytes = Unstructured::new(input);
    let codec = Codec::ALL[below(&mut bytes, 2)];
    if flag(&mut bytes) { of_width::<u128>(codec, bytes) } else { of_width::<u64>(codec, bytes) }
}

fn of_width<F: Fingerprint>(codec: Codec, mut bytes: Unstructured<'_>) {
    let mut parts = file::<F>(codec).clone();
    let mut block = std::mem::take(&mut parts.tables[0].blocks[0]);
    // A good block with some bytes changed, or nothing but the input.
    if flag(&mut bytes) {
        while !bytes.is_empty() {
            let at = 4 + below(&mut bytes, BLOCK_BYTES - 4);
            block[at] = bytes.arbitrary().unwrap_or(0);
        }
    } else {
        let rest = bytes.take_rest();
        let (front, back) = rest.split_at(rest.len() / 2);
        let (front, back) = (&front[..front.len().min(MAX_HALF)], &back[..back.len().min(MAX_HALF)]);
        block[4..].fill(0);
        block[4..][..front.len()].copy_from_slice(front);
        let end = block.len() - back.len();
        block[end..].copy_from_slice(back);
    }
    let lengths = parts.tables[0].code_lengths.clone();
    let read = read_block::<F>(&block, coding(codec, &lengths)).map(|fields| fingerprints(&fields));
    // Key, number and counts as the block has them, so that nothing else is wrong.
    if let Ok(entries) = &read {
        let table = &mut parts.tables[0];
        table.keys[0] = entries.last().map_or(0, |last| last.to_u128());
        parts.fingerprints = entries.len() as u64;
        table.counts.fill(0);
        for neighbours in entries.windows(2) {
            if let Some(count) = table.counts.get_mut(neighbours[0].first_difference(neighbours[1]) as usize)
            {
                *count += 1;
            }
        }
    }
    parts.tables[0].blocks[0] = block;
    let file = parts.bytes();
    let index = match Index::<F>::from_bytes(file.as_slice()) {
        Ok(index) => index,
        // Equal neighbours have no place among the counts.
        Err(error) => return assert!(read.is_err() || !is_ascending(&read), "{error}"),
    };
    let verified = index.verify_with(&VerifyOptions::new().threads(1));
    let is_right = verified.is_ok();
    assert_eq!(is_right, read.is_ok() && is_ascending(&read), "{verified:?}");
    let entries = read.unwrap_or_default();
    let mut numbers = Numbers(1);
    let mut searcher = index.searcher();
    for query in [F::ZERO, F::ONES, numbers.near(entries.first().copied().unwrap_or_default(), 3)] {
        for distance in [0, 2, 7, F::BITS] {
            let found = searcher.within(query, distance);
            if is_right {
                assert_eq!(pairs(found.unwrap()), brute_force(&entries, query, distance));
            }
        }
    }
    if is_right {
        assert!(index.fingerprints().map(Result::unwrap).eq(entries));
    }
}

fn file<F: Fingerprint>(codec: Codec) -> &'static Parts {
    &FILES[usize::from(codec == Codec::EliasFano) * 2 + usize::from(F::BITS == 128)]
}

fn coding(codec: Codec, code_lengths: &[u8]) -> Coding<'_> {
    match codec {
        Codec::Huffman => Coding::Huffman { code_lengths },
        _ => Coding::EliasFano,
    }
}

fn is_ascending<F: Fingerprint, E>(entries: &Result<Vec<F>, E>) -> bool {
    entries.as_ref().is_ok_and(|entries| entries.is_sorted_by(|a, b| a < b))
}

fn options<F: Fingerprint>(codec: Codec) -> BuildOptions<F> {
    let design = Design::named("single", 1).expect("a design of the catalogue");
    BuildOptions::new().design(design).codec(codec).block_bytes(BLOCK_BYTES).threads(1)
}

/// Blocks by chance, and good ones.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = super::choices(16, 200);
    for (number, codec) in (0..).zip(Codec::ALL) {
        for shape in [Shape::Mixed, Shape::Runs, Shape::One] {
            seeds.push(good_block::<u64>(number, codec, shape));
            seeds.push(good_block::<u128>(number, codec, shape));
        }
    }
    seeds
}

/// The input that makes a block of as many fingerprints as fit, in the code of the file that it goes into.
fn good_block<F: Fingerprint>(number: u8, codec: Codec, shape: Shape) -> Vec<u8> {
    let mut values = data::<F>(shape, 30, 1);
    values.sort_unstable();
    values.dedup();
    let coding = coding(codec, &file::<F>(codec).tables[0].code_lengths);
    let block = (1..=values.len()).rev().find_map(|count| write_block(&values[..count], coding, BLOCK_BYTES));
    let block = block.expect("one fingerprint fits");
    [&[number, u8::from(F::BITS == 128), 0], &block[4..]].concat()
}
