//! Results equal brute force, always: every design, every distance, both widths, both codecs, all
//! shapes of data.

use crate::common::{SHAPES, Shape, brute_force, built, data, for_each_distance, index, pairs, queries};
use hamdex::{BuildOptions, Codec, Design, Fingerprint};

fn check_designs<F: Fingerprint>(codec: Codec, distance: u32, shape: Shape, count: usize) {
    let stored = data::<F>(shape, count, u64::from(distance) + 1);
    let queries = queries(&stored, 6, 99);
    for name in Design::<F>::names(distance) {
        let design = Design::<F>::named(&name, distance).unwrap();
        let options = BuildOptions::new().codec(codec).design(design).block_bytes(512);
        let index = index(built(&stored, options));
        let verified = index.verify().unwrap_or_else(|error| panic!("{name}, {codec}, {shape:?}: {error}"));
        let mut searcher = index.searcher();
        assert_eq!(verified.fingerprints, index.len());
        for &query in &queries {
            // Below the built distance, at it, and above.
            for asked in [0, distance.saturating_sub(1), distance, distance + 2] {
                let expected = brute_force(&stored, query, asked);
                let found = pairs(searcher.within(query, asked).unwrap());
                assert_eq!(
                    found, expected,
                    "{name} for {distance}, {codec}, asked {asked}, {shape:?}, {query:?}"
                );
                let first = searcher.first(query, asked).unwrap();
                assert_eq!(first.is_some(), !expected.is_empty());
                assert!(first.is_none_or(|m| expected.contains(&(m.distance, m.fingerprint))));
            }
        }
    }
}

/// Each shape with each codec.
fn codecs_and(shapes: &[Shape]) -> impl Iterator<Item = (Codec, Shape)> {
    Codec::ALL.into_iter().flat_map(|codec| shapes.iter().map(move |&shape| (codec, shape)))
}

for_each_distance! {
    every_design_is_exact_at_64_bits: |distance| {
        for (codec, shape) in codecs_and(&SHAPES) {
            check_designs::<u64>(codec, distance, shape, 1500);
        }
    };

    every_design_is_exact_at_128_bits: |distance| {
        for (codec, shape) in codecs_and(&[Shape::Empty, Shape::Extreme, Shape::Mixed]) {
            check_designs::<u128>(codec, distance, shape, 800);
        }
    };
}

#[test]
fn any_distance_may_be_asked_of_any_index() {
    let stored = data::<u64>(Shape::Mixed, 1200, 5);
    let names = ["halves", "cover-8", "single", "paper-16"];
    for (codec, name) in Codec::ALL.into_iter().flat_map(|codec| names.map(|name| (codec, name))) {
        let design = Design::named(name, 3).unwrap();
        let options = BuildOptions::new().codec(codec).design(design).block_bytes(512);
        let index = index(built(&stored, options));
        let mut searcher = index.searcher();
        for query in queries(&stored, 2, 4) {
            for distance in [9, 17, 31, 40, 63, 64] {
                let expected = brute_force(&stored, query, distance);
                let found = pairs(searcher.within(query, distance).unwrap());
                assert_eq!(found, expected, "{name}, {codec}, {distance}");
            }
        }
    }
}

#[test]
fn the_nearest_are_the_nearest() {
    for (codec, shape) in codecs_and(&SHAPES) {
        let stored = data::<u64>(shape, 2000, 11);
        let index = index(built(&stored, BuildOptions::new().codec(codec).block_bytes(512)));
        let mut searcher = index.searcher();
        for query in queries(&stored, 5, 12) {
            let all = brute_force(&stored, query, 64);
            for count in [0, 1, 2, 10, 300, usize::MAX] {
                let expected = &all[..count.min(all.len())];
                assert_eq!(
                    pairs(searcher.nearest(query, count).unwrap()),
                    expected,
                    "{codec}, {shape:?}, {count}"
                );
            }
        }
    }
}

/// Blocks of the default size, and as large as they can be, with data enough for many.
#[test]
fn any_size_of_block_gives_the_same_answers() {
    for (codec, shape) in codecs_and(&[Shape::Uniform, Shape::Clustered, Shape::Runs]) {
        let stored = data::<u64>(shape, 12_000, 21);
        let queries = queries(&stored, 4, 22);
        for block_bytes in [None, Some(1024), Some(2048), Some(8192)] {
            let mut options = BuildOptions::new().codec(codec);
            if let Some(bytes) = block_bytes {
                options = options.block_bytes(bytes);
            }
            let index = index(built(&stored, options));
            index.verify().unwrap();
            let mut searcher = index.searcher();
            for &query in &queries {
                let expected = brute_force(&stored, query, 3);
                let found = pairs(searcher.within(query, 3).unwrap());
                assert_eq!(found, expected, "{codec}, {block_bytes:?}, {shape:?}");
            }
        }
    }
}
