//! From the blocks of a part to the matches in them: blocks are scanned, or decoded and searched for all queries that
//! meet in them, as their values in memory ascend.

use std::ops::Range;

use crate::arch::{self, Instructions, Kernel, LANES};
use crate::batch::Stop;
use crate::batch::gather::{Finds, Found, Full};
use crate::batch::probe::items::{Item, Items, TableProbe};
use crate::codec::{Located, Scratch, Target};
use crate::progress::{Counter, Stopped, keeping};
use crate::table::scanner::Scanner;
use hamdex_fingerprint::Fingerprint;

/// Blocks with few queries that are left to the scanner together.
const SPARSE_BATCH: usize = 4096;

/// Queries and entries of decoded blocks between cancellation checks.
const SEARCHED_AT_ONCE: usize = 1 << 15;

/// Blocks for each item of a part from which on items are sorted rather than counted into their places.
const SORTED_FROM: usize = 16;

/// Visits parts, using the same memory again and again.
#[derive(Default)]
pub(super) struct Visitor<F> {
    /// The items of the part in the order of its blocks.
    items: Vec<Item<F>>,
    /// Next position of the items of each block.
    next: Vec<u32>,
    /// A decoded block.
    values: Vec<F>,
    scratch: Scratch<F>,
    searching: Runs,
    sparse: Sparse<F>,
}

/// Blocks in which too few queries meet for decoding them to pay.
#[derive(Default)]
struct Sparse<F> {
    scanner: Scanner<F>,
    located: Vec<Located>,
    targets: Vec<Target<F>>,
    queries: Vec<u32>,
}

impl<F: Fingerprint> Visitor<F> {
    /// Visits the blocks of a part in order, each once.
    pub(super) fn visit(
        &mut self,
        table_probe: &TableProbe<'_, F>,
        items: &[Items<F>],
        blocks: Range<usize>,
        part: usize,
        finds: &mut Finds<'_, F>,
    ) -> Result<(), Stop> {
        self.put_in_order(items, &blocks, part, table_probe.done)?;
        let Self { items, values, scratch, searching, sparse, .. } = self;
        sparse.read_ahead(table_probe, items);
        let mut searched = 0;
        for items in items.chunk_by(|a, b| a.block == b.block) {
            let block = items[0].block as usize;
            if items.len() >= table_probe.dense_from {
                values.clear();
                table_probe.table.decode(table_probe.file, block, scratch, values)?;
                // One block may have all queries of a cluster.
                for items in items.chunks(SEARCHED_AT_ONCE) {
                    let search = Search {
                        values,
                        queries: items.len(),
                        target: |place: usize| {
                            table_probe.target_of_item(items[place].value, items[place].query)
                        },
                        scratch: searching,
                        visit: |place: usize, value| {
                            found(table_probe, items[place].query, items[place].value, value, finds)
                        },
                    };
                    search.run()?;
                    searched += items.len() + values.len();
                    if searched >= SEARCHED_AT_ONCE {
                        table_probe.done.check()?;
                        searched = 0;
                    }
                }
            } else {
                items.iter().for_each(|item| sparse.push(table_probe, item));
                if sparse.located.len() >= SPARSE_BATCH {
                    sparse.scan(table_probe, finds)?;
                }
            }
        }
        sparse.scan(table_probe, finds)
    }

    /// Brings the items of the part into the order of its blocks.
    fn put_in_order(
        &mut self,
        items: &[Items<F>],
        blocks: &Range<usize>,
        part: usize,
        done: &Counter,
    ) -> Result<(), Stopped> {
        let Self { items: ordered, next, .. } = self;
        let of_part = || items.iter().map(|items| items.of_part(part));
        let count: usize = of_part().map(<[_]>::len).sum();
        ordered.clear();
        if count < blocks.len() / SORTED_FROM {
            ordered.extend(of_part().flatten());
            ordered.sort_unstable_by_key(|item| item.block);
            return Ok(());
        }
        // One part may have all items of a cluster.
        let check = || if count > SEARCHED_AT_ONCE { done.check() } else { Ok(()) };
        next.clear();
        next.resize(blocks.len() + 1, 0);
        for items in of_part() {
            check()?;
            items.iter().for_each(|item| next[item.block as usize - blocks.start + 1] += 1);
        }
        for place in 1..next.len() {
            next[place] += next[place - 1];
        }
        ordered.resize(count, Item::default());
        for items in of_part() {
            check()?;
            for item in items {
                let next = &mut next[item.block as usize - blocks.start];
                ordered[*next as usize] = *item;
                *next += 1;
            }
        }
        Ok(())
    }
}

/// A stored value within the distance of a query, both permuted.
#[inline]
fn found<F: Fingerprint>(
    table_probe: &TableProbe<'_, F>,
    query: u32,
    sought: F,
    value: F,
    finds: &mut Finds<'_, F>,
) -> Result<(), Full> {
    if !table_probe.is_sought(value ^ sought) {
        return Ok(());
    }
    let permutation = table_probe.permutation();
    let difference = permutation.undo(value ^ table_probe.query_of_item(sought, query));
    if !table_probe.owns(difference) {
        return Ok(());
    }
    let (query, distance) = (table_probe.queries.place(query), difference.count_ones());
    finds.push(Found { query, distance, fingerprint: permutation.undo(value) })
}

impl<F: Fingerprint> Sparse<F> {
    /// Reads ahead the blocks of items that are in their order.
    fn read_ahead(&mut self, table_probe: &TableProbe<'_, F>, items: &[Item<F>]) {
        let table = table_probe.table.number as u32;
        let blocks = items.chunk_by(|a, b| a.block == b.block).map(|items| items[0].block);
        self.located.extend(blocks.map(|block| Located { table, block, target: 0 }));
        (table_probe.read_ahead)(&self.located);
        self.located.clear();
    }

    fn push(&mut self, table_probe: &TableProbe<'_, F>, item: &Item<F>) {
        self.located.push(Located {
            table: table_probe.table.number as u32,
            block: item.block,
            target: self.targets.len() as u32,
        });
        self.targets.push(table_probe.target_of_item(item.value, item.query));
        self.queries.push(item.query);
    }

    /// Scans what has been pushed.
    fn scan(&mut self, table_probe: &TableProbe<'_, F>, finds: &mut Finds<'_, F>) -> Result<(), Stop> {
        let Self { scanner, located, targets, queries } = self;
        table_probe.done.check()?;
        let outcome = keeping(|keep| {
            scanner.scan(table_probe.tables, table_probe.file, located, targets, &mut |at, _, value| {
                let target = at.target as usize;
                let found = found(table_probe, queries[target], targets[target].query, value, finds);
                keep.error(found.map_err(Stop::from))
            })
        });
        located.clear();
        targets.clear();
        queries.clear();
        outcome
    }
}

/// Ranges of at most this many values are compared one by one.
const SHORT: usize = 256;

/// Memory that searches use again and again.
#[derive(Default)]
pub(super) struct Runs {
    /// Start of the run of each query.
    starts: Vec<u32>,
    /// Parts of a block that remain to be searched.
    parts: Vec<Range<usize>>,
}

/// A search of a block for all queries that meet in it.
pub(super) struct Search<'a, F, T, V> {
    /// The entries of the block, ascending, at least one.
    pub(super) values: &'a [F],
    /// Number of queries, and their targets. All radii are the same.
    pub(super) queries: usize,
    pub(super) target: T,
    pub(super) scratch: &'a mut Runs,
    /// Called with the place of a query and each value that its target meets, and perhaps with others
    /// within its distance; no value comes twice for a query.
    pub(super) visit: V,
}

impl<F, T, V> Search<'_, F, T, V>
where
    F: Fingerprint,
    T: Fn(usize) -> Target<F>,
    V: FnMut(usize, F) -> Result<(), Full>,
{
    pub(super) fn run(self) -> Result<(), Full> {
        arch::run(self)
    }

    /// With no errors allowed in the prefix, the matches of a target are in one run of equal prefixes.
    #[inline(always)]
    fn in_runs(&mut self, instructions: impl Instructions) -> Result<(), Full> {
        let Self { values, queries, target, scratch: Runs { starts, .. }, visit } = self;
        // All starts are found before the first run is compared: without a branch that depends on the query,
        // the searches overlap.
        starts.resize(*queries, 0);
        for (query, start) in starts.iter_mut().enumerate() {
            let target = target(query);
            let least = target.query & F::prefix_mask(target.prefix_bits);
            *start = values.partition_point(|&value| value < least) as u32;
        }
        for (query, &start) in starts.iter().enumerate() {
            let target = target(query);
            let greatest = target.query | !F::prefix_mask(target.prefix_bits);
            let mut visit = |value| visit(query, value);
            in_run(instructions, &values[start as usize..], greatest, &target, &mut visit)?;
        }
        Ok(())
    }

    /// The values are the leaves of a binary trie. A subtree with too many errors in the prefix is skipped; one
    /// that allows no more errors is a single run; any other is divided until it is short.
    #[inline(always)]
    fn in_tries(&mut self, instructions: impl Instructions) -> Result<(), Full> {
        let Self { values, queries, target, scratch: Runs { parts, .. }, visit } = self;
        for query in 0..*queries {
            let target = target(query);
            let mut visit = |value| visit(query, value);
            parts.clear();
            parts.push(0..values.len());
            while let Some(part) = parts.pop() {
                let part_values = &values[part.clone()];
                let (Some(&first), Some(&last)) = (part_values.first(), part_values.last()) else { continue };
                if target.rules_out(first, last) {
                    continue;
                }
                if target.uses_up(first, last) {
                    let (least, greatest) = target.span(first, last);
                    let start = part_values.partition_point(|&value| value < least);
                    in_run(instructions, &part_values[start..], greatest, &target, &mut visit)?;
                } else if part_values.len() <= SHORT {
                    within(instructions, part_values, &target, &mut visit)?;
                } else {
                    let parting = F::bit(first.first_difference(last));
                    let without = part_values.partition_point(|&value| value & parting == F::ZERO);
                    parts.push(part.start + without..part.end);
                    parts.push(part.start..part.start + without);
                }
            }
        }
        Ok(())
    }
}

impl<F, T, V> Kernel for Search<'_, F, T, V>
where
    F: Fingerprint,
    T: Fn(usize) -> Target<F>,
    V: FnMut(usize, F) -> Result<(), Full>,
{
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run(mut self, instructions: impl Instructions) -> Result<(), Full> {
        if (self.target)(0).radius == 0 { self.in_runs(instructions) } else { self.in_tries(instructions) }
    }
}

/// Calls `visit` with each of `values` up to `greatest` that is within the distance.
/// A few of the values after them are compared, too, which costs nothing.
#[inline(always)]
fn in_run<F: Fingerprint>(
    instructions: impl Instructions,
    values: &[F],
    greatest: F,
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> Result<(), Full>,
) -> Result<(), Full> {
    for values in values.chunks(LANES) {
        within(instructions, values, target, visit)?;
        if values[values.len() - 1] >= greatest {
            break;
        }
    }
    Ok(())
}

/// Calls `visit` with each value within the distance.
#[inline(always)]
fn within<F: Fingerprint>(
    instructions: impl Instructions,
    values: &[F],
    target: &Target<F>,
    visit: &mut impl FnMut(F) -> Result<(), Full>,
) -> Result<(), Full> {
    let (lanes, rest) = values.as_chunks::<LANES>();
    for values in lanes {
        let mut near = if F::BITS == u64::BITS {
            let words = values.map(|value| value.to_u128() as u64);
            instructions.near_values(&words, target.query.to_u128() as u64, target.distance)
        } else {
            let is_near = |value: &F| u32::from(value.distance(target.query) <= target.distance);
            values.iter().rev().fold(0, |near, value| near << 1 | is_near(value))
        };
        while near != 0 {
            visit(values[near.trailing_zeros() as usize])?;
            near &= near - 1;
        }
    }
    rest.iter()
        .filter(|value| value.distance(target.query) <= target.distance)
        .try_for_each(|&value| visit(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::probe::items::Parts;
    use crate::progress::{Phase, Report};
    use proptest::prelude::*;

    /// A part is sorted by items or by blocks, whichever are far fewer.
    #[test]
    fn few_items_among_many_blocks_cost_nothing_for_the_blocks() {
        for (blocks, count, counts_blocks) in [(1_600_000, 640, false), (1000, 640, true), (10, 0, true)] {
            let item = |i: u32| Item {
                block: i.wrapping_mul(2_654_435_769) % blocks,
                query: i,
                value: u64::from(i),
            };
            let items: Vec<Item<u64>> = (0..count).map(item).collect();
            let parts = Parts::of(blocks as usize, items.len());
            assert!(parts.count() <= 2 * items.len() / 128 + 2, "{} parts", parts.count());
            let located = [Items::in_order(&items, &parts)];
            let mut visitor = Visitor::default();
            let done = Counter::new(Report::default(), Phase::Batch, None);
            let mut seen = Vec::new();
            for part in 0..parts.count() {
                let range = parts.blocks(part);
                visitor.put_in_order(&located, &range, part, &done).unwrap();
                assert!(visitor.items.iter().all(|item| range.contains(&(item.block as usize))));
                seen.extend(visitor.items.iter().map(|item| (item.block, item.query)));
            }
            assert!(seen.is_sorted_by_key(|&(block, _)| block));
            let mut expected: Vec<_> = items.iter().map(|item| (item.block, item.query)).collect();
            expected.sort_unstable();
            seen.sort_unstable();
            assert_eq!(seen, expected);
            assert_eq!(visitor.next.capacity() > 0, counts_blocks, "{blocks} blocks, {count} items");
        }
    }

    proptest! {
        #[test]
        fn all_that_a_target_meets_is_found(
            centre: u64,
            flips in prop::collection::vec((0u32..64, 0u32..64, 0u32..64), 1..400),
            query_flips in prop::collection::vec(0u32..64, 0..4),
            prefix_bits in 0u32..=64,
            radius in 0u32..4,
            distance in 0u32..9,
        ) {
            let mut values: Vec<u64> =
                flips.iter().map(|&(a, b, c)| centre ^ 1 << a ^ 1 << b ^ 1 << c).collect();
            values.sort_unstable();
            values.dedup();
            let query = query_flips.iter().fold(centre, |query, &flip| query ^ 1 << flip);
            let target = Target { query, prefix_bits, radius: radius.min(prefix_bits), distance };
            let prefix = u64::prefix_mask(prefix_bits);
            let is_met = |x: &u64| {
                x.distance(query) <= distance && ((x ^ query) & prefix).count_ones() <= target.radius
            };
            let mut found = Vec::new();
            let search = Search {
                values: &values,
                queries: 2,
                target: |_| target,
                scratch: &mut Runs::default(),
                visit: |query, value| {
                    if query == 1 {
                        found.push(value);
                    }
                    Ok(())
                },
            };
            let outcome = search.run();
            prop_assert!(outcome.is_ok());
            prop_assert!(found.iter().all(|value| value.distance(query) <= distance));
            found.retain(is_met);
            found.sort_unstable();
            values.retain(is_met);
            prop_assert_eq!(found, values);
        }
    }
}
