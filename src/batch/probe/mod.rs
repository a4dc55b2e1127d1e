//! The candidate blocks of all queries, visited in order.
//!
//! One table after the other, with the queries, or a slice of them if memory is small. If a filter is asked, or the keys
//! are too large for the processor's caches, the queries are put in the order of the table. In *rounds*, as many queries
//! as memory has room for are located in the table: each gives an *item* for each candidate block. Tasks do that for
//! ranges of queries, and put their items in the order of *parts*, ranges of blocks. Then tasks take a part each, put
//! its items in the order of blocks, and visit these. So both orders are made by counting, in cache, for any data, and
//! all threads are busy in both steps. The items of a part with far more blocks than items are sorted instead, so no
//! step visits blocks without items.
//!
//! - [`items`]: from queries, in the order of a table, to blocks
//! - [`part`]: from blocks to matches

mod items;
mod part;

use std::ops::Range;

use crate::batch::cost::{CodecCosts, Sample};
use crate::batch::gather::{Finds, Found, Room};
use crate::batch::{BatchContext, Stop};
use crate::threads::{map_in_order, map_numbers};
use hamdex_fingerprint::Fingerprint;
use items::{ITEMS_PER_TASK, Item, Items, OrderedQueries, Parts, Queries, TableProbe};
use part::Visitor;

/// Minimum number of ranges of queries per thread, so that no thread waits long for another.
const RANGES_PER_THREAD: usize = 4;

/// Divisor of the memory for the work: the share of the queries in the order of a table.
const ORDER_MEMORY_DIVISOR: usize = 4;

/// Bytes of keys that stay in the processor's caches, whatever the order of the queries. A filter is probed dozens of
/// prefixes per query, so its table has them in order in any case.
const CACHED_BYTES: usize = 1 << 20;

/// Queries that are put in the order of a table, however little memory there is.
const LEAST_AT_ONCE: usize = 1 << 12;

/// Finds all matches of all queries, in no particular order.
pub(super) fn probe<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    sample: &Sample,
    room: &Room,
) -> Result<Vec<Vec<Found<F>>>, Stop> {
    let BatchContext { index, plan, options, done, queries, .. } = *context;
    let at_once =
        (options.half_bytes() / ORDER_MEMORY_DIVISOR / OrderedQueries::<F>::BYTES).max(LEAST_AT_ONCE);
    let mut found = Vec::new();
    let mut ordered = OrderedQueries::default();
    for ((number, probe), load) in plan.probes().iter().enumerate().zip(&sample.loads) {
        let table = &index.tables[probe.table];
        if table.keys.len() == 0 {
            continue;
        }
        let asks_filter = plan.asks_filter(number);
        for (slice, queries) in queries.chunks(at_once).enumerate() {
            done.check()?;
            let (permutation, first) = (&table.permutation, slice * at_once);
            let queries = if asks_filter || table.keys.len() * size_of::<F>() > CACHED_BYTES {
                ordered.order(permutation, queries, first);
                Queries::Ordered(&ordered)
            } else {
                Queries::Given { permutation, queries, first }
            };
            let table_probe = TableProbe {
                file: index.data.as_ref(),
                tables: &index.tables,
                table,
                probes: plan.probes(),
                number,
                distance: plan.distance(),
                asks_filter,
                queries,
                dense_from: options.tuning.dense_from.unwrap_or(CodecCosts::of(&table.codec).dense_from),
                read_ahead: &|located| index.read_ahead.query(&index.data, &index.tables, located),
                done,
            };
            rounds(context, &table_probe, load.blocks_per_query, ordered.held_bytes(), room, &mut found)?;
        }
    }
    Ok(found)
}

fn rounds<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    table_probe: &TableProbe<'_, F>,
    blocks_per_query: f64,
    ordered_bytes: usize,
    room: &Room,
    found: &mut Vec<Vec<Found<F>>>,
) -> Result<(), Stop> {
    let expected_items = table_probe.queries.len() as f64 * blocks_per_query;
    let parts = Parts::of(table_probe.table.keys.len(), expected_items as usize);
    // The items of a part are there twice while it is visited, and one part may have all of them.
    let item_bytes = context.options.half_bytes().saturating_sub(ordered_bytes) / 2;
    let tasks = (item_bytes / (ITEMS_PER_TASK * size_of::<Item<F>>())).max(1);
    let mut waiting = ranges(table_probe.queries.len(), blocks_per_query);
    while !waiting.is_empty() {
        let now = waiting.split_off(waiting.len().saturating_sub(tasks));
        let located = map_in_order(now, Vec::new, |blocks, range| {
            table_probe.done.check()?;
            Ok::<_, Stop>(items::locate(table_probe, range, &parts, blocks)?)
        })?;
        let (items, left): (Vec<Items<F>>, Vec<Range<usize>>) = located.into_iter().unzip();
        waiting.extend(left.into_iter().filter(|range| !range.is_empty()));
        let visited = map_numbers(parts.count(), Visitor::default, |visitor, part| {
            let mut finds = Finds::new(room);
            visitor.visit(table_probe, &items, parts.blocks(part), part, &mut finds)?;
            Ok::<_, Stop>(finds.finish())
        })?;
        found.extend(visited.into_iter().filter(|found| !found.is_empty()));
    }
    Ok(())
}

/// Returns the queries in ranges, each expected to give a task's items.
fn ranges(queries: usize, blocks_per_query: f64) -> Vec<Range<usize>> {
    let by_items = (ITEMS_PER_TASK as f64 / blocks_per_query.max(1.0)) as usize;
    let by_threads = queries.div_ceil(RANGES_PER_THREAD * rayon::current_num_threads());
    let length = by_items.min(by_threads).max(1);
    (0..queries).step_by(length).map(|start| start..queries.min(start + length)).collect()
}
