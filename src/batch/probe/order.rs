//! Queries in the order of a table.

use std::ops::Range;

use rayon::prelude::*;

use crate::permutation::Permutation;
use hamdex_fingerprint::Fingerprint;

/// Leading bits by which queries are ordered: few enough that a counter for each value of them stays in cache.
const DIGIT_BITS: u32 = 12;

const DIGITS: usize = 1 << DIGIT_BITS;

/// Queries that one task orders.
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
        let pieces: Vec<Piece<F>> = queries
            .par_chunks(PIECE)
            .enumerate()
            .map(|(number, queries)| Piece::of(permutation, queries, first + number * PIECE))
            .collect();
        let (mut permuted, mut places) = (vec![F::ZERO; queries.len()], vec![0; queries.len()]);
        let each = queries.len().div_ceil(rayon::current_num_threads()).max(PIECE);
        let ranges = ranges(&pieces, each, &mut permuted, &mut places);
        ranges.into_par_iter().for_each(|DigitRange { digits, permuted, places }| {
            let mut at = 0;
            for digit in digits {
                for Piece { ordered, starts } in &pieces {
                    let from = starts[digit] as usize..starts[digit + 1] as usize;
                    let to = at..at + from.len();
                    permuted[to.clone()].copy_from_slice(&ordered.permuted[from.clone()]);
                    places[to.clone()].copy_from_slice(&ordered.places[from]);
                    at = to.end;
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

/// Some of the queries, in order.
struct Piece<F> {
    ordered: OrderedQueries<F>,
    /// The start of each digit, and the end.
    starts: Vec<u32>,
}

impl<F: Fingerprint> Piece<F> {
    fn of(permutation: &Permutation<F>, queries: &[F], first: usize) -> Self {
        let digit = |permuted: F| (permuted >> (F::BITS - DIGIT_BITS)).to_u128() as usize;
        let mut starts = vec![0; DIGITS + 1];
        for &query in queries {
            starts[digit(permutation.apply(query)) + 1] += 1;
        }
        for digit in 0..DIGITS {
            starts[digit + 1] += starts[digit];
        }
        let mut next = starts.clone();
        let (mut permuted, mut places) = (vec![F::ZERO; queries.len()], vec![0; queries.len()]);
        for (place, &query) in queries.iter().enumerate() {
            let value = permutation.apply(query);
            let next = &mut next[digit(value)];
            (permuted[*next as usize], places[*next as usize]) = (value, (first + place) as u32);
            *next += 1;
        }
        Self { ordered: OrderedQueries { permuted, places }, starts }
    }
}

/// The place of the queries of some digits, for one task.
struct DigitRange<'a, F> {
    digits: Range<usize>,
    permuted: &'a mut [F],
    places: &'a mut [u32],
}

/// Divides the digits into ranges of about `each` queries.
fn ranges<'a, F>(
    pieces: &[Piece<F>],
    each: usize,
    mut permuted: &'a mut [F],
    mut places: &'a mut [u32],
) -> Vec<DigitRange<'a, F>> {
    let mut ranges = Vec::new();
    let (mut from, mut length) = (0, 0);
    for digit in 0..DIGITS {
        length += pieces
            .iter()
            .map(|piece| (piece.starts[digit + 1] - piece.starts[digit]) as usize)
            .sum::<usize>();
        if length >= each || digit + 1 == DIGITS {
            ranges.push(DigitRange {
                digits: from..digit + 1,
                permuted: permuted.split_off_mut(..length).expect("the counts add up"),
                places: places.split_off_mut(..length).expect("the counts add up"),
            });
            (from, length) = (digit + 1, 0);
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::digest::scramble;

    fn check<F: Fingerprint>(mask: F, queries: &[F]) {
        let permutation = Permutation::new(mask);
        let ordered = OrderedQueries::of(&permutation, queries, 7);
        assert_eq!(ordered.len(), queries.len());
        assert!(ordered.permuted.is_sorted_by_key(|&value| value >> (F::BITS - DIGIT_BITS)));
        for (&place, &value) in ordered.places.iter().zip(&ordered.permuted) {
            assert_eq!(permutation.apply(queries[place as usize - 7]), value);
        }
        let mut places = ordered.places;
        places.sort_unstable();
        assert!(places.into_iter().eq((7..).take(queries.len())));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn every_query_comes_once_in_the_order_of_its_leading_bits(
            mask: u64,
            seed: u64,
            spread in 0u32..64,
            threads in prop::sample::select(vec![1, 3]),
        ) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in [0, 1, 1000, PIECE, 2 * PIECE + 1] {
                let query = |i: usize| scramble(seed ^ i as u64) >> spread;
                let queries: Vec<u64> = (0..count).map(query).collect();
                let wide: Vec<u128> = queries.iter().map(|&query| u128::from(query) << 40 | 5).collect();
                pool.install(|| {
                    check(mask, &queries);
                    check(u128::from(mask) << 50, &wide);
                });
            }
        }
    }
}
