//! Table 0 of the file streamed past tables of the queries (§3.2 of the paper).
//!
//! The tables are those of a design for the distance, chosen for the number of queries: [`design`].
//! Each block is decoded once, by whichever thread comes to it, and each of its fingerprints looked up
//! in each table of the queries: [`lookup`]. A scan that turns out dearer than it was expected to be is left:
//! [`budget`].

mod budget;
pub(super) mod design;
mod lookup;

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use crate::codec::Scratch;
use crate::design::{TableDesign, is_first};
use crate::index::batch::gather::{Finds, Found, Room};
use crate::index::batch::question::{Question, Stop};
use crate::index::handle::Index;
use crate::progress::Counter;
use crate::table::reader::runs_of;
use budget::Budget;
use design::{CANDIDATE_NS, MET_NS};
use hamdex_fingerprint::Fingerprint;
use lookup::{Lookup, Outcome};

/// Blocks that a task streams.
const BLOCKS_PER_TASK: usize = 256;

/// Fingerprints decoded before they are looked up, in one table after the other: enough that each table
/// stays in cache meanwhile.
const LOOKUP_BATCH: usize = 1 << 18;

/// How to scan.
pub(super) struct Scan<F> {
    /// The tables of queries.
    pub(super) tables: Vec<TableDesign<F>>,
    /// How much fingerprints that meet queries may cost, in nanoseconds of the model, before the scan is left; `None`
    /// for as much as it takes.
    pub(super) most_meeting_ns: Option<u64>,
}

/// Matches in no particular order, piece by piece; and of how many of the queries, the first ones, they are all.
type Scanned<F> = (Vec<Vec<Found<F>>>, usize);

/// Finds all matches of the first of the queries: of fewer than all where the scan has been left.
pub(super) fn scan<F: Fingerprint, D: AsRef<[u8]> + Sync>(
    question: &Question<'_, F, D>,
    scan: &Scan<F>,
    room: &Room,
) -> Result<Scanned<F>, Stop> {
    let Question { index, plan, queries, options, done } = question;
    let reaches = &*scan.tables;
    let at_once = max_queries::<F>(options.work_bytes(), reaches.len());
    let budget = Budget::new(scan.most_meeting_ns);
    let mut found = Vec::new();
    for (turn, queries) in queries.chunks(at_once).enumerate() {
        done.check()?;
        let before = turn * at_once;
        let pass = Pass { index, reaches, distance: plan.distance(), before, queries, budget: &budget, done };
        let taken = room.taken();
        match pass.run(room) {
            Ok(more) => found.extend(more),
            Err(Stop::Costly) => {
                // What the pass has found is gone: its queries are answered another way.
                room.give_back(room.taken() - taken);
                return Ok((found, before));
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok((found, queries.len()))
}

/// How many queries the tables may hold.
pub(super) fn max_queries<F: Fingerprint>(bytes: usize, tables: usize) -> usize {
    (bytes / (tables * Lookup::<F>::bytes_per_query())).max(1)
}

/// One pass over the file, for as many queries as fit into memory.
struct Pass<'a, F, D> {
    index: &'a Index<F, D>,
    reaches: &'a [TableDesign<F>],
    distance: u32,
    /// The place of the first of the queries among all.
    before: usize,
    queries: &'a [F],
    budget: &'a Budget,
    /// What says whether to go on.
    done: &'a Counter,
}

impl<F: Fingerprint, D: AsRef<[u8]> + Sync> Pass<'_, F, D> {
    fn run(&self, room: &Room) -> Result<Vec<Vec<Found<F>>>, Stop> {
        let lookups: Vec<Lookup<F>> =
            self.reaches.par_iter().map(|reach| Lookup::new(self.queries, reach)).collect();
        let blocks = self.index.tables[0].keys.len();
        let tasks: Vec<Range<usize>> = (0..blocks)
            .step_by(BLOCKS_PER_TASK)
            .map(|start| start..blocks.min(start + BLOCKS_PER_TASK))
            .collect();
        let mut streamed: Vec<Vec<Found<F>>> = tasks
            .into_par_iter()
            .map_init(
                || (Scratch::default(), Vec::new()),
                |(scratch, values), blocks| {
                    let mut finds = Finds::new(room);
                    values.clear();
                    let Index { tables, data, read_ahead, .. } = self.index;
                    read_ahead.blocks(data, &tables[0], blocks.clone());
                    for run in runs_of(blocks) {
                        tables[0].decode_run(data.as_ref(), run, scratch, values)?;
                        if values.len() >= LOOKUP_BATCH {
                            self.look_up(&lookups, values, &mut finds)?;
                            values.clear();
                        }
                    }
                    self.look_up(&lookups, values, &mut finds)?;
                    Ok::<_, Stop>(finds.finish())
                },
            )
            .collect::<Result<_, _>>()?;
        streamed.retain(|found| !found.is_empty());
        Ok(streamed)
    }

    fn look_up(&self, lookups: &[Lookup<F>], values: &[F], finds: &mut Finds<'_, F>) -> Result<(), Stop> {
        for (number, lookup) in lookups.iter().enumerate() {
            self.done.check()?;
            let visit = |query: u32, fingerprint, difference: F| {
                if !is_first(&self.reaches[..number], difference) {
                    return ControlFlow::Continue(());
                }
                let query = (self.before + query as usize) as u32;
                finds.push(Found { query, distance: difference.count_ones(), fingerprint })
            };
            let spend = |marked: usize, compared: usize| {
                self.budget.spend(marked as f64 * MET_NS + compared as f64 * CANDIDATE_NS)
            };
            match lookup.each_near(values, self.distance, visit, spend) {
                Outcome::Done => {}
                Outcome::Full => return Err(Stop::Full),
                Outcome::Costly => return Err(Stop::Costly),
            }
        }
        Ok(())
    }
}
