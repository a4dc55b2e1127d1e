//! The set that is stored: a mixing function of the numbers below 2^n. It is spread like random numbers, has no
//! repeats, and is made again whenever it is needed, so that it is never stored raw.
//!
//! The function is a bijection, so brute force over the set needs no pass over it: whether a value is stored
//! follows from its inverse.

use rayon::prelude::*;

/// Fingerprints of one batch of the source.
const BATCH: u64 = 1 << 20;

/// The greatest distance of a planted query from a stored fingerprint, and the distance of all queries.
pub(crate) const DISTANCE: u32 = 3;

/// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA 2014), with its increment.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;

/// The fingerprints of the numbers below 2^n.
#[derive(Clone, Copy)]
pub(crate) struct Set {
    log2: u32,
}

impl Set {
    pub(crate) fn new(log2: u32) -> Self {
        Self { log2 }
    }

    pub(crate) fn len(self) -> u64 {
        1 << self.log2
    }

    pub(crate) fn contains(self, fingerprint: u64) -> bool {
        number_of(fingerprint) < self.len()
    }

    /// Calls `take` with all of the set, in batches, until it fails.
    pub(crate) fn read<E>(self, mut take: impl FnMut(&[u64]) -> Result<(), E>) -> Result<(), E> {
        let mut batch = Vec::new();
        for start in (0..self.len()).step_by(BATCH as usize) {
            let count = (self.len() - start).min(BATCH) as usize;
            let fingerprint = |place| fingerprint_of(start + place as u64);
            (0..count).into_par_iter().map(fingerprint).collect_into_vec(&mut batch);
            take(&batch)?;
        }
        Ok(())
    }

    /// `count` queries, no two of which are likely to be alike: every other one is planted within
    /// [`DISTANCE`] of a stored fingerprint, the rest are random. Different seeds give different queries.
    pub(crate) fn queries(self, count: usize, seed: u64) -> Vec<u64> {
        let chance = |i: u64| fingerprint_of(!(seed << 40 | i));
        (0..count as u64)
            .map(|i| {
                if is_planted(i as usize) {
                    self.near(chance(2 * i), chance(2 * i + 1))
                } else {
                    chance(2 * i)
                }
            })
            .collect()
    }

    /// A stored fingerprint with up to [`DISTANCE`] bits flipped.
    fn near(self, which: u64, flips: u64) -> u64 {
        let stored = fingerprint_of(which % self.len());
        (0..DISTANCE).fold(stored, |x, flip| match flips >> (7 * flip) & 127 {
            bit @ 0..64 => x ^ 1 << bit,
            _ => x,
        })
    }

    /// Returns all stored fingerprints within [`DISTANCE`] of `query`, ascending, without an index: every value within
    /// the distance is looked up in the set.
    pub(crate) fn brute_force(self, query: u64) -> Vec<u64> {
        let mut found = Vec::new();
        self.flip(query, 0, DISTANCE, &mut found);
        found.sort_unstable();
        found
    }

    fn flip(self, value: u64, from: u32, left: u32, found: &mut Vec<u64>) {
        if self.contains(value) {
            found.push(value);
        }
        if left > 0 {
            (from..u64::BITS).for_each(|bit| self.flip(value ^ 1 << bit, bit + 1, left - 1, found));
        }
    }

    /// Returns the expected number of pairs within [`DISTANCE`] in a uniform set.
    pub(crate) fn expected_pairs(self) -> f64 {
        let near: f64 = (1..=DISTANCE).map(|bits| choose(64, bits)).sum();
        let count = self.len() as f64;
        count * (count - 1.0) / 2.0 * near / 64_f64.exp2()
    }
}

/// Returns whether the query with this number was planted.
pub(crate) fn is_planted(place: usize) -> bool {
    place.is_multiple_of(2)
}

fn choose(of: u32, chosen: u32) -> f64 {
    (0..chosen).map(|taken| f64::from(of - taken) / f64::from(taken + 1)).product()
}

fn fingerprint_of(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(INCREMENT);
    z = (z ^ (z >> 30)).wrapping_mul(FIRST);
    z = (z ^ (z >> 27)).wrapping_mul(SECOND);
    z ^ (z >> 31)
}

/// The inverse of [`fingerprint_of`].
fn number_of(fingerprint: u64) -> u64 {
    const { assert!(INCREMENT.wrapping_mul(inverse(INCREMENT)) == 1) }
    let mut z = unshift(fingerprint, 31).wrapping_mul(const { inverse(SECOND) });
    z = unshift(z, 27).wrapping_mul(const { inverse(FIRST) });
    unshift(z, 30).wrapping_mul(const { inverse(INCREMENT) }).wrapping_sub(1)
}

/// The inverse of x ^ (x >> bits), for shifts that three times reach the width.
fn unshift(value: u64, bits: u32) -> u64 {
    value ^ value >> bits ^ value >> (2 * bits)
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
const fn inverse(odd: u64) -> u64 {
    let (mut found, mut steps) = (odd, 0);
    while steps < 5 {
        found = found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)));
        steps += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_inverse_leads_back(number in prop_oneof![any::<u64>(), 0..1_u64 << 33]) {
            prop_assert_eq!(number_of(fingerprint_of(number)), number);
            prop_assert_eq!(fingerprint_of(number_of(number)), number);
        }
    }

    #[test]
    fn brute_force_by_the_inverse_is_brute_force_over_the_set() {
        let set = Set::new(16);
        let mut all = Vec::new();
        set.read::<()>(|batch| {
            all.extend_from_slice(batch);
            Ok(())
        })
        .unwrap();
        assert_eq!(all.len(), 1 << 16);
        // Random values are hardly ever near each other, so neighbours of stored fingerprints are queried.
        for (place, query) in set.queries(200, 1).into_iter().enumerate() {
            let mut near: Vec<u64> =
                all.iter().copied().filter(|x| (x ^ query).count_ones() <= DISTANCE).collect();
            near.sort_unstable();
            assert_eq!(set.brute_force(query), near);
            assert!(!is_planted(place) || !near.is_empty());
        }
    }

    #[test]
    fn an_error_ends_the_reading() {
        let mut calls = 0;
        let outcome = Set::new(21).read(|_| {
            calls += 1;
            Err("full")
        });
        assert_eq!((outcome, calls), (Err("full"), 1));
    }
}
