//! Cost model of a sieve, for evenly spread queries and values: the case in which it pays.
//!
//! The constants lie between the fit for a processor with AVX2 (2^20 to 2^33 values, 1,000 to a million
//! queries) and the fit for one with AVX-512, which takes half of the time.

use crate::batch::scan::sieve::halves::{Halves, ways};
use crate::batch::scan::sieve::{FEW, MAX_KEYS_PER_VALUE, NEAR_KEYS};
use hamdex_fingerprint::Fingerprint;

/// To test a value.
const TEST_NS: f64 = 6.0;

/// To test whether a query is relevant.
const QUERY_NS: f64 = 1.5;

/// To add a key to a filter.
const KEY_NS: f64 = 3.5;

/// Values that are sifted at once.
const TOGETHER: f64 = 65_536.0;

/// The share of the values that are let through.
pub(in crate::batch::scan) const KEPT: f64 = 0.03;

/// Returns the nanoseconds to sift a value, for evenly spread queries and values; `None` if a sieve is of no
/// use.
pub(in crate::batch) fn sift_ns<F: Fingerprint>(queries: usize, values: u64, distance: u32) -> Option<f64> {
    let mut bits = (values as f64 / TOGETHER).max(1.0).log2() as u32;
    let mut looked_at = 0.0;
    loop {
        let values = values as f64 / f64::from(bits).exp2();
        let halves = Halves::behind::<F>(bits);
        let (mut matter, mut keys, mut before) = (0.0, 0.0, 0.0);
        for errors in 0..=distance.min(bits) {
            // The queries with `errors` errors in the prefix are as many as the ways to place them there.
            let up_to = ways(bits, errors);
            let count = (up_to - before) * queries as f64 / f64::from(bits).exp2();
            before = up_to;
            matter += count;
            let (upper, lower) = halves.keys(distance - errors);
            keys += count * (upper + lower);
        }
        // About twice as many queries are tested as remain.
        looked_at += 2.0 * matter / values;
        if keys <= NEAR_KEYS || values <= FEW as f64 || bits == F::BITS {
            let per_value = keys / values;
            let ns = TEST_NS + looked_at * QUERY_NS + per_value * KEY_NS;
            return (per_value <= MAX_KEYS_PER_VALUE).then_some(ns);
        }
        bits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
