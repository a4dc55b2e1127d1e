//! The idle searchers of an open set, which queries reuse.

use std::sync::Mutex;

use hamdex::SetError;
use hamdex_any::{AnyFingerprint, AnyMatch, AnySearcher, AnySet};
use pyo3::prelude::*;
use self_cell::self_cell;

use crate::query::{Found, Wanted, labels};
use crate::work::{self, SignalCheck};

/// The most idle searchers that are kept: more do not run at the same time.
const MAX_WAITING: usize = 64;

self_cell! {
    /// A searcher together with the set that it borrows.
    struct Owned {
        owner: AnySet,
        #[not_covariant]
        dependent: AnySearcher,
    }
}

/// A searcher, and its signal check.
struct Pooled {
    searcher: Owned,
    check: SignalCheck,
}

/// The idle searchers. Python's lock is held during every access, so no fork comes in between.
#[derive(Default)]
pub(crate) struct Pool {
    waiting: Mutex<Vec<Pooled>>,
}

impl Pool {
    /// Answers one query of a set.
    pub(crate) fn find(
        &self,
        py: Python<'_>,
        set: &AnySet,
        query: AnyFingerprint,
        wanted: Wanted,
        (distance, ids_limit): (u32, usize),
    ) -> PyResult<Vec<Found>> {
        let waiting = self.waiting.lock().ok().and_then(|mut waiting| waiting.pop());
        let mut pooled = waiting.unwrap_or_else(|| Pooled::new(set));
        let Pooled { searcher, check } = &mut pooled;
        let found = work::run_checked(py, check, || {
            searcher
                .with_dependent_mut(|set, searcher| find(set, searcher, query, wanted, (distance, ids_limit)))
        })?;
        // A searcher that has failed is dropped.
        if let Ok(mut waiting) = self.waiting.lock()
            && waiting.len() < MAX_WAITING
        {
            waiting.push(pooled);
        }
        Ok(found)
    }
}

impl Pooled {
    fn new(set: &AnySet) -> Self {
        let check = SignalCheck::default();
        let report = check.report();
        let searcher = Owned::new(set.clone(), |set| {
            let mut searcher = set.searcher();
            searcher.report_to(report);
            searcher
        });
        Self { searcher, check }
    }
}

fn find(
    set: &AnySet,
    searcher: &mut AnySearcher<'_>,
    query: AnyFingerprint,
    wanted: Wanted,
    (distance, ids_limit): (u32, usize),
) -> Result<Vec<Found>, SetError> {
    let matches: Vec<AnyMatch> = match wanted {
        Wanted::First => searcher.first(query, distance)?.into_iter().collect(),
        Wanted::Nearest(count) => searcher.nearest_within(query, count, distance)?.to_vec(),
    };
    let lists = searcher.ids(ids_limit)?;
    let found = matches.into_iter().zip(lists).map(|(one, ids)| {
        let ids_count = ids.all();
        Ok(Found { one, ids: labels(ids, set)?, ids_count })
    });
    found.collect()
}
