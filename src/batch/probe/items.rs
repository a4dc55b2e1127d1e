//! From queries, in the order of a table, to their candidate blocks.

use std::ops::Range;

use crate::bits::leading;
use crate::codec::{Located, Target};
use crate::design::{Probe, is_first};
use crate::error::ReadError;
use crate::permutation::Permutation;
use crate::progress::Counter;
use crate::sorting::counting_sort;
use crate::table::Table;
use crate::table::locate::target_of;
use crate::threads::for_each;
use hamdex_fingerprint::Fingerprint;

/// A probe of a plan, in its table.
pub(super) struct TableProbe<'a, F> {
    pub(super) file: &'a [u8],
    pub(super) tables: &'a [Table<F>],
    pub(super) table: &'a Table<F>,
    pub(super) probes: &'a [Probe<F>],
    /// The number of the probe.
    pub(super) number: usize,
    pub(super) distance: u32,
    /// Whether each prefix is tested in the filter of the table.
    pub(super) asks_filter: bool,
    pub(super) queries: Queries<'a, F>,
    /// From how many queries on a block is decoded.
    pub(super) dense_from: usize,
    /// Reads ahead blocks that are about to be used.
    pub(super) read_ahead: &'a (dyn Fn(&[Located]) + Sync),
    /// The cancellation check.
    pub(super) done: &'a Counter,
}

impl<F: Fingerprint> TableProbe<'_, F> {
    pub(super) fn permutation(&self) -> &Permutation<F> {
        &self.table.permutation
    }

    /// Returns the target of a permuted query.
    #[inline]
    pub(super) fn target(&self, query: F) -> Target<F> {
        target_of(&self.probes[self.number].reach, self.distance, query)
    }

    /// Calls `visit` with the targets that together meet what a permuted query's does, each value once: the
    /// query's own, or one for each prefix that the filter passes.
    ///
    /// # Errors
    /// When a filter is damaged.
    #[inline]
    fn for_each_target(&self, query: F, visit: impl FnMut(Target<F>)) -> Result<(), ReadError> {
        self.table.for_each_target(self.file, &self.target(query), self.asks_filter, visit)
    }

    /// Returns the permuted query of an item with this value.
    #[inline]
    pub(super) fn query_of_item(&self, value: F, query: u32) -> F {
        // Items are in the order of blocks, so reading a query may miss the cache.
        if self.asks_filter { self.queries.permuted(query) } else { value }
    }

    /// Returns the target of an item, whose value is that of a target of the query.
    #[inline]
    pub(super) fn target_of_item(&self, value: F, query: u32) -> Target<F> {
        let target = self.target(value);
        if !self.asks_filter {
            return target;
        }
        let errors = (value ^ self.query_of_item(value, query)).count_ones();
        Target { radius: 0, distance: self.distance - errors, ..target }
    }

    /// Returns whether what differs in `difference`, permuted, from the value of an item is for this item to find: the
    /// items of a query that a filter has left have a prefix each.
    #[inline]
    pub(super) fn is_sought(&self, difference: F) -> bool {
        let prefix = F::prefix_mask(self.probes[self.number].reach.prefix_bits());
        !self.asks_filter || difference & prefix == F::ZERO
    }

    /// Returns whether a match that differs in `difference` belongs to this probe: see [`is_first`].
    #[inline]
    pub(super) fn owns(&self, difference: F) -> bool {
        self.probes[self.number].reach.admits(difference) && is_first(&self.probes[..self.number], difference)
    }
}

/// Items that one task makes before it stops: few enough to be put in order in cache.
pub(super) const ITEMS_PER_TASK: usize = 1 << 15;

/// The most parts of a table, as a power of two: small enough that their items are put in order in
/// cache, few enough that there is something in each.
const MAX_PARTS_LOG2: u32 = 8;

/// Minimum of items per part; with fewer items there are fewer parts.
const ITEMS_PER_PART: usize = 128;

/// Queries whose prefixes are looked for in a filter at once: what that takes from memory stays in cache.
const GROUP: usize = 16;

/// A candidate block of a query.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Item<F> {
    pub(super) block: u32,
    /// The number of the query in its table: see [`Queries`](crate::batch::probe::items::Queries).
    pub(super) query: u32,
    /// The query, permuted; with a prefix that a filter has left, if one was asked.
    pub(super) value: F,
}

/// A table's blocks, in ranges of equal length.
pub(super) struct Parts {
    blocks: usize,
    shift: u32,
}

impl Parts {
    /// For that many blocks, and about that many items.
    pub(super) fn of(blocks: usize, expected_items: usize) -> Self {
        let bits = usize::BITS - blocks.saturating_sub(1).leading_zeros();
        let useful = usize::BITS - (expected_items / ITEMS_PER_PART).leading_zeros();
        Self { blocks, shift: bits.saturating_sub(useful.min(MAX_PARTS_LOG2)) }
    }

    pub(super) fn count(&self) -> usize {
        self.blocks.div_ceil(1 << self.shift)
    }

    /// Returns the blocks of a part.
    pub(super) fn blocks(&self, part: usize) -> Range<usize> {
        part << self.shift..self.blocks.min((part + 1) << self.shift)
    }

    #[inline]
    fn of_block(&self, block: u32) -> usize {
        (block >> self.shift) as usize
    }
}

/// The items of a range of queries, in the order of parts.
pub(super) struct Items<F> {
    items: Vec<Item<F>>,
    /// Start of the items of each part, and the end.
    starts: Vec<u32>,
}

impl<F: Fingerprint> Items<F> {
    pub(super) fn in_order(items: &[Item<F>], parts: &Parts) -> Self {
        let (mut ordered, mut starts) = (Vec::new(), Vec::new());
        counting_sort(items, parts.count(), |item| parts.of_block(item.block), &mut ordered, &mut starts);
        Self { items: ordered, starts }
    }

    pub(super) fn of_part(&self, part: usize) -> &[Item<F>] {
        &self.items[self.starts[part] as usize..self.starts[part + 1] as usize]
    }
}

/// Locates the queries with the numbers of a range until there are items enough for one task. Returns the items, and
/// what is left of the range.
///
/// # Errors
/// When a filter is damaged, or the batch is cancelled.
pub(super) fn locate<F: Fingerprint>(
    table_probe: &TableProbe<'_, F>,
    range: Range<usize>,
    parts: &Parts,
    blocks: &mut Vec<u32>,
) -> Result<(Items<F>, Range<usize>), ReadError> {
    let TableProbe { table, file, queries, .. } = table_probe;
    let mut items = Vec::with_capacity(range.len());
    let mut left = range;
    while items.len() < ITEMS_PER_TASK && !left.is_empty() {
        let group = left.start as u32..left.end.min(left.start + GROUP) as u32;
        left.start = group.end as usize;
        if !table_probe.asks_filter {
            for query in group {
                push_items(
                    table_probe,
                    query,
                    &table_probe.target(queries.permuted(query)),
                    blocks,
                    &mut items,
                );
            }
            continue;
        }
        // Queries whose prefixes are denied make no items, however long that takes.
        table_probe.done.check()?;
        for query in group.clone() {
            table.prefetch_filter(file, &table_probe.target(queries.permuted(query)));
        }
        for query in group {
            table_probe.for_each_target(queries.permuted(query), |target| {
                push_items(table_probe, query, &target, blocks, &mut items);
            })?;
        }
    }
    Ok((Items::in_order(&items, parts), left))
}

/// Appends an item for each block that may hold what a target of a query meets.
#[inline(always)]
fn push_items<F: Fingerprint>(
    table_probe: &TableProbe<'_, F>,
    query: u32,
    target: &Target<F>,
    blocks: &mut Vec<u32>,
    items: &mut Vec<Item<F>>,
) {
    blocks.clear();
    table_probe.table.locate(table_probe.file, target, blocks);
    items.extend(blocks.iter().map(|&block| Item { block, query, value: target.query }));
}

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
        for_each(
            pieces.iter_mut().zip(queries.chunks(PIECE)).enumerate().collect(),
            |(number, (piece, queries))| piece.order(permutation, queries, first + number * PIECE),
        );
        permuted.resize(queries.len(), F::ZERO);
        places.resize(queries.len(), 0);
        let each = queries.len().div_ceil(rayon::current_num_threads()).max(PIECE);
        let ranges = ranges(pieces, each, permuted, places);
        for_each(ranges, |DigitRange { digits, permuted, places }| {
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
        let digit = |permuted: F| leading(permuted, DIGIT_BITS);
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
    use super::*;
    use crate::digest::scramble;
    use proptest::prelude::*;

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
