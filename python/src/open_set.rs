//! An open set, whatever holds it: its queries, by pooled searchers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};

use hamdex::set::Description;
use hamdex::{BatchOptions, SetError, VerifyOptions};
use hamdex_any::{AnyFingerprint, AnyMatch, AnySearcher, AnySet, for_width};
use hamdex_documents::stored_recipe;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use self_cell::self_cell;

use crate::errors::{Error, OrRaise};
use crate::numbers::{self, IdsLimit, K, Limit, Memory, Threads};
use crate::pairs::{Pairs, Source};
use crate::query::{Found, Wanted, batch, labels, queries_of, query_of, recipe_of};
use crate::results;
use crate::results::Table;
use crate::shingles::StoredShingles;
use crate::similar::similar;
use crate::width::Width;
use crate::work::{self, SignalCheck};

/// A set, until it is closed.
pub(crate) struct OpenSet {
    path: PathBuf,
    /// The word for it in errors.
    noun: &'static str,
    opened: RwLock<Option<Opened>>,
}

#[derive(Clone)]
struct Opened {
    set: AnySet,
    searchers: Arc<Pool>,
}

impl OpenSet {
    pub(crate) fn new(noun: &'static str, path: PathBuf, set: AnySet) -> Self {
        Self { path, noun, opened: RwLock::new(Some(Opened { set, searchers: Arc::default() })) }
    }

    fn unknown_state(&self) -> PyErr {
        Error::new_err(format!("the {} is in an unknown state", self.noun))
    }

    fn opened(&self) -> PyResult<Opened> {
        let opened = self.opened.read().map_err(|_| self.unknown_state())?;
        opened.clone().ok_or_else(|| {
            PyValueError::new_err(format!("{}: the {} is closed", self.path.display(), self.noun))
        })
    }

    /// Returns the set, unless it is closed.
    pub(crate) fn set(&self) -> PyResult<AnySet> {
        self.opened().map(|opened| opened.set)
    }

    /// Returns a property of the set.
    pub(crate) fn described<T>(&self, property: impl FnOnce(&Description) -> T) -> PyResult<T> {
        Ok(property(self.set()?.description()))
    }

    /// Returns the path as it was opened.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.path
    }

    pub(crate) fn close(&self) -> PyResult<()> {
        *self.opened.write().map_err(|_| self.unknown_state())? = None;
        Ok(())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.set().is_err()
    }

    pub(crate) fn recipe(&self) -> PyResult<Option<String>> {
        let set = self.set()?;
        Ok(stored_recipe(&set.description().metadata).or_raise()?.map(|recipe| recipe.to_string()))
    }

    pub(crate) fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (name, value) in &self.set()?.description().metadata {
            metadata.set_item(name, PyBytes::new(py, value))?;
        }
        Ok(metadata)
    }

    fn fingerprint(set: &AnySet, query: &Bound<'_, PyAny>) -> PyResult<AnyFingerprint> {
        for_width!(set.description().width, F => {
            query_of::<F>(query, || recipe_of(set)).map(AnyFingerprint::of)
        })
    }

    /// Answers one query, within `k` bits, by default those of the set or others; of each match with the first ids.
    pub(crate) fn find<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        wanted: Wanted,
        (k, default): (Option<K>, Option<u32>),
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Bound<'py, PyList>> {
        let Opened { set, searchers } = self.opened()?;
        let Description { width, distance, .. } = *set.description();
        let distance = numbers::distance(k, width, default.map_or(distance, |most| most.min(width)))?;
        let number = Self::fingerprint(&set, query)?;
        let found =
            searchers.find(query.py(), &set, number, wanted, (distance, IdsLimit::most(ids_limit)))?;
        let matches = found.into_iter().map(|found| found.into_python(query.py()));
        PyList::new(query.py(), matches.collect::<PyResult<Vec<_>>>()?)
    }

    pub(crate) fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        let set = self.set()?;
        set.contains(Self::fingerprint(&set, fingerprint)?).or_raise()
    }

    pub(crate) fn batch(
        &self,
        queries: &Bound<'_, PyAny>,
        k: Option<K>,
        (options, ids_limit): (&BatchOptions, Option<IdsLimit>),
        threads: Option<Threads>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let set = self.set()?;
        let Description { width, distance, .. } = *set.description();
        let distance = numbers::distance(k, width, distance)?;
        if ids_limit.is_some_and(|limit| limit.0 == 0) {
            let text = "ids_limit must be at least 1: a table of matches has a row for each id";
            return Err(PyValueError::new_err(text));
        }
        let ids_limit = IdsLimit::most(ids_limit);
        let py = queries.py();
        let queries = queries_of(queries, threads, || recipe_of(&set))?;
        for_width!(width, F => {
            let queries = F::slice(&queries)?;
            work::run(py, progress, |watch| {
                batch::<F>(&set, queries, (distance, ids_limit), options, watch).or_raise()?.into_table()
            })
        })
    }

    pub(crate) fn pairs(
        &self,
        k: Option<K>,
        memory: Option<Memory>,
        threads: Option<Threads>,
    ) -> PyResult<Pairs> {
        let set = self.set()?;
        let Description { width, distance, .. } = *set.description();
        Pairs::new(Source::Set(set), numbers::distance(k, width, distance)?, memory, threads)
    }

    pub(crate) fn similar<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        condition: (f64, &str),
        limit: Option<Limit>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        similar(&self.set()?, texts, condition, limit, threads)
    }

    pub(crate) fn shingles(&self) -> PyResult<StoredShingles> {
        StoredShingles::new(self.set()?)
    }

    pub(crate) fn verify<'py>(
        &self,
        py: Python<'py>,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let set = self.set()?;
        let options = VerifyOptions::new().threads(work::threads(threads)?);
        let verified = work::run(py, progress, |watch| set.verify(&options.report_to(watch.report())))?;
        results::verified(
            py,
            (verified.bytes, verified.tables, verified.blocks, verified.fingerprints, verified.ids),
        )
    }
}

/// Returns the words for the ids of a set.
pub(crate) fn kind_of_ids(description: &Description) -> &'static str {
    match (description.has_names, description.has_ids) {
        (true, _) => "with names",
        (false, true) => "with ids",
        (false, false) => "without ids",
    }
}

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
