//! Searchers of an open index, which are used again and again.

use std::sync::{Arc, Mutex};

use hamdex::{AnyIndex, AnySearcher, Match, ReadError};
use pyo3::prelude::*;
use self_cell::self_cell;

use crate::query::{Found, Wanted, labels};
use crate::work::{self, Looker};

/// Searchers that wait for a query, at most: more do not run at the same time.
const MAX_WAITING: usize = 64;

self_cell! {
    /// A searcher beside the index that it borrows.
    struct Owned {
        owner: Arc<AnyIndex>,
        #[not_covariant]
        dependent: AnySearcher,
    }
}

/// A searcher, and what looks for signals while it works.
struct Kept {
    searcher: Owned,
    looker: Looker,
}

/// The searchers that wait for a query. Python's lock is held whenever they are looked at, so no fork comes between.
#[derive(Default)]
pub(crate) struct Pool {
    waiting: Mutex<Vec<Kept>>,
}

impl Pool {
    /// Answers one query of an index.
    pub(crate) fn find(
        &self,
        py: Python<'_>,
        index: &Arc<AnyIndex>,
        query: u128,
        wanted: Wanted,
        distance: u32,
    ) -> PyResult<Vec<Found>> {
        let waiting = self.waiting.lock().ok().and_then(|mut waiting| waiting.pop());
        let mut kept = waiting.unwrap_or_else(|| Kept::new(index));
        let Kept { searcher, looker } = &mut kept;
        let found = work::run_looking(py, looker, || {
            searcher.with_dependent_mut(|index, searcher| find(index, searcher, query, wanted, distance))
        })?;
        // A searcher that has failed is not used again.
        if let Ok(mut waiting) = self.waiting.lock()
            && waiting.len() < MAX_WAITING
        {
            waiting.push(kept);
        }
        Ok(found)
    }
}

impl Kept {
    fn new(index: &Arc<AnyIndex>) -> Self {
        let looker = Looker::default();
        let report = looker.clone().callback();
        let searcher = Owned::new(Arc::clone(index), |index| index.searcher().progress(report));
        Self { searcher, looker }
    }
}

fn find(
    index: &AnyIndex,
    searcher: &mut AnySearcher<'_>,
    query: u128,
    wanted: Wanted,
    distance: u32,
) -> Result<Vec<Found>, ReadError> {
    let matches: Vec<Match<u128>> = match wanted {
        Wanted::First => searcher.first(query, distance)?.into_iter().collect(),
        Wanted::Nearest(count) => searcher.nearest_within(query, count, distance)?.to_vec(),
    };
    let names = index.names()?;
    let lists = searcher.ids_of(&matches)?;
    let found = matches.iter().zip(lists).map(|(one, ids)| {
        let ids = labels(ids, names.as_ref(), index.has_ids())?;
        Ok::<_, ReadError>(Found { fingerprint: one.fingerprint, distance: one.distance, ids })
    });
    found.collect()
}
