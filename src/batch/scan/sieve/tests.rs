//! No near fingerprint is lost, for any data, however small.

use proptest::prelude::*;

use super::*;
use crate::progress::{Phase, Report};

/// Sifts values as they come from a table, `together` at a time.
fn sifted<F: Fingerprint>(queries: &[F], values: &[F], distance: u32, together: usize) -> Vec<F> {
    let done = Counter::new(Report::default(), Phase::Batch, None);
    let sieve = Sieve::new(queries, distance, &done).unwrap();
    let mut workspace = Workspace::default();
    let mut kept = Vec::new();
    values.chunks(together).for_each(|values| sieve.sift(values, &mut workspace, &mut kept));
    kept
}

fn check<F: Fingerprint>(queries: &[F], mut values: Vec<F>, distance: u32, together: usize) {
    values.sort_unstable();
    values.dedup();
    let kept = sifted(queries, &values, distance, together);
    assert!(kept.is_sorted_by(|a, b| a < b), "in order, each once");
    assert!(kept.iter().all(|value| values.binary_search(value).is_ok()));
    for value in values {
        let is_near = queries.iter().any(|&query| query.distance(value) <= distance);
        assert!(!is_near || kept.binary_search(&value).is_ok(), "{value:?} is lost");
    }
}

fn spread(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

proptest! {
    #[test]
    fn what_a_query_is_near_is_kept(
        centres in prop::collection::vec(any::<u64>(), 1..4),
        stored in prop::collection::vec((0usize..4, any::<u64>(), any::<u64>(), any::<u64>()), 0..600),
        asked in prop::collection::vec((0usize..4, any::<u64>(), any::<u64>(), any::<u64>()), 0..100),
        distance in 0u32..9,
        together in 1usize..700,
    ) {
        // The and of three is a set of eight bits on average.
        let near = |&(centre, a, b, c): &(usize, u64, u64, u64)| centres[centre % centres.len()] ^ (a & b & c);
        let (values, queries): (Vec<_>, Vec<_>) = (stored.iter().map(near).collect(), asked.iter().map(near).collect());
        check(&queries, values.clone(), distance, together);
        let wide = |value: &u64| u128::from(*value) << 64 | u128::from(value.reverse_bits());
        let values = values.iter().map(wide).collect();
        check(&queries.iter().map(wide).collect::<Vec<_>>(), values, distance, together);
    }
}

/// Stretches that are parted by bits, and filters that are used: spread evenly, values planted near queries.
#[test]
fn of_many_values_the_near_ones_are_kept_and_few_others() {
    let queries: Vec<u64> = (0..20_000).map(|i| spread(i ^ 0xaaaa_0000_0000)).collect();
    let planted = |i: u64| {
        let query = queries[i as usize * 3];
        (0..i % 4).fold(query, |value, flip| value ^ 1 << (spread(i * 4 + flip) % 64))
    };
    let mut values: Vec<u64> = (0..1 << 21).map(spread).chain((0..5000).map(planted)).collect();
    values.sort_unstable();
    values.dedup();
    for together in [1 << 16, 100_000] {
        let kept = sifted(&queries, &values, 3, together);
        assert!((0..5000).all(|i| kept.binary_search(&planted(i)).is_ok()));
        assert!(kept.len() < 5000 + values.len() / 20, "{} of {}", kept.len(), values.len());
    }
}

/// In a single cluster nothing is lost, and all may be kept.
#[test]
fn crowds_are_let_through() {
    let crowd = |i: u64| 0x1234_5678_0000_0000 + i * 3;
    let queries: Vec<u64> = (0..3000).map(|i| crowd(i * 7) ^ 1).collect();
    check(&queries, (0..3000).map(crowd).collect(), 3, 1000);
    check(&queries, vec![0, u64::MAX], 3, 2);
    check(&[], vec![0u64, 1, u64::MAX], 3, 2);
    check(&[0, u64::MAX], vec![0, 1, u64::MAX - 1, u64::MAX], 1, 4);
    check(&[5u64, 5, 5], vec![5], 0, 1);
    check(&[7u64], (0..64).map(|bit| 1 << bit).collect(), 64, 10);
}

#[test]
fn a_sieve_pays_where_values_are_many_for_each_query() {
    let ns = |queries, log2: u32| sift_ns::<u64>(queries, 1u64 << log2, 3);
    assert!(ns(1_000_000, 33).is_some_and(|ns| ns < 16.0));
    assert!(ns(1_000_000, 30).is_some_and(|ns| ns < 24.0));
    assert!(ns(1_000_000, 27).is_some_and(|ns| ns < 60.0));
    assert!(ns(10_000, 24).is_some_and(|ns| ns < 10.0));
    assert_eq!(ns(1_000_000, 20), None);
    assert_eq!(sift_ns::<u64>(1_000_000, 1 << 30, 20), None);
    assert_eq!(sift_ns::<u64>(10, 0, 3), None);
}
