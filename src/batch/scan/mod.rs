//! Table 0 of the file streamed past tables of the queries (§3.2 of the paper).
//!
//! The tables are those of a design for the distance, chosen for the number of queries: [`design`]. Each block
//! is decoded once, by any thread. Fingerprints that are near no query are dropped many at a time, if that
//! pays: [`sieve`]. Each of the others is looked up in each table of the queries: [`query_table`]. A scan that
//! exceeds its estimated cost by too much is given up: [`design`].

pub(super) mod design;
mod query_table;
pub(super) mod sieve;

use crate::batch::gather::{Finds, Found, Room};
use crate::batch::{BatchContext, Stop};
use crate::codec::Scratch;
use crate::design::{TableDesign, is_first};
use crate::index::Index;
use crate::progress::Counter;
use crate::table;
use crate::table::runs_of;
use crate::threads::map_numbers;
use design::{Budget, CANDIDATE_NS, MET_NS};
use hamdex_fingerprint::Fingerprint;
use query_table::{QueryTable, Spent};
use sieve::Sieve;

/// Blocks that a task streams.
const BLOCKS_PER_TASK: usize = 256;

/// Fingerprints decoded before they are looked up, in one table after the other: enough that each table
/// stays in cache meanwhile.
const LOOKUP_BATCH: usize = 1 << 18;

/// Fingerprints that are decoded before they are sifted. With many of them, their queries are seldom looked up.
const SIFT_BATCH: usize = 1 << 16;

/// Look-ups, hits and comparisons between cancellation checks.
const LOOKED_UP_AT_ONCE: usize = 1 << 20;

/// A scan, as planned.
pub(super) struct Scan<F> {
    /// The tables of queries.
    pub(super) tables: Vec<TableDesign<F>>,
    /// Whether fingerprints are sieved before they are looked up.
    pub(super) is_sieved: bool,
    /// Cost of meetings, in nanoseconds of the model, beyond which the scan is given up; `None` for no limit.
    pub(super) most_meeting_ns: Option<u64>,
}

/// Matches in no particular order, piece by piece; and of how many of the queries, the first ones, they are all.
type Scanned<F> = (Vec<Vec<Found<F>>>, usize);

/// Finds all matches of the first of the queries: of fewer than all if the scan was given up.
pub(super) fn scan<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    scan: &Scan<F>,
    room: &Room,
) -> Result<Scanned<F>, Stop> {
    let BatchContext { index, plan, queries, options, done, .. } = context;
    let reaches = &*scan.tables;
    let at_once = max_queries::<F>(options.half_bytes(), reaches.len());
    let budget = Budget::new(scan.most_meeting_ns);
    let mut found = Vec::new();
    for (turn, queries) in queries.chunks(at_once).enumerate() {
        done.check()?;
        let before = turn * at_once;
        let sieve = scan.is_sieved.then(|| Sieve::new(queries, plan.distance(), done)).transpose()?;
        let pass =
            Pass { index, reaches, distance: plan.distance(), before, queries, sieve, budget: &budget, done };
        let taken = room.taken();
        match pass.run(room) {
            Ok(more) => found.extend(more),
            Err(Stop::Costly) => {
                // The matches of the pass are dropped: its queries are answered another way.
                room.give_back(room.taken() - taken);
                return Ok((found, before));
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok((found, queries.len()))
}

/// Returns the number of queries that the tables and the sieve may hold.
pub(super) fn max_queries<F: Fingerprint>(bytes: usize, tables: usize) -> usize {
    (bytes / (tables * QueryTable::<F>::bytes_per_query() + Sieve::<F>::bytes_per_query())).max(1)
}

/// Fingerprints of table 0, buffered for the tables of queries.
#[derive(Default)]
struct Candidates<F> {
    decoded: Vec<F>,
    sifting: sieve::Workspace<F>,
    /// The decoded fingerprints that pass the sieve.
    kept: Vec<F>,
}

impl<F> Candidates<F> {
    fn len(&self) -> usize {
        self.decoded.len() + self.kept.len()
    }

    fn clear(&mut self) {
        self.decoded.clear();
        self.kept.clear();
    }
}

/// One pass over the file, for as many queries as fit into memory.
struct Pass<'a, F> {
    index: &'a Index<F>,
    reaches: &'a [TableDesign<F>],
    distance: u32,
    /// The place of the first of the queries among all.
    before: usize,
    queries: &'a [F],
    sieve: Option<Sieve<F>>,
    budget: &'a Budget,
    /// The cancellation check.
    done: &'a Counter,
}

impl<F: Fingerprint> Pass<'_, F> {
    fn run(&self, room: &Room) -> Result<Vec<Vec<Found<F>>>, Stop> {
        let lookup = |(): &mut (), number| QueryTable::new(self.queries, &self.reaches[number], self.done);
        let lookups = map_numbers(self.reaches.len(), || (), lookup)?;
        let blocks = self.index.tables[0].keys.len();
        let mut streamed = map_numbers(
            blocks.div_ceil(BLOCKS_PER_TASK),
            || {
                let windows = self.index.read_ahead.windows_of_unread(&self.index.data);
                (Scratch::default(), Candidates::default(), windows)
            },
            |(scratch, candidates, windows), task| {
                let blocks = task * BLOCKS_PER_TASK..blocks.min((task + 1) * BLOCKS_PER_TASK);
                let mut finds = Finds::new(room);
                candidates.clear();
                table::count(blocks.len());
                let Index { tables, data, .. } = self.index;
                for run in runs_of(blocks) {
                    run.clone().for_each(|block| windows.reach(&tables[0], block));
                    tables[0].decode_run(data.as_ref(), run, scratch, &mut candidates.decoded)?;
                    if self.sieve.is_some() && candidates.decoded.len() >= SIFT_BATCH {
                        self.sift(candidates)?;
                    }
                    if candidates.len() >= LOOKUP_BATCH {
                        self.look_up(&lookups, candidates, &mut finds)?;
                    }
                }
                self.look_up(&lookups, candidates, &mut finds)?;
                Ok::<_, Stop>(finds.finish())
            },
        )?;
        streamed.retain(|found| !found.is_empty());
        Ok(streamed)
    }

    /// Moves on from what has been decoded what a query may be near.
    fn sift(&self, candidates: &mut Candidates<F>) -> Result<(), Stop> {
        if let Some(sieve) = &self.sieve {
            self.done.check()?;
            let Candidates { decoded, sifting, kept } = candidates;
            sieve.sift(decoded, sifting, kept);
            decoded.clear();
        }
        Ok(())
    }

    /// Looks up all candidates, and forgets them.
    fn look_up(
        &self,
        lookups: &[QueryTable<F>],
        candidates: &mut Candidates<F>,
        finds: &mut Finds<'_, F>,
    ) -> Result<(), Stop> {
        self.sift(candidates)?;
        let values = if self.sieve.is_some() { &candidates.kept } else { &candidates.decoded };
        let mut unchecked = 0;
        for (number, lookup) in lookups.iter().enumerate() {
            self.done.check()?;
            let visit = |query: u32, fingerprint, difference: F| {
                if !is_first(&self.reaches[..number], difference) {
                    return Ok(());
                }
                let query = (self.before + query as usize) as u32;
                finds.push(Found { query, distance: difference.count_ones(), fingerprint })
            };
            let spend = |Spent { looked, marked, compared }| {
                unchecked += looked + marked + compared;
                if unchecked >= LOOKED_UP_AT_ONCE {
                    self.done.check()?;
                    unchecked = 0;
                }
                self.budget.spend(marked as f64 * MET_NS + compared as f64 * CANDIDATE_NS)
            };
            lookup.each_near(values, self.distance, visit, spend)?;
        }
        candidates.clear();
        Ok(())
    }
}
