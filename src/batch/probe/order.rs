//! Queries in the order of a table.

use rayon::prelude::*;

use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// Leading bits by which queries are ordered: few enough that a counter for each value of them stays in cache.
const BITS: u32 = 12;

/// Queries of a task that counts.
const PIECE: usize = 1 << 16;

/// Queries, permuted as a table is, in the order of their leading bits, so that one after the other reads what is near
/// what the one before has read: keys, and lines of a filter.
pub(super) struct OrderedQueries<F> {
    permuted: Vec<F>,
    places: Vec<u32>,
}

impl<F: Fingerprint> OrderedQueries<F> {
    /// Bytes per query.
    pub(super) const BYTES: usize = size_of::<F>() + size_of::<u32>();

    /// Orders queries, of which the first has the place `first`.
    pub(super) fn of(permutation: &Permutation<F>, queries: &[F], first: usize) -> Self {
        let digit = |permuted: F| (permuted >> (F::BITS - BITS)).to_u128() as usize;
        let count = |queries: &[F]| {
            let mut counts = vec![0usize; 1 << BITS];
            queries.iter().for_each(|&query| counts[digit(permutation.apply(query))] += 1);
            counts
        };
        let add = |mut sum: Vec<usize>, counts: Vec<usize>| {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            sum
        };
        let counts = queries.par_chunks(PIECE).map(count).reduce(|| vec![0; 1 << BITS], add);

        let (mut permuted, mut places) = (vec![F::ZERO; queries.len()], vec![0; queries.len()]);
        let each = queries.len().div_ceil(rayon::current_num_threads()).max(PIECE);
        let parts = parts(&counts, each, &mut permuted, &mut places);
        parts.into_par_iter().for_each(|Part { digits: (from, to), starts, permuted, places }| {
            let mut next = starts;
            for (place, &query) in queries.iter().enumerate() {
                let value = permutation.apply(query);
                let digit = digit(value);
                if (from..to).contains(&digit) {
                    let next = &mut next[digit - from];
                    (permuted[*next], places[*next]) = (value, (first + place) as u32);
                    *next += 1;
                }
            }
        });
        Self { permuted, places }
    }

    pub(super) fn len(&self) -> usize {
        self.permuted.len()
    }

    /// Returns the permuted query with a number in this order.
    #[inline]
    pub(super) fn permuted(&self, number: u32) -> F {
        self.permuted[number as usize]
    }

    /// Returns the place of that query in the batch.
    #[inline]
    pub(super) fn place(&self, number: u32) -> u32 {
        self.places[number as usize]
    }
}

/// The queries of some digits, which one task puts in their order.
struct Part<'a, F> {
    digits: (usize, usize),
    /// Start of each digit.
    starts: Vec<usize>,
    permuted: &'a mut [F],
    places: &'a mut [u32],
}

/// Divides the digits into parts of about `each` queries.
fn parts<'a, F>(
    counts: &[usize],
    each: usize,
    mut permuted: &'a mut [F],
    mut places: &'a mut [u32],
) -> Vec<Part<'a, F>> {
    let mut parts = Vec::new();
    let (mut from, mut starts, mut length) = (0, Vec::new(), 0);
    for (digit, count) in counts.iter().enumerate() {
        starts.push(length);
        length += count;
        if length >= each || digit + 1 == counts.len() {
            parts.push(Part {
                digits: (from, digit + 1),
                starts: std::mem::take(&mut starts),
                permuted: permuted.split_off_mut(..length).expect("the counts add up"),
                places: places.split_off_mut(..length).expect("the counts add up"),
            });
            (from, length) = (digit + 1, 0);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::scramble;

    proptest! {
        #[test]
        fn every_query_comes_once_in_the_order_of_its_leading_bits(mask: u64, seed: u64, spread in 0u32..64) {
            let permutation = Permutation::new(mask);
            for count in [0, 1, 1000, 2 * PIECE + 1] {
                let query = |i: usize| scramble(seed ^ i as u64) >> spread;
                let queries: Vec<u64> = (0..count).map(query).collect();
                let ordered = OrderedQueries::of(&permutation, &queries, 7);
                prop_assert_eq!(ordered.len(), count);
                prop_assert!(ordered.permuted.is_sorted_by_key(|value| value >> (64 - BITS)));
                for (&place, &value) in ordered.places.iter().zip(&ordered.permuted) {
                    prop_assert_eq!(permutation.apply(queries[place as usize - 7]), value);
                }
                let mut places = ordered.places;
                places.sort_unstable();
                prop_assert!(places.into_iter().eq((7..).take(count)));
            }
        }
    }
}
