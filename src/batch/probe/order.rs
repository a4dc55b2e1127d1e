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

/// The queries of a probe, permuted as its table is.
#[derive(Clone, Copy)]
pub(super) enum Queries<'a, F> {
    /// As they were given: the first has the place `first`.
    Given { permutation: &'a Permutation<F>, queries: &'a [F], first: usize },
    /// In the order of the table.
    Ordered(&'a OrderedQueries<F>),
}

impl<F: Fingerprint> Queries<'_, F> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Given { queries, .. } => queries.len(),
            Self::Ordered(ordered) => ordered.permuted.len(),
        }
    }

    /// Returns the permuted query with a number in this order.
    #[inline]
    pub(super) fn permuted(&self, number: u32) -> F {
        match self {
            Self::Given { permutation, queries, .. } => permutation.apply(queries[number as usize]),
            Self::Ordered(ordered) => ordered.permuted[number as usize],
        }
    }

    /// Returns the place of that query in the batch.
    #[inline]
    pub(super) fn place(&self, number: u32) -> u32 {
        match self {
            Self::Given { first, .. } => *first as u32 + number,
            Self::Ordered(ordered) => ordered.places[number as usize],
        }
    }
}

/// Queries, permuted as a table is, in the order of their leading bits, so that one after the other reads what is near
/// what the one before has read: keys, and lines of a filter.
#[derive(Default)]
pub(super) struct OrderedQueries<F> {
    permuted: Vec<F>,
    places: Vec<u32>,
    /// Kept from table to table, so that each uses the memory of the one before.
    pieces: Vec<Piece<F>>,
}

impl<F: Fingerprint> OrderedQueries<F> {
    /// Bytes per query, in this order and in that of its piece.
    pub(super) const BYTES: usize = 2 * (size_of::<F>() + size_of::<u32>());

    /// Returns the bytes that the queries hold: none before the first are ordered.
    pub(super) fn held_bytes(&self) -> usize {
        self.permuted.capacity() * Self::BYTES
    }

    /// Replaces the queries by others, of which the first has the place `first`, in the order of a table.
    pub(super) fn order(&mut self, permutation: &Permutation<F>, queries: &[F], first: usize) {
        let Self { permuted, places, pieces } = self;
        pieces.resize_with(queries.len().div_ceil(PIECE), Piece::default);
        pieces
            .par_iter_mut()
            .zip(queries.par_chunks(PIECE))
            .enumerate()
            .for_each(|(number, (piece, queries))| piece.order(permutation, queries, first + number * PIECE));
        permuted.resize(queries.len(), F::ZERO);
        places.resize(queries.len(), 0);
        let each = queries.len().div_ceil(rayon::current_num_threads()).max(PIECE);
        let ranges = ranges(pieces, each, permuted, places);
        ranges.into_par_iter().for_each(|DigitRange { digits, permuted, places }| {
            let mut at = 0;
            for digit in digits {
                for piece in &*pieces {
                    let from = piece.starts[digit] as usize..piece.starts[digit + 1] as usize;
                    let to = at..at + from.len();
                    permuted[to.clone()].copy_from_slice(&piece.permuted[from.clone()]);
                    places[to.clone()].copy_from_slice(&piece.places[from]);
                    at = to.end;
                }
            }
        });
    }
}

/// Some of the queries, in order.
#[derive(Default)]
struct Piece<F> {
    permuted: Vec<F>,
    places: Vec<u32>,
    /// The start of each digit, and the end.
    starts: Vec<u32>,
}

impl<F: Fingerprint> Piece<F> {
    fn order(&mut self, permutation: &Permutation<F>, queries: &[F], first: usize) {
        let Self { permuted, places, starts } = self;
        let digit = |permuted: F| (permuted >> (F::BITS - DIGIT_BITS)).to_u128() as usize;
        starts.clear();
        starts.resize(DIGITS + 1, 0);
        for &query in queries {
            starts[digit(permutation.apply(query)) + 1] += 1;
        }
        for digit in 0..DIGITS {
            starts[digit + 1] += starts[digit];
        }
        let mut next = starts.clone();
        permuted.resize(queries.len(), F::ZERO);
        places.resize(queries.len(), 0);
        for (place, &query) in queries.iter().enumerate() {
            let value = permutation.apply(query);
            let next = &mut next[digit(value)];
            (permuted[*next as usize], places[*next as usize]) = (value, (first + place) as u32);
            *next += 1;
        }
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
        let mut ordered = OrderedQueries::default();
        // Others before, fewer or more of them, leave nothing.
        ordered.order(&Permutation::new(!mask), &queries[queries.len() / 3..], 0);
        ordered.order(&Permutation::new(!mask), &[queries, queries].concat(), 0);
        ordered.order(&permutation, queries, 7);
        assert_eq!(Queries::Ordered(&ordered).len(), queries.len());
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
