//! Batches of one index: queries in chunks, answers in the order of the queries, within the memory allowed. Those of several
//! parts are delivered by [`deliver`](super::deliver).

use std::cell::OnceCell;

use crate::batch::cost::{self, Choice, Sample};
use crate::batch::gather::{Batch, Found, Room};
use crate::batch::{BatchContext, BatchOptions, MAX_QUERIES, Stop, Strategy, Visit, groups, probe, scan};
use crate::error::{ReadError, ReadErrorKind, check_distance};
use crate::index::{Index, Match};
use crate::memory::{MIN_MEMORY, QUERY_HEADROOM_BYTES, affordable};
use crate::progress::{Counter, Phase, Stopped};
use crate::sorting;
use crate::threads::Pool;
use hamdex_fingerprint::Fingerprint;

/// Fewer queries than these are answered in groups by the thread that has them: to arrange them would cost more than
/// it saves.
const FEW: usize = 32;

/// Estimated time below which one thread answers a chunk: other threads would cost as much as they could save.
const AT_ONCE_NS: f64 = 300_000.0;

/// The share of the room for matches that the matches of a chunk are planned to take.
const PLANNED_ROOM: f64 = 0.75;

/// How many times as many matches as are wanted a query has on average, for each query to keep only the nearest.
const CROWDED: f64 = 4.0;

/// Queries whose matches are delivered between cancellation checks.
const HANDED_ON_AT_ONCE: usize = 1 << 12;

/// Matches of a query from which on all threads sort them, with cancellation checks.
const MANY_MATCHES: usize = 1 << 16;

/// Answers one slice of queries after the other.
pub(super) struct Chunks<'a, F> {
    index: &'a Index<F>,
    distance: u32,
    options: &'a BatchOptions,
    /// Made for the first chunk that needs them.
    resources: OnceCell<Option<Resources>>,
    /// Number of queries taken at once: fewer after their matches did not fit.
    size: usize,
}

/// Threads and memory granted by the system.
struct Resources {
    pool: Pool,
    /// With at most the memory that can be allocated.
    options: BatchOptions,
}

impl<'a, F: Fingerprint> Chunks<'a, F> {
    pub(super) fn new(
        index: &'a Index<F>,
        distance: u32,
        options: &'a BatchOptions,
    ) -> Result<Self, ReadError> {
        check_distance::<F>(distance)?;
        Ok(Self { index, distance, options, resources: OnceCell::new(), size: MAX_QUERIES })
    }

    /// Calls `visit` with the place and the matches of each query, in order.
    pub(super) fn answer(&mut self, queries: &[F], visit: &mut Visit<'_, F>) -> Result<(), ReadError> {
        let done = self.options.report.counter(Phase::Batch, Some(queries.len() as u64));
        let index = self.index;
        let failed = |stopped: Stopped| index.error(stopped.into());
        let done = done.map_err(failed)?;
        let mut at = 0;
        while at < queries.len() {
            let (chunk, is_crowded) = self.chunk(&queries[at..], &done).map_err(failed)?;
            let mut visit = |place, matches: &[Match<F>]| visit(at + place, matches);
            let sample = self.sample_if_worth(chunk, &done).map_err(|error| index.error(error))?;
            let resources = if sample.is_some() { self.resources()? } else { None };
            if let (Some(sample), Some(Resources { pool, options })) = (sample, resources) {
                let room = Room::of_bytes::<F>(options.half_bytes());
                let context = BatchContext { options, is_crowded, ..self.context(chunk, &done) };
                let Some(batch) = self.answer_together(&context, &sample, pool, &room)? else {
                    self.size = chunk.len() / 2;
                    continue;
                };
                self.hand_on(batch, pool, &done, &mut visit).map_err(failed)?;
                if room.is_ample() {
                    self.size = MAX_QUERIES.min(self.size * 2);
                }
            } else {
                self.answer_each(chunk, &done, &mut visit)?;
            }
            at += chunk.len();
            done.add(chunk.len() as u64).map_err(failed)?;
        }
        Ok(())
    }

    fn context<'q>(&'q self, queries: &'q [F], done: &'q Counter) -> BatchContext<'q, F> {
        BatchContext {
            index: self.index,
            plan: self.index.plan(self.distance),
            queries,
            options: self.options,
            done,
            is_crowded: false,
        }
    }

    /// Returns the next queries to answer together, as many as their matches are expected to find room for; and whether
    /// they have many more matches than are wanted.
    fn chunk<'q>(&self, queries: &'q [F], done: &Counter) -> Result<(&'q [F], bool), Stopped> {
        let chunk = &queries[..queries.len().min(self.size)];
        let matches = cost::matches_per_query(&self.context(chunk, done))?;
        let wanted = self.options.match_limit() as f64;
        let is_crowded = matches > wanted * CROWDED;
        // Otherwise all matches are gathered, and the nearest chosen of them.
        let matches = if is_crowded { wanted } else { matches };
        let room = Room::of_bytes::<F>(self.options.half_bytes()).most() as f64 * PLANNED_ROOM;
        let fitting = if matches > 0.0 { (room / matches) as usize } else { chunk.len() };
        Ok((&chunk[..chunk.len().min(fitting.max(FEW))], is_crowded))
    }

    /// Returns a sample of queries; `None` if they are best answered at once, one by one.
    pub(super) fn sample_if_worth(&self, queries: &[F], done: &Counter) -> Result<Option<Sample>, ReadError> {
        if queries.len() < FEW {
            return Ok(None);
        }
        let sample = Sample::of(&self.context(queries, done))?;
        let is_long = self.options.strategy != Strategy::Auto
            || sample.alone_ns() > self.options.tuning.at_once_ns.unwrap_or(AT_ONCE_NS);
        Ok(is_long.then_some(sample))
    }

    /// Answers a few queries at a time, or one by one if the matches of a few do not fit.
    fn answer_each(
        &mut self,
        queries: &[F],
        done: &Counter,
        visit: &mut Visit<'_, F>,
    ) -> Result<(), ReadError> {
        let check = || done.check().map_err(|stopped| self.index.error(stopped.into()));
        groups::answer(self.index, queries, (self.distance, self.options.match_limit()), check, visit)?;
        // Later queries may have fewer matches.
        self.size = self.size.max(FEW);
        Ok(())
    }

    /// Returns all queries at once; `None` when their matches find no room.
    fn answer_together(
        &self,
        context: &BatchContext<'_, F>,
        sample: &Sample,
        pool: &Pool,
        room: &Room,
    ) -> Result<Option<Batch<F>>, ReadError> {
        let gather = |parts: Vec<_>| Ok(Batch::gather(context.queries.len(), &parts, context.done)?);
        match pool.install(|| find(context, sample, room)).and_then(gather) {
            Ok(batch) => Ok(Some(batch)),
            Err(Stop::Full) => Ok(None),
            Err(Stop::Costly) => unreachable!("only a scan is left, and what comes after it has no limit"),
            Err(Stop::Failed(error)) => Err(self.index.error(error)),
        }
    }

    /// Calls `visit` with the place and the matches of each query, nearest first, then by fingerprint, in order.
    fn hand_on(
        &self,
        mut batch: Batch<F>,
        pool: &Pool,
        done: &Counter,
        visit: &mut Visit<'_, F>,
    ) -> Result<(), Stopped> {
        let (look, limit) = (|| done.check(), self.options.match_limit());
        let mut since = 0;
        for place in 0..batch.len() {
            let matches = batch.matches_mut(place);
            since += matches.len();
            if place.is_multiple_of(HANDED_ON_AT_ONCE) || since >= MANY_MATCHES {
                look()?;
                since = 0;
            }
            if matches.len() < MANY_MATCHES {
                matches.sort_unstable();
            } else {
                let distance = |one: &Match<F>| u64::from(one.distance);
                pool.install(|| sorting::sort_by_keys(matches, distance, |one| one.fingerprint, &look))?;
            }
            visit(place, &matches[..matches.len().min(limit)])?;
        }
        Ok(())
    }

    /// Returns the resources to answer many queries; `None` if memory suffices only for one query at a time.
    fn resources(&self) -> Result<Option<&Resources>, ReadError> {
        if let Some(resources) = self.resources.get() {
            return Ok(resources.as_ref());
        }
        let pool = Pool::new(self.options.threads, MIN_MEMORY + QUERY_HEADROOM_BYTES)
            .map_err(|error| self.index.error(ReadErrorKind::Threads(error).into()))?;
        let memory = affordable(self.options.memory, QUERY_HEADROOM_BYTES).ok();
        let resources = memory.map(|bytes| Resources { pool, options: self.options.clone().memory(bytes) });
        Ok(self.resources.get_or_init(|| resources).as_ref())
    }
}

/// Finds all matches of all queries, in no particular order.
fn find<F: Fingerprint>(
    context: &BatchContext<'_, F>,
    sample: &Sample,
    room: &Room,
) -> Result<Vec<Vec<Found<F>>>, Stop> {
    if context.is_crowded {
        return groups::alone(context, room);
    }
    let scan = match cost::choose(context, sample) {
        Choice::Alone => return groups::alone(context, room),
        Choice::Probe => return probe::probe(context, sample, room),
        Choice::Scan(scan) => scan,
    };
    let (mut found, answered) = scan::scan(context, &scan, room)?;
    if answered < context.queries.len() {
        let rest = BatchContext { queries: &context.queries[answered..], ..*context };
        let mut more = if sample.alone_ns() <= sample.probe_ns() {
            groups::alone(&rest, room)?
        } else {
            probe::probe(&rest, sample, room)?
        };
        more.iter_mut().flatten().for_each(|found| found.query += answered as u32);
        found.extend(more);
    }
    Ok(found)
}
