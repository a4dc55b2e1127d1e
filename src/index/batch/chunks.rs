//! Queries in chunks, answers in the order of the queries, within the memory allowed.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use crate::error::{ReadError, ReadErrorKind};
use crate::index::batch::cost::{self, Choice};
use crate::index::batch::gather::{Batch, Room};
use crate::index::batch::options::{BatchOptions, MAX_QUERIES};
use crate::index::batch::question::{Question, Stop};
use crate::index::batch::{probe, scan};
use crate::index::handle::Index;
use crate::index::matches::Match;
use crate::memory::{QUERY_HEADROOM_BYTES, affordable};
use crate::progress::{Counter, Phase};
use crate::threads::Pool;
use hamdex_fingerprint::Fingerprint;

/// Fewer queries than these are answered one by one: to arrange them would cost more than it saves.
pub(in crate::index) const FEW: usize = 32;

/// Answers one slice of queries after the other.
pub(super) struct Chunks<'a, F, D> {
    index: &'a Index<F, D>,
    distance: u32,
    options: &'a BatchOptions,
    /// For the first chunk that is worth it.
    means: OnceCell<Option<Means>>,
    /// How many queries are taken at once: fewer once their matches have found no room.
    size: usize,
}

/// What the system has granted.
struct Means {
    pool: Pool,
    /// With no more memory than can be had.
    options: BatchOptions,
}

impl<'a, F: Fingerprint, D: AsRef<[u8]> + Sync> Chunks<'a, F, D> {
    pub(super) fn new(index: &'a Index<F, D>, distance: u32, options: &'a BatchOptions) -> Self {
        Self { index, distance, options, means: OnceCell::new(), size: MAX_QUERIES }
    }

    /// Calls `visit` with the place and the matches of each query, in order, until it breaks.
    pub(super) fn answer(
        &mut self,
        queries: &[F],
        visit: &mut impl FnMut(usize, &[Match<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let done = self.options.progress.counter(Phase::Batch, Some(queries.len() as u64));
        let done = done.map_err(|stopped| self.index.error(stopped.into()))?;
        let limit = self.options.most_matches();
        let mut at = 0;
        while at < queries.len() {
            let chunk = &queries[at..queries.len().min(at + self.size)];
            let mut visit = |place, matches: &[Match<F>]| visit(at + place, matches);
            let means = if chunk.len() < FEW { None } else { self.means()? };
            let outcome = if let Some(Means { pool, options }) = means {
                let room = Room::of_bytes::<F>(options.match_bytes());
                let Some(mut batch) = self.answer_together(chunk, pool, options, &room, &done)? else {
                    self.size = chunk.len() / 2;
                    continue;
                };
                if room.is_ample() {
                    self.size = MAX_QUERIES.min(self.size * 2);
                }
                (0..chunk.len()).try_for_each(|place| {
                    let matches = batch.matches_mut(place);
                    matches.sort_unstable();
                    visit(place, &matches[..matches.len().min(limit)])
                })
            } else {
                self.answer_each(chunk, &done, &mut visit)?
            };
            if outcome.is_break() {
                return Ok(outcome);
            }
            at += chunk.len();
            done.add(chunk.len() as u64).map_err(|stopped| self.index.error(stopped.into()))?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// One query after the other, whatever room its matches take.
    fn answer_each(
        &mut self,
        queries: &[F],
        done: &Counter,
        visit: &mut impl FnMut(usize, &[Match<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let mut searcher = self.index.searcher();
        for (place, &query) in queries.iter().enumerate() {
            done.check().map_err(|stopped| self.index.error(stopped.into()))?;
            let limit = self.options.most_matches();
            if visit(place, searcher.limited_within(query, self.distance, limit)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        // What follows may be lighter.
        self.size = self.size.max(FEW);
        Ok(ControlFlow::Continue(()))
    }

    /// All queries at once; `None` when their matches find no room.
    fn answer_together(
        &self,
        queries: &[F],
        pool: &Pool,
        options: &BatchOptions,
        room: &Room,
        done: &Counter,
    ) -> Result<Option<Batch<F>>, ReadError> {
        let (index, plan) = (self.index, self.index.plan(self.distance));
        let question = Question { index, plan, queries, options, done };
        let found = pool.install(|| match cost::choose(&question) {
            Choice::Probe => probe::probe(&question, room),
            Choice::Scan(reaches) => scan::scan(&question, &reaches, room),
        });
        match found {
            Ok(parts) => Ok(Some(Batch::gather(queries.len(), &parts))),
            Err(Stop::Full) => Ok(None),
            Err(Stop::Failed(error)) => Err(self.index.error(error)),
        }
    }

    /// What to answer many queries with; `None` where there is no memory for more than one query at a time.
    fn means(&self) -> Result<Option<&Means>, ReadError> {
        if let Some(means) = self.means.get() {
            return Ok(means.as_ref());
        }
        let pool = Pool::new(self.options.threads)
            .map_err(|error| self.index.error(ReadErrorKind::Threads(error).into()))?;
        let memory = affordable(self.options.memory, QUERY_HEADROOM_BYTES).ok();
        let means = memory.map(|bytes| Means { pool, options: self.options.clone().memory(bytes) });
        Ok(self.means.get_or_init(|| means).as_ref())
    }
}
