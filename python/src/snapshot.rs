//! A snapshot of a store.

use std::sync::Arc;

use hamdex::Description;
use hamdex_any::{AnyFingerprint, AnyMatch, AnySet, Kind, for_width};
use hamdex_store::Near;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::batch::{batch, batch_options};
use crate::errors::OrRaise;
use crate::join::Source;
use crate::numbers::{self, K, Limit, Threads};
use crate::pairs::Pairs;
use crate::pool::Pool;
use crate::query::{Found, Wanted, queries_of, query_of, recipe_of, text_of};
use crate::result_rows::Labels;
use crate::results;
use crate::table::Table;
use crate::width::Width;
use crate::work;

/// A store at one moment, or a set of shards: queries see no later writes. Taking a snapshot costs nothing; its files
/// are kept as long as it exists.
#[pyclass(frozen, module = "hamdex", name = "Snapshot")]
#[derive(Clone)]
pub(crate) struct Snapshot {
    set: AnySet,
    searchers: Arc<Pool>,
}

impl Snapshot {
    /// Wraps a snapshot of a store.
    pub(crate) fn new<F: Width>(snapshot: hamdex_store::Snapshot<F>) -> Self {
        Self { set: AnySet::new::<F>(Kind::Store, Arc::new(snapshot)), searchers: Arc::default() }
    }

    /// Wraps a set that is open.
    pub(crate) fn of_set(set: AnySet) -> Self {
        Self { set, searchers: Arc::default() }
    }

    pub(crate) fn set(&self) -> &AnySet {
        &self.set
    }

    /// Returns the distance of a query.
    fn distance(&self, k: Option<K>) -> PyResult<u32> {
        let Description { width, distance, .. } = *self.set.description();
        numbers::distance(k, width, distance)
    }

    fn fingerprint(&self, query: &Bound<'_, PyAny>) -> PyResult<AnyFingerprint> {
        for_width!(self.set.description().width, F => {
            query_of::<F>(query, || recipe_of(&self.set)).map(AnyFingerprint::of)
        })
    }

    fn find<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        wanted: Wanted,
        distance: u32,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = query.py();
        let found = self.searchers.find(py, &self.set, self.fingerprint(query)?, wanted, distance)?;
        let matches = found.into_iter().map(|found| results::one_match(py, found));
        PyList::new(py, matches.collect::<PyResult<Vec<_>>>()?)
    }
}

/// The stored fingerprint near one that was not inserted.
pub(crate) fn found_near<F: Width>(description: &Description, near: &Near<F>) -> Found {
    let mut ids = Labels::new(description.has_ids, description.has_names);
    match &mut ids {
        Labels::None => {}
        Labels::Numbers(numbers) => numbers.extend(&near.ids),
        Labels::Names(names) => names.extend(near.names.iter().map(|name| text_of(name))),
    }
    let one = AnyMatch { distance: near.distance, fingerprint: AnyFingerprint::of(near.fingerprint) };
    Found { one, ids }
}

#[pymethods]
impl Snapshot {
    /// All fingerprints within ``k`` bits, nearest first, with their ids. ``query`` is a fingerprint, or a
    /// text if the store has a recipe.
    #[pyo3(signature = (query, k = None, *, limit = None))]
    pub(crate) fn query<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        limit: Option<Limit>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.find(query, Wanted::Nearest(limit.map_or(usize::MAX, |limit| limit.0)), self.distance(k)?)
    }

    /// The ``count`` nearest fingerprints, nearest first; within ``k`` bits if given.
    #[pyo3(signature = (query, count = 1, *, k = None))]
    pub(crate) fn nearest<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        count: usize,
        k: Option<K>,
    ) -> PyResult<Bound<'py, PyList>> {
        let within = numbers::distance(k, self.set.description().width, u128::BITS)?;
        self.find(query, Wanted::Nearest(count), within)
    }

    /// Any fingerprint within ``k`` bits, or ``None``.
    #[pyo3(signature = (query, k = None))]
    pub(crate) fn first<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.find(query, Wanted::First, self.distance(k)?)?;
        if found.is_empty() { Ok(None) } else { found.get_item(0).map(Some) }
    }

    /// The answers to many queries: see ``Index.batch``.
    #[pyo3(signature = (queries, k = None, *, threads = None, progress = None))]
    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: Option<K>,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Table> {
        let distance = self.distance(k)?;
        let options = batch_options(None, "auto", None, threads)?;
        let queries = queries_of(queries, threads, || recipe_of(&self.set))?;
        for_width!(self.set.description().width, F => {
            let queries = F::slice(&queries)?;
            work::run(py, progress, |watch| {
                batch::<F>(&self.set, queries, distance, &options, watch).or_raise()?.into_table()
            })
        })
    }

    /// All pairs of fingerprints within ``k`` bits, each once: see ``Index.pairs``.
    #[pyo3(signature = (k = None, *, memory = None, threads = None))]
    fn pairs(&self, k: Option<K>, memory: Option<u64>, threads: Option<Threads>) -> PyResult<Pairs> {
        Pairs::new(Source::Set(self.set.clone()), self.distance(k)?, memory, threads)
    }

    /// Whether the store has a fingerprint.
    #[pyo3(name = "__contains__")]
    pub(crate) fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.set.contains(self.fingerprint(fingerprint)?).or_raise()
    }
}
