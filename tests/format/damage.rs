//! Damage by accident: `verify` sees every flipped bit and every missing byte, wherever they are, and
//! a query on a damaged file gives an error or the answer that the whole file gives.

use std::sync::LazyLock;

use crate::common::ask::{Answer, ask, truth};
use crate::common::{Numbers, Shape, built, built_with_ids, built_with_names, data, queries};
use hamdex::{BuildOptions, Codec, Design, Fingerprint, Index, ReadErrorKind};
use proptest::prelude::*;
use rayon::prelude::*;

/// Files that are small enough for each of their bits.
fn small<F: Fingerprint>() -> Vec<(&'static str, Vec<u8>)> {
    let options = |name, distance| {
        let design = Design::named(name, distance).unwrap();
        BuildOptions::<F>::new().block_bytes(512).design(design)
    };
    let clustered = data::<F>(Shape::Clustered, 160, 3);
    let uniform = data::<F>(Shape::Uniform, 100, 4);
    let pairs = |fingerprints: &[F], many: u64| -> Vec<(F, u64)> {
        (7u64..).zip(fingerprints).flat_map(|(n, &f)| (0..=n % many).map(move |i| (f, 3 * n + i))).collect()
    };
    vec![
        ("one table", built(&uniform, options("single", 1).metadata("recipe", "words"))),
        ("two tables", built(&clustered, options("halves", 3))),
        ("one id each", built_with_ids(&pairs(&uniform, 1), options("single", 2))),
        (
            "many ids",
            built_with_ids(
                &pairs(&clustered[..100], 5),
                options("single", 0).metadata("a", "").metadata("b", [9; 5]),
            ),
        ),
        ("names, consecutive", {
            let pairs = pairs(&uniform[..60], 1);
            let names = pairs.iter().map(|&(_, id)| (id, vec![b'a'; id as usize % 7])).collect();
            built_with_names(&pairs, &names, options("single", 1))
        }),
        ("names with gaps", {
            let pairs = pairs(&clustered[..60], 3);
            let names = pairs.iter().map(|&(_, id)| (id * id, id.to_string().into_bytes())).collect();
            let pairs: Vec<(F, u64)> = pairs.iter().map(|&(x, id)| (x, id * id)).collect();
            built_with_names(&pairs, &names, options("single", 1).metadata("recipe", "words"))
        }),
        ("empty", built(&[], options("single", 3))),
        ("one", built(&[F::ONES], options("single", 3).metadata("", "x"))),
        ("two tables, Elias–Fano", built(&clustered, options("halves", 3).codec(Codec::EliasFano))),
        (
            "many ids, Elias–Fano",
            built_with_ids(&pairs(&uniform, 5), options("single", 0).codec(Codec::EliasFano)),
        ),
        ("one, Elias–Fano", built(&[F::ONES], options("single", 3).codec(Codec::EliasFano))),
    ]
}

/// The files of 64 bits, built once.
static SMALL: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(small::<u64>);

/// Some queries whose answers touch a file all over.
fn few_queries<F: Fingerprint>(file: &[u8]) -> Vec<F> {
    let mut stored = Vec::new();
    let index = Index::<F>::from_bytes(file).unwrap();
    stored.extend(index.searcher().nearest(F::ZERO, 100).unwrap().iter().map(|m| m.fingerprint));
    queries(&stored, 1, 5)
}

/// Returns whether opening or verifying rejects a file.
fn is_refused<F: Fingerprint>(file: &[u8]) -> bool {
    Index::<F>::from_bytes(file).map_or(true, |index| index.verify().is_err())
}

/// That no answer is wrong, if there is one.
fn answers_are_right<F: Fingerprint>(file: &[u8], queries: &[F], truth: &[Vec<Answer<F>>]) {
    let Ok(index) = Index::<F>::from_bytes(file) else { return };
    for (&query, expected) in queries.iter().zip(truth) {
        for (number, (answer, expected)) in ask(&index, query).into_iter().zip(expected).enumerate() {
            assert!(answer.as_ref().is_ok_and(|a| a == expected) || answer.is_err(), "{query:?}, {number}");
        }
    }
}

/// Every bit of every byte; of bytes inside long stretches of padding, which are all checked alike,
/// one bit each, except the files `all_of`.
fn every_flipped_bit_is_seen<F: Fingerprint>(all_of: &[&str]) {
    for (name, file) in small::<F>() {
        let queries = few_queries::<F>(&file);
        let truth = truth(&file, &queries);
        assert!(!is_refused::<F>(&file), "{name}");
        let is_padding =
            |byte: usize| byte >= 32 && file[byte - 32..(byte + 32).min(file.len())].iter().all(|&b| b == 0);
        (0..file.len()).into_par_iter().for_each_init(
            || file.clone(),
            |damaged, byte| {
                let chosen = byte % 8;
                for bit in (0..8).filter(|&bit| bit == chosen || all_of.contains(&name) || !is_padding(byte))
                {
                    damaged[byte] ^= 1 << bit;
                    assert!(is_refused::<F>(damaged), "{name}: byte {byte}, bit {bit}");
                    if bit == chosen {
                        answers_are_right(damaged, &queries, &truth);
                    }
                    damaged[byte] ^= 1 << bit;
                }
            },
        );
    }
}

#[test]
fn every_flipped_bit_is_seen_at_64_bits() {
    every_flipped_bit_is_seen::<u64>(&["two tables", "two tables, Elias–Fano"]);
}

#[test]
fn every_flipped_bit_is_seen_at_128_bits() {
    every_flipped_bit_is_seen::<u128>(&["empty"]);
}

#[test]
fn every_truncation_is_refused_when_the_file_is_opened() {
    for (name, file) in small::<u64>().into_iter().chain(small::<u128>()) {
        for length in 0..file.len() {
            let refused = Index::<u64>::from_bytes(&file[..length]).unwrap_err().into_kind();
            match refused {
                ReadErrorKind::NotHamdex => assert_eq!(length, 0, "{name}"),
                ReadErrorKind::Truncated { length: found } => assert_eq!(found, length as u64, "{name}"),
                other => panic!("{name}, {length}: {other}"),
            }
        }
    }
}

#[test]
fn appended_bytes_are_refused_when_the_file_is_opened() {
    for (name, file) in small::<u64>() {
        let trailer = &file[file.len() - 32..];
        let mut numbers = Numbers(1);
        let noise: Vec<u8> = (0..5000).map(|_| numbers.word() as u8).collect();
        let zeros = vec![0; 5000];
        for tail in [&zeros, &noise] {
            for length in [1, 2, 7, 8, 31, 32, 33, 512, 4095, 4096, 5000] {
                let longer = [&file, &tail[..length]].concat();
                assert!(Index::<u64>::from_bytes(longer).is_err(), "{name}, {length}");
            }
        }
        for tail in [trailer, &file] {
            let longer = [&file, tail].concat();
            assert!(Index::<u64>::from_bytes(longer).is_err(), "{name}: its own bytes");
        }
    }
}

/// A file with everything in it, of some size.
fn larger(codec: Codec) -> (Vec<u8>, Vec<u64>) {
    let mut numbers = Numbers(8);
    let stored = data::<u64>(Shape::Mixed, 6000, 9);
    let pairs: Vec<(u64, u64)> = stored
        .iter()
        .flat_map(|&f| (0..numbers.below(4) + 1).map(|_| (f, numbers.below(1 << 40))).collect::<Vec<_>>())
        .collect();
    let design = Design::named("paper-4", 3).unwrap();
    let options = BuildOptions::new().codec(codec).design(design).metadata("recipe", "words");
    (built_with_ids(&pairs, options), queries(&stored, 2, 5))
}

#[test]
fn a_sample_of_flipped_bits_is_seen_in_a_larger_file() {
    for codec in Codec::ALL {
        let (file, queries) = larger(codec);
        let truth = truth(&file, &queries);
        let mut numbers = Numbers(2);
        let bits: Vec<usize> = (0..1000).map(|_| numbers.below(file.len() as u64 * 8) as usize).collect();
        bits.into_par_iter().for_each_init(
            || file.clone(),
            |damaged, bit| {
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(is_refused::<u64>(damaged), "{codec}, bit {bit}");
                answers_are_right(damaged, &queries, &truth);
                damaged[bit / 8] ^= 1 << (bit % 8);
            },
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn garbage_is_seen(
        pick: prop::sample::Index,
        pieces in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..300)),
            1..4,
        ),
    ) {
        let file = &SMALL[pick.index(SMALL.len())].1;
        let mut damaged = file.clone();
        for (at, garbage) in pieces {
            let at = at.index(file.len());
            let length = garbage.len().min(file.len() - at);
            damaged[at..at + length].copy_from_slice(&garbage[..length]);
        }
        prop_assume!(damaged != *file);
        let queries = few_queries::<u64>(file);
        prop_assert!(is_refused::<u64>(&damaged));
        answers_are_right(&damaged, &queries, &truth(file, &queries));
    }

    #[test]
    fn lost_stretches_are_seen(
        pick: prop::sample::Index,
        start: prop::sample::Index,
        length: prop::sample::Index,
    ) {
        let file = &SMALL[pick.index(SMALL.len())].1;
        let start = start.index(file.len());
        let length = length.index(file.len() - start) + 1;
        let queries = few_queries::<u64>(file);
        let truth = truth(file, &queries);
        // Zeroed in place, as a disk loses them; and cut out, as a broken copy does.
        let mut zeroed = file.clone();
        zeroed[start..start + length].fill(0);
        prop_assert_eq!(is_refused::<u64>(&zeroed), zeroed != *file);
        answers_are_right(&zeroed, &queries, &truth);
        let mut shorter = file.clone();
        shorter.drain(start..start + length);
        prop_assert!(is_refused::<u64>(&shorter));
        answers_are_right(&shorter, &queries, &truth);
    }

    #[test]
    fn random_files_with_the_right_magic_are_refused(
        mut file in prop::collection::vec(any::<u8>(), 8..9000),
        checksum_is_right: bool,
        ends_right: bool,
    ) {
        let magic = *b"\x89HDX\r\n\x1a\n";
        file[..8].copy_from_slice(&magic);
        if ends_right {
            let end = file.len() - 8;
            file[end..].copy_from_slice(&magic);
            file[end..].reverse();
        }
        if checksum_is_right && file.len() > 64 {
            // Version 1.0, no features, reserved bytes zero: only the rest is random.
            file[8..32].fill(0);
            file[8] = 1;
            file[48..60].fill(0);
            let checksum = crc32fast::hash(&file[..60]);
            file[60..64].copy_from_slice(&checksum.to_le_bytes());
        }
        prop_assert!(Index::<u64>::from_bytes(&file).is_err());
        prop_assert!(Index::<u128>::from_bytes(&file).is_err());
    }
}
