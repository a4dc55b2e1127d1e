//! Insert unless near: a pair is inserted unless a stored fingerprint lies within a distance of it.
//!
//! A snapshot is searched without any lock. When the pairs are committed, only newer writes are searched again.
//!
//! This file has the first half, on a snapshot, also for replacements, and the methods of [`Store`](crate::Store).
//! [`decisions`] has the second half, under the lock of the writer, also for replacements, which are not near to what
//! they replace.

pub(crate) mod decisions;

use std::sync::Arc;

use hamdex::{BatchOptions, Fingerprint, Match, ReadError, ReadErrorKind};

use crate::error::Error;
use crate::read::Snapshot;
use crate::store::Store;
use crate::write::commit::Outcome;
use crate::write::reply::{Inserted, Nears, Put, Reply};
use crate::write::request::Request;
use crate::write::unless_near::decisions::{
    Known, Owned, ReplaceUnlessNear, UnlessNear, count_within, go_on_until, nearest_other, report_until,
};
use crate::write::{Document, Pair};

/// Maximum number of searches before one that blocks flushes.
const MAX_SEARCHES: usize = 8;

/// Minimum number of pairs that are searched for as a batch, by all threads.
const MIN_BATCH: usize = 64;

impl<F: Fingerprint> Store<F> {
    /// Inserts pairs in order, each unless a fingerprint within `distance` is stored or has been inserted before it.
    /// `names` are those of the pairs, in a store with names.
    pub(in crate::write) fn unless_near(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
    ) -> Result<Put<F>, Error> {
        self.search_until_committed(|commit| self.try_unless_near(pairs, names, distance, commit))
    }

    /// Calls a function that searches, and commits by the function that it gets, until it returns an outcome.
    pub(super) fn search_until_committed<T>(
        &self,
        mut attempt: impl FnMut(fn(&Self, Request<F>) -> Outcome<F>) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        for _ in 0..MAX_SEARCHES {
            if let Some(outcome) = attempt(Self::commit)? {
                return Ok(outcome);
            }
        }
        // Memtables are filled and flushed faster than the search. So no flush is published during this one, which must
        // not wait for room in memory then.
        let _publisher = self.inner().lock_manifest();
        loop {
            if let Some(outcome) = attempt(|store, request| store.inner().commit_alone(request))? {
                return Ok(outcome);
            }
        }
    }

    /// Searches and commits once; `None` if the search has to be repeated.
    fn try_unless_near(
        &self,
        pairs: &[(F, u64)],
        names: Option<&[Document]>,
        distance: u32,
        commit: impl FnOnce(&Self, Request<F>) -> Outcome<F>,
    ) -> Result<Option<Put<F>>, Error> {
        let mut request = self.search(pairs, distance)?;
        // Without insertions, the view of the search is the moment of the outcome.
        if request.nearest.iter().all(Option::is_some) {
            self.inner().check_held()?;
            let near = request.nearest.into_iter().flatten().map(|near| Inserted::Near(Box::new(near)));
            return Ok(Some(Put { outcomes: near.collect(), inserted: 0, removed: 0 }));
        }
        request.names = names.map(<[_]>::to_vec);
        let _searched = Arc::clone(&request.searched);
        match commit(self, Request::UnlessNear(request))? {
            Reply::Put(put) => Ok(Some(put)),
            Reply::SearchAgain => Ok(None),
            reply => Err(self.refused(&reply)),
        }
    }

    /// Finds the nearest fingerprint to each pair in the current view, until the deadline of this handle.
    fn search(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        self.search_until(pairs, distance).map_err(|error| self.timed_out_if_stopped(error))
    }

    /// Returns the error of a deadline that ended a search as what it is.
    pub(super) fn timed_out_if_stopped(&self, error: Error) -> Error {
        match error {
            Error::Read(error) if matches!(error.kind(), ReadErrorKind::Stopped) => self.inner().timed_out(),
            error => error,
        }
    }

    /// Returns the options of a batch that ends at the deadline of this handle.
    fn batch_options(&self) -> BatchOptions {
        let options = BatchOptions::new().threads(self.inner().options.threads);
        options.report_to(report_until(self.deadline()))
    }

    fn search_until(&self, pairs: &[(F, u64)], distance: u32) -> Result<UnlessNear<F>, Error> {
        let snapshot = self.snapshot();
        let nearest = if pairs.len() < MIN_BATCH {
            let searchers = &self.inner().searchers;
            let mut searcher = searchers.take(snapshot.clone());
            let near = |&(fingerprint, _): &(F, u64)| {
                Ok(searcher.nearest_within(fingerprint, 1, distance)?.first().copied())
            };
            let nearest = pairs.iter().map(near).collect::<Result<_, Error>>()?;
            searchers.put_back(searcher, &self.inner().view);
            nearest
        } else {
            let fingerprints: Vec<F> = pairs.iter().map(|pair| pair.0).collect();
            snapshot.nearest_of_each(&fingerprints, distance, self.batch_options())?
        };
        let (view, identity) = (snapshot.view(), self.inner().schema.identity);
        let mut nears = Nears::default();
        let described = |found: Option<Match<F>>| {
            let near = found.map(|found| nears.of(view, found, &identity)).transpose()?;
            go_on_until(self.deadline())?;
            Ok(near)
        };
        let nearest = nearest.into_iter().map(described).collect::<Result<_, ReadError>>()?;
        // What was found in segments that were cut off, and what was not.
        view.check_files()?;
        Ok(UnlessNear {
            identity,
            pairs: pairs.to_vec(),
            names: None,
            distance,
            nearest,
            searched: snapshot.shared_view(),
        })
    }
}

impl<F: Fingerprint> Store<F> {
    /// Makes each pair the only one with its id, or in a store with names its name, in order, unless a fingerprint
    /// within `distance` has another, whether it was stored or has been inserted before it.
    pub(in crate::write) fn replace_unless_near(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
    ) -> Result<Put<F>, Error> {
        self.search_until_committed(|commit| self.try_replace(pairs, names, distance, commit))
            .map_err(|error| self.timed_out_if_stopped(error))
    }

    /// Searches and commits once; `None` if the search has to be repeated.
    fn try_replace(
        &self,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        distance: u32,
        commit: impl FnOnce(&Self, Request<F>) -> Outcome<F>,
    ) -> Result<Option<Put<F>>, Error> {
        let (snapshot, schema) = (self.snapshot(), Arc::clone(&self.inner().schema));
        let owned = Owned::of(snapshot.view(), pairs, names, true)?;
        let known = self.nearest_others(&snapshot, pairs, &owned, distance)?;
        snapshot.view().check_files()?;
        let (pairs, names, deadline) = (pairs.to_vec(), names.map(<[_]>::to_vec), self.deadline());
        let _searched = snapshot.shared_view();
        let request = ReplaceUnlessNear { pairs, names, distance, known, snapshot, schema, deadline };
        match commit(self, Request::ReplaceUnlessNear(Box::new(request)))? {
            Reply::Put(put) => Ok(Some(put)),
            Reply::SearchAgain => Ok(None),
            reply => Err(self.refused(&reply)),
        }
    }

    /// Finds the nearest fingerprint of another id or name for the first record of each. For the others it depends on
    /// those before.
    fn nearest_others(
        &self,
        snapshot: &Snapshot<F>,
        pairs: &[Pair<F>],
        owned: &Owned<F>,
        distance: u32,
    ) -> Result<Vec<Known<F>>, Error> {
        let mut known = vec![Known::Unknown; pairs.len()];
        let mut is_first = vec![true; owned.pairs.len()];
        let first: Vec<usize> =
            (0..pairs.len()).filter(|&record| std::mem::take(&mut is_first[owned.labels[record]])).collect();
        // Those with nothing of their own near them are searched for as any.
        let (alone, others): (Vec<usize>, Vec<usize>) = first
            .into_iter()
            .partition(|&record| count_within(owned.by(record), pairs[record].0, distance) == 0);
        let (alone, others) =
            if alone.len() < MIN_BATCH { (Vec::new(), [alone, others].concat()) } else { (alone, others) };
        let values: Vec<F> = alone.iter().map(|&record| pairs[record].0).collect();
        let nearest = snapshot.nearest_of_each(&values, distance, self.batch_options())?;
        for (record, found) in alone.into_iter().zip(nearest) {
            known[record] = Known::from(found);
        }
        let searchers = &self.inner().searchers;
        let mut searcher = searchers.take(snapshot.clone());
        for record in others {
            go_on_until(self.deadline())?;
            known[record] =
                Known::from(nearest_other(&mut searcher, pairs[record].0, owned.by(record), distance)?);
        }
        searchers.put_back(searcher, &self.inner().view);
        Ok(known)
    }
}
