//! Queries in groups, in the order given, by all threads: arranging them costs more than it saves if they rarely share
//! blocks. One thread answers the queries of a group together, so that their memory accesses overlap.

use crate::batch::gather::{Finds, Found, Room};
use crate::batch::{BatchContext, Stop};
use crate::error::ReadError;
use crate::index::searcher::Searcher;
use crate::index::{Index, Match};
use crate::progress::Stopped;
use crate::threads::map_numbers;
use hamdex_fingerprint::Fingerprint;

/// Queries of a group: enough that memory has always something to do, few enough that what it brings is still in the
/// nearest caches when it is wanted.
const GROUP: usize = 16;

/// Number of queries from which on several indexes are queried index by index, in groups, rather than query by
/// query.
pub(crate) const WORTH_GROUPING: usize = 8;

/// The most blocks of a group, as the cost model has them: all are listed before the first is read.
const MAX_BLOCKS: f64 = 4096.0;

/// The most matches of a group: all are in memory at once.
const MAX_MATCHES: usize = 4096;

/// Returns the number of queries to take together at a distance, at least one.
fn group_size<F: Fingerprint>(index: &Index<F>, distance: u32) -> usize {
    let blocks = index.expected_blocks(distance);
    ((MAX_BLOCKS / blocks.max(1.0)) as usize).clamp(1, GROUP)
}

/// Calls `visit` with the place and the matches of each query, nearest first, then by fingerprint, in order, at most `limit`
/// of each; and `check` before each group.
///
/// # Errors
/// When a block that is read is damaged, or `check` or `visit` fails. Queries before it may have been visited.
pub(super) fn answer<F: Fingerprint>(
    index: &Index<F>,
    queries: &[F],
    (distance, limit): (u32, usize),
    mut check: impl FnMut() -> Result<(), ReadError>,
    mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    let (size, mut searcher) = (group_size(index, distance), index.searcher());
    // The matches of a group, each with the place of its query; those of one query.
    let (mut found, mut matches) = (Vec::new(), Vec::new());
    for (number, group) in queries.chunks(size).enumerate() {
        check()?;
        let visit = |place, matches: &[Match<F>]| visit(number * size + place, matches);
        if find(&mut searcher, group, distance, &mut found)? {
            in_order(&mut found, group.len(), limit, &mut matches, visit)?;
        } else {
            one_by_one(&mut searcher, group, distance, limit, &mut check, visit)?;
        }
    }
    Ok(())
}

/// Finds all matches of some queries; `false` if there are too many for memory.
fn find<F: Fingerprint>(
    searcher: &mut Searcher<&Index<F>>,
    group: &[F],
    distance: u32,
    found: &mut Vec<(usize, Match<F>)>,
) -> Result<bool, ReadError> {
    found.clear();
    let mut is_full = false;
    let outcome = searcher.for_each_of(group, distance, |place, near| {
        is_full = found.len() == MAX_MATCHES;
        if is_full {
            return Err(ReadError::from(Stopped));
        }
        found.push((place, near));
        Ok(())
    });
    if is_full { Ok(false) } else { outcome.map(|()| true) }
}

/// Delivers the matches of a group.
fn in_order<F: Fingerprint>(
    found: &mut [(usize, Match<F>)],
    queries: usize,
    limit: usize,
    matches: &mut Vec<Match<F>>,
    mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    found.sort_unstable();
    let mut rest = &*found;
    (0..queries).try_for_each(|place| {
        let (own, behind) = rest.split_at(rest.partition_point(|&(of, _)| of == place));
        rest = behind;
        matches.clear();
        matches.extend(own.iter().take(limit).map(|&(_, near)| near));
        visit(place, matches)
    })
}

/// Answers one query after the other, with no limit on the memory of its matches.
fn one_by_one<F: Fingerprint>(
    searcher: &mut Searcher<&Index<F>>,
    queries: &[F],
    distance: u32,
    limit: usize,
    check: &mut impl FnMut() -> Result<(), ReadError>,
    mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    for (place, &query) in queries.iter().enumerate() {
        check()?;
        visit(place, searcher.limited_within(query, distance, limit)?)?;
    }
    Ok(())
}

/// Minimum number of ranges of queries per thread, so that no thread waits long for another.
const RANGES_PER_THREAD: usize = 8;

/// Finds all matches of all queries, in no particular order; where they crowd, the nearest that are wanted.
pub(super) fn alone<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    room: &Room,
) -> Result<Vec<Vec<Found<F>>>, Stop> {
    let BatchContext { index, plan, queries, done, options, .. } = context;
    let length = queries.len().div_ceil(RANGES_PER_THREAD * rayon::current_num_threads()).max(1);
    let size = group_size(*index, plan.distance());
    map_numbers(
        queries.len().div_ceil(length),
        || index.searcher(),
        |searcher, range| {
            let mut finds = Finds::new(room);
            let queries = &queries[range * length..queries.len().min((range + 1) * length)];
            for (group, together) in queries.chunks(size).enumerate() {
                done.check()?;
                let first = range * length + group * size;
                if context.is_crowded {
                    for (place, &query) in together.iter().enumerate() {
                        done.check()?;
                        let matches =
                            searcher.limited_within(query, plan.distance(), options.match_limit())?;
                        for &Match { distance, fingerprint, .. } in matches {
                            let found = Found { query: (first + place) as u32, distance, fingerprint };
                            finds.push(found)?;
                        }
                    }
                    continue;
                }
                let check_cancelled = |_, _| done.check();
                searcher.for_each_of_while(together, plan.distance(), &check_cancelled, |place, found| {
                    let query = (first + place) as u32;
                    let Match { distance, fingerprint, .. } = found;
                    Ok::<_, Stop>(finds.push(Found { query, distance, fingerprint })?)
                })?;
            }
            Ok(finds.finish())
        },
    )
}
