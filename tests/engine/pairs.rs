//! Pairs equal brute force, always: every design, every distance, both widths, all shapes of data, every
//! way of the work, any number of threads; each pair once.

use crate::common::{
    Numbers, Reports, SHAPES, Shape, built, built_with_ids, data, for_each_distance, index, is_damage,
};
use hamdex::internals::{Tuning, Way};
use hamdex::{
    BuildOptions, Checksums, Design, Fingerprint, Index, OpenOptions, Pair, PairsOptions, Phase, ReadError,
    ReadErrorKind, Stopped,
};
use proptest::prelude::*;

/// The truth, ascending.
fn brute_force<F: Fingerprint>(stored: &[F], distance: u32) -> Vec<Pair<F>> {
    let mut distinct = stored.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let mut all = Vec::new();
    for (at, &a) in distinct.iter().enumerate() {
        let near = distinct[at + 1..].iter().filter(|&&b| a.distance(b) <= distance);
        all.extend(near.map(|&b| Pair::of(a, b)));
    }
    all
}

fn sorted<F: Fingerprint>(mut pairs: Vec<Pair<F>>) -> Vec<Pair<F>> {
    pairs.sort_unstable();
    pairs
}

/// Every way of the work, with tasks, runs and memory small enough that all of it happens.
fn tunings(stored: usize) -> Vec<Tuning> {
    let tasks = Tuning { blocks_per_task: Some(2), longest_run: Some(10), ..Tuning::default() };
    vec![
        Tuning::default(),
        tasks,
        Tuning { blocks_per_task: Some(1), longest_run: Some(30), ..tasks },
        Tuning { way: Way::Gather, ..Tuning::default() },
        Tuning { way: Way::Gather, capacity: Some(stored * 2 / 3 + 1), ..tasks },
        Tuning { way: Way::Gather, capacity: Some(stored / 10 + 1), ..tasks },
        Tuning { way: Way::Gather, slice: Some(stored as u64 / 7 + 1), ..Tuning::default() },
        Tuning { capacity: Some(1), ..tasks },
        Tuning { way: Way::Query, queries_per_task: Some(100), ..Tuning::default() },
    ]
}

fn check<F: Fingerprint>(index: &Index<F>, stored: &[F], distance: u32, what: &str) {
    check_ways(index, stored, distance, what, tunings(stored.len()));
}

fn check_ways<F: Fingerprint>(
    index: &Index<F>,
    stored: &[F],
    distance: u32,
    what: &str,
    tunings: Vec<Tuning>,
) {
    let expected = brute_force(stored, distance);
    let mut counts = vec![0; distance as usize + 1];
    expected.iter().for_each(|pair| counts[pair.distance as usize] += 1);
    for tuning in tunings {
        let pairs = index.pairs(distance).tuning(tuning);
        let one = pairs.threads(1).collect().unwrap();
        let two = index.pairs(distance).tuning(tuning).threads(2).collect().unwrap();
        assert!(one == two, "{what}, {distance}, {tuning:?}: the order depends on the threads");
        let found = sorted(one);
        assert_eq!(found.len(), expected.len(), "{what}, {distance}, {tuning:?}");
        assert!(found == expected, "{what}, {distance}, {tuning:?}");
    }
    assert_eq!(index.pairs(distance).count_by_distance().unwrap(), counts, "{what}, {distance}");
}

fn check_designs<F: Fingerprint>(distance: u32, shape: Shape, count: usize) {
    let stored = data::<F>(shape, count, u64::from(distance) + 1);
    for name in Design::<F>::names(distance) {
        let design = Design::<F>::named(&name, distance).unwrap();
        let index = index::<F>(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
        // Below the built distance, at it, and above.
        for asked in [0, distance.saturating_sub(1), distance, distance + 2] {
            let mut ways = tunings(stored.len());
            // The smallest memory reads the table again and again, which a few tests suffice for; and
            // query by query there is no other way beyond the built distance than at it.
            ways.retain(|tuning| {
                tuning.capacity.is_none_or(|capacity| capacity > stored.len() / 2)
                    && tuning.blocks_per_task != Some(1)
                    && (tuning.way != Way::Query || asked == distance)
            });
            check_ways(&index, &stored, asked, &format!("{name} for {distance}, {shape:?}"), ways);
        }
    }
}

for_each_distance! {
    every_design_is_exact_at_64_bits: |distance| {
        for shape in SHAPES {
            check_designs::<u64>(distance, shape, 400);
        }
    };

    every_design_is_exact_at_128_bits: |distance| {
        for shape in [Shape::Empty, Shape::Extreme, Shape::Mixed] {
            check_designs::<u128>(distance, shape, 200);
        }
    };
}

#[test]
fn any_distance_may_be_asked_of_any_index() {
    let stored = data::<u64>(Shape::Mixed, 300, 5);
    for name in ["halves", "cover-8", "single", "paper-16"] {
        let design = Design::named(name, 3).unwrap();
        let index = index::<u64>(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
        for distance in [9, 17, 31, 40, 62, 63, 64] {
            check(&index, &stored, distance, name);
        }
    }
}

#[test]
fn none_one_and_two() {
    for stored in [vec![], vec![5u64], vec![0, u64::MAX], vec![6, 7], vec![7, 7, 7]] {
        for design in ["single", "halves", "cover-6"] {
            let design = Design::named(design, 3).unwrap();
            let index = index::<u64>(built(&stored, BuildOptions::new().design(design)));
            for distance in [0, 1, 3, 63, 64] {
                check(&index, &stored, distance, "few");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values near each other, so that there are pairs, in bits that straddle the prefixes.
    #[test]
    fn pairs_are_those_of_brute_force(
        centres in prop::collection::vec(any::<u64>(), 1..5),
        members in prop::collection::vec((0usize..5, any::<u64>(), any::<u64>(), any::<u64>()), 0..400),
        built_for in 1u32..=5,
        asked in 0u32..=8,
        design in any::<prop::sample::Index>(),
    ) {
        let stored: Vec<u64> = members
            .iter()
            // The and of three is a set of eight bits on average.
            .map(|&(centre, a, b, c)| centres[centre % centres.len()] ^ (a & b & c))
            .collect();
        let names = Design::<u64>::names(built_for);
        let design = Design::named(&names[design.index(names.len())], built_for).unwrap();
        let index = index::<u64>(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
        check(&index, &stored, asked, "any");
    }
}

/// Sets on which comparing all of a run with all of it would take for ever, or telling twice would show.
fn nasty_sets() -> Vec<(&'static str, Vec<u64>)> {
    let mut numbers = Numbers(3);
    let start = numbers.word();
    let mask = 0x8421_0842_1084_2108u64 | 0b11;
    let mut submasks = vec![mask];
    while let Some(&last) = submasks.last().filter(|&&last| last != 0) {
        submasks.push((last - 1) & mask);
    }
    let ball: Vec<u64> =
        (0..64).flat_map(|a| (0..=a).map(move |b| (1u64 << a | 1 << b) ^ 0x5555_aaaa_1234_4321)).collect();
    vec![
        ("consecutive", (0..6000).map(|i| start.wrapping_add(i)).collect()),
        ("sixty bits in common", (0..16).map(|i| start & !15 | i).collect()),
        ("all submasks", submasks),
        ("two bits from a centre", ball),
        ("clusters", (0..6000u64).map(|i| (i % 3).wrapping_mul(start) ^ numbers.near(0u64, 4)).collect()),
        ("equal first halves", (0..20_000).map(|_| start & !0 << 32 | numbers.word() >> 32).collect()),
    ]
}

#[test]
fn runs_of_near_equal_values_are_exact() {
    for (what, stored) in nasty_sets() {
        let expected = brute_force(&stored, 3);
        for name in ["halves", "cover-6"] {
            let design = Design::named(name, 3).unwrap();
            let index = index::<u64>(built(&stored, BuildOptions::new().design(design).block_bytes(512)));
            for longest_run in [None, Some(16)] {
                let tuning = Tuning { longest_run, ..Tuning::default() };
                let pairs = |threads| index.pairs(3).threads(threads).tuning(tuning).collect().unwrap();
                let found = pairs(1);
                assert_eq!(found.len(), expected.len(), "{what}, {name}, {longest_run:?}");
                assert!(found == pairs(2), "{what}, {name}, {longest_run:?}");
                assert!(sorted(found) == expected, "{what}, {name}, {longest_run:?}");
            }
        }
    }
}

#[test]
fn a_million_documents_with_few_fingerprints_are_few_pairs() {
    let stored: Vec<(u64, u64)> = (0..100_000).map(|id| (1 << (id % 64), id)).collect();
    let index = index::<u64>(built_with_ids(&stored, BuildOptions::new()));
    let pairs = index.pairs(2).collect().unwrap();
    assert_eq!(pairs.len(), 64 * 63 / 2);
    for pair in pairs {
        assert!(pair.distance == 2 && index.ids(pair.b).unwrap().len() > 1500);
    }
}

#[test]
fn breaking_ends_the_work() {
    let stored: Vec<u64> = (0..20_000).collect();
    for tuning in tunings(stored.len()) {
        let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
        for threads in [1, 2, 5] {
            let all = index.pairs(1).tuning(tuning).threads(threads).collect().unwrap();
            for most in [1, 100, 30_000] {
                let mut seen = Vec::new();
                let outcome = index.pairs(1).tuning(tuning).threads(threads).for_each(|pair| {
                    seen.push(pair);
                    if seen.len() == most { Err(ReadError::from(Stopped)) } else { Ok(()) }
                });
                assert!(matches!(outcome.unwrap_err().kind(), ReadErrorKind::Stopped));
                assert_eq!(seen, all[..most], "{tuning:?}");
            }
        }
    }
}

#[test]
fn a_damaged_block_is_an_error_not_a_gap() {
    let stored = data::<u64>(Shape::Mixed, 8000, 9);
    for name in ["halves", "cover-6"] {
        let design = Design::named(name, 3).unwrap();
        let mut file = built(&stored, BuildOptions::new().design(design).block_bytes(512));
        let position = crate::common::file::block(&file, 0, 7).start + 100;
        file[position] ^= 1;
        for checksums in [Checksums::FirstTouch, Checksums::Always] {
            let index: Index<u64> =
                OpenOptions::new().checksums(checksums).from_bytes(file.as_slice()).unwrap();
            for tuning in tunings(stored.len()) {
                for threads in [1, 2] {
                    let pairs = || index.pairs(3).tuning(tuning).threads(threads);
                    assert!(is_damage(&pairs().collect()), "{tuning:?}");
                    assert!(is_damage(&pairs().count_by_distance()));
                }
            }
        }
    }
}

fn check_slice<F: Fingerprint>(values: &[F], distance: u32, what: &str) {
    let expected = brute_force(values, distance);
    for tuning in tunings(values.len()) {
        for threads in [1, 3] {
            let pairs = hamdex::pairs(values, distance).tuning(tuning).threads(threads);
            let found = sorted(pairs.collect().unwrap());
            assert!(found == expected, "{what}, {distance}, {tuning:?}, {threads} threads");
        }
    }
    let mut counts = vec![0; distance as usize + 1];
    expected.iter().for_each(|pair| counts[pair.distance as usize] += 1);
    assert_eq!(hamdex::pairs(values, distance).count_by_distance().unwrap(), counts);
}

/// Without a file, whatever the data: equal fingerprints are one, and no pair.
#[test]
fn pairs_of_a_slice_are_those_of_brute_force() {
    for shape in SHAPES {
        for distance in [0, 1, 3, 7, 20] {
            let mut values = data::<u64>(shape, 900, 51);
            values.extend(values.clone());
            check_slice(&values, distance, &format!("{shape:?}"));
        }
        check_slice(&data::<u128>(shape, 500, 52), 3, &format!("{shape:?}, 128 bits"));
    }
    check_slice(&data::<u64>(Shape::Uniform, 100, 53), 64, "all");
    check_slice(&[7u64; 1000], 3, "one fingerprint");
    check_slice(&[1u64, 2], 2, "two fingerprints");
}

/// So many that they are sorted in parts.
#[test]
fn pairs_of_a_long_slice_are_those_of_an_index() {
    let mut values = data::<u64>(Shape::Mixed, 100_000, 54);
    values.extend_from_within(..1000);
    let index = index::<u64>(built(&values, BuildOptions::new()));
    for distance in [1, 3] {
        let expected = index.pairs(distance).count_by_distance().unwrap();
        assert_eq!(hamdex::pairs(&values, distance).count_by_distance().unwrap(), expected);
    }
    let pairs = hamdex::pairs(&values, 2);
    assert_eq!(sorted(pairs.collect().unwrap()), sorted(index.pairs(2).collect().unwrap()));
    // Again, with sorted input.
    assert_eq!(pairs.count_by_distance().unwrap(), index.pairs(2).count_by_distance().unwrap());
}

#[test]
fn pairs_of_a_slice_stop() {
    let values = data::<u64>(Shape::Mixed, 30_000, 55);
    for threads in [1, 2] {
        let options = PairsOptions::new().threads(threads).report_to(Reports::default().stopping(0));
        let pairs = hamdex::pairs(&values, 3).options(&options);
        let error = pairs.count_by_distance().unwrap_err();
        assert!(matches!(error.kind(), ReadErrorKind::Stopped), "{error}");
    }
}

proptest! {
    #[test]
    fn pairs_of_any_slice(values in prop::collection::vec(0u64..3000, 0..400), distance in 0u32..6) {
        check_slice(&values, distance, "any");
    }
}

#[test]
fn progress_ends_at_its_total() {
    let stored = data::<u64>(Shape::Mixed, 8000, 9);
    let index = index::<u64>(built(&stored, BuildOptions::new().block_bytes(512)));
    for tuning in tunings(stored.len()) {
        let seen = Reports::default();
        index.pairs(3).tuning(tuning).threads(2).progress(seen.keep()).count_by_distance().unwrap();
        let seen = seen.all();
        assert!(seen.iter().all(|progress| progress.phase == Phase::Pairs));
        let (done, total) = (seen.iter().map(|p| p.done).max().unwrap(), seen[0].total.unwrap());
        assert!(done <= total && done > total - total / 10, "{done} of {total}, {tuning:?}");
    }
}
