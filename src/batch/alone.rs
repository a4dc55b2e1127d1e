//! Queries in groups, in the order given, by all threads: arranging them costs more than it saves if they
//! rarely share blocks.

use rayon::prelude::*;

use crate::batch::context::{BatchContext, Stop};
use crate::batch::gather::{Finds, Found, Room};
use crate::batch::groups::group_size;
use crate::index::matches::Match;
use hamdex_fingerprint::Fingerprint;

/// Ranges of queries for each thread, at least, so that none waits long for another.
const RANGES_PER_THREAD: usize = 8;

/// Finds all matches of all queries, in no particular order; where they crowd, the nearest that are wanted.
pub(super) fn alone<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    room: &Room,
) -> Result<Vec<Vec<Found<F>>>, Stop> {
    let BatchContext { index, plan, queries, done, options, .. } = context;
    let length = queries.len().div_ceil(RANGES_PER_THREAD * rayon::current_num_threads()).max(1);
    let size = group_size(*index, plan.distance());
    let ranges = queries.par_chunks(length).enumerate();
    ranges
        .map_init(
            || index.searcher(),
            |searcher, (range, queries)| {
                let mut finds = Finds::new(room);
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
                                if finds.push(found).is_break() {
                                    return Err(Stop::Full);
                                }
                            }
                        }
                        continue;
                    }
                    let check_cancelled = |_, _| done.check();
                    let outcome = searcher.for_each_of_while(
                        together,
                        plan.distance(),
                        &check_cancelled,
                        |place, found| {
                            finds.push(Found {
                                query: (first + place) as u32,
                                distance: found.distance,
                                fingerprint: found.fingerprint,
                            })
                        },
                    );
                    if outcome?.is_break() {
                        return Err(Stop::Full);
                    }
                }
                Ok(finds.finish())
            },
        )
        .collect()
}
