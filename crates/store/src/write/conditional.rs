//! Conditional writes, by optimistic concurrency: a snapshot is searched without a lock, which also brings the needed
//! blocks into memory, and the decisions are made when the records are committed, on the view that they change. They use a
//! result of the search where it is still true. If newer pairs may have been flushed, or a file has been ingested, all
//! results are in doubt, and the search is repeated.
//!
//! [`unless_near`](super::unless_near) and [`unless_similar`](super::unless_similar) are the conditions.

use std::time::Instant;

use hamdex::{Cancellation, Fingerprint, ReadError, ReadErrorKind, Report};

use crate::error::Error;
use crate::store::Store;
use crate::write::request::{Conditional, Put, Reply, Request};

/// Maximum number of searches before one that blocks flushes.
const MAX_SEARCHES: usize = 8;

/// How the request of an attempt is committed.
#[derive(Clone, Copy)]
pub(super) enum Attempt {
    /// In a group, with the deadline of the handle.
    Queued,
    /// At once and alone.
    Alone,
}

impl<F: Fingerprint> Store<F> {
    /// Calls a function that searches and [commits](Self::commit_conditional), until it returns the outcomes.
    pub(super) fn search_until_committed(
        &self,
        mut attempt: impl FnMut(Attempt) -> Result<Option<Put<F>>, Error>,
    ) -> Result<Put<F>, Error> {
        let mut put = || {
            for _ in 0..MAX_SEARCHES {
                if let Some(put) = attempt(Attempt::Queued)? {
                    return Ok(put);
                }
            }
            // Memtables are filled and flushed faster than the search. So no flush is published during this one, which
            // must not wait for room in memory then.
            let _publisher = self.inner().lock_manifest();
            loop {
                if let Some(put) = attempt(Attempt::Alone)? {
                    return Ok(put);
                }
            }
        };
        // A deadline ends a search by cancellation.
        put().map_err(|error| match error {
            Error::Read(error) if matches!(error.kind(), ReadErrorKind::Stopped) => self.inner().timed_out(),
            error => error,
        })
    }

    /// Commits a request; `None` if the search has to be repeated.
    pub(super) fn commit_conditional(
        &self,
        request: impl Conditional<F> + 'static,
        attempt: Attempt,
    ) -> Result<Option<Put<F>>, Error> {
        let request = Request::Conditional(Box::new(request));
        let reply = match attempt {
            Attempt::Queued => self.commit(request),
            Attempt::Alone => self.inner().commit_alone(request),
        };
        match reply? {
            Reply::Put(put) => Ok(Some(put)),
            Reply::SearchAgain => Ok(None),
            reply => Err(self.refused(&reply)),
        }
    }
}

/// Checks that a deadline has not passed.
///
/// # Errors
/// When it has: [`ReadErrorKind::Stopped`].
pub(super) fn go_on_until(deadline: Option<Instant>) -> Result<(), ReadError> {
    match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        true => Err(ReadErrorKind::Stopped.into()),
        false => Ok(()),
    }
}

/// Returns the report of a search that ends at a deadline.
pub(super) fn report_until(deadline: Option<Instant>) -> Report {
    deadline.map(Cancellation::at).into_iter().fold(Report::new(), Report::cancellation)
}
