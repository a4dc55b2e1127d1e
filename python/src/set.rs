//! The class `Set`: the methods of an open set, whatever holds it, and its subclass `Snapshot`.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, SetError, VerifyOptions};
use hamdex_any::{AnyFingerprint, AnySet, Kind, for_width};
use hamdex_documents::{Similarity, stored_recipe};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::errors::{Error, OrRaise};
use crate::numbers::{self, Count, IdsLimit, K, Limit, Memory, Threads};
use crate::pairs::{Pairs, Source};
use crate::query::{Pool, Wanted, batch, batch_options, queries_of, query_of, recipe_of};
use crate::results::{self, Table};
use crate::shingles::StoredShingles;
use crate::similar::similar;
use crate::width::Width;
use crate::work;

/// An open set, which finds all fingerprints within k bits of one, of many, or of each other; exactly. An ``Index``, or a
/// ``Snapshot`` of a store or a set of shards.
#[pyclass(frozen, subclass, module = "hamdex", name = "Set")]
pub(crate) struct Set {
    /// The path as it was opened.
    pub(crate) path: PathBuf,
    /// The word for it in errors.
    noun: &'static str,
    opened: RwLock<Option<Opened>>,
}

/// A set, until it is closed.
#[derive(Clone)]
struct Opened {
    set: AnySet,
    searchers: Arc<Pool>,
}

/// Counts the fingerprints of a set, which may have some in several files.
fn count<F: Fingerprint>(set: &dyn FingerprintSet<F>) -> Result<u64, SetError> {
    set.read_entries(F::ZERO)?.try_fold(0, |count, entry| entry.map(|_| count + 1))
}

impl Set {
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
    fn described<T>(&self, property: impl FnOnce(&Description) -> T) -> PyResult<T> {
        Ok(property(self.set()?.description()))
    }

    fn fingerprint(set: &AnySet, query: &Bound<'_, PyAny>) -> PyResult<AnyFingerprint> {
        for_width!(set.description().width, F => {
            query_of::<F>(query, || recipe_of(set)).map(AnyFingerprint::of)
        })
    }

    /// Answers one query, within `k` bits, by default those of the set or others; of each match with the first ids.
    fn find<'py>(
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
}

/// Returns the words for the ids of a set.
pub(crate) fn kind_of_ids(description: &Description) -> &'static str {
    match (description.has_names, description.has_ids) {
        (true, _) => "with names",
        (false, true) => "with ids",
        (false, false) => "without ids",
    }
}

#[pymethods]
impl Set {
    /// The number of distinct fingerprints. If some may be in several files, the whole set is read.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let set = self.set()?;
        let Description { width, fingerprints, is_counted, .. } = *set.description();
        let count = match is_counted {
            true => fingerprints,
            false => for_width!(width, F => {
                py.detach(|| count(&**set.typed::<F>().expect("the width was checked")))
            })
            .or_raise()?,
        };
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Whether the set has a fingerprint.
    #[pyo3(name = "__contains__")]
    pub(crate) fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        let set = self.set()?;
        set.contains(Self::fingerprint(&set, fingerprint)?).or_raise()
    }

    /// The path of the file or the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The width of the fingerprints, in bits: 64 or 128.
    #[getter]
    fn width(&self) -> PyResult<u32> {
        self.described(|set| set.width)
    }

    /// The distance that the set is made for; any other is answered exactly, too.
    #[getter]
    fn distance(&self) -> PyResult<u32> {
        self.described(|set| set.distance)
    }

    /// Whether fingerprints have ids.
    #[getter]
    fn has_ids(&self) -> PyResult<bool> {
        self.described(|set| set.has_ids)
    }

    /// Whether ids have the shingles of their documents.
    #[getter]
    fn has_shingles(&self) -> PyResult<bool> {
        self.described(|set| set.has_shingles)
    }

    /// The recipe of the fingerprints; ``None`` if the set has none.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        let set = self.set()?;
        Ok(stored_recipe(&set.description().metadata).or_raise()?.map(|recipe| recipe.to_string()))
    }

    /// The metadata: names, and bytes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        for (name, value) in &self.set()?.description().metadata {
            metadata.set_item(name, PyBytes::new(py, value))?;
        }
        Ok(metadata)
    }

    /// All stored fingerprints within ``k`` bits (default: the distance of the set), nearest first, with
    /// their first ``ids_limit`` ids (``None``: all) and the number of all. ``query`` is a fingerprint, or a text if the
    /// set has a recipe.
    #[pyo3(signature = (query, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT))]
    pub(crate) fn query<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        limit: Option<Limit>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.find(query, Wanted::Nearest(limit.map_or(usize::MAX, |limit| limit.0)), (k, None), ids_limit)
    }

    /// The ``count`` nearest stored fingerprints, nearest first; within ``k`` bits if given.
    #[pyo3(signature = (query, count = Count(1), *, k = None, ids_limit = IdsLimit::DEFAULT))]
    pub(crate) fn nearest<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        count: Count,
        k: Option<K>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.find(query, Wanted::Nearest(count.0), (k, Some(u128::BITS)), ids_limit)
    }

    /// Any stored fingerprint within ``k`` bits, or ``None``: the fastest test of whether there is one.
    #[pyo3(signature = (query, k = None, *, ids_limit = IdsLimit::DEFAULT))]
    pub(crate) fn first<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.find(query, Wanted::First, (k, None), ids_limit)?;
        if found.is_empty() { Ok(None) } else { found.get_item(0).map(Some) }
    }

    /// The answers to many queries, on all threads: a table of ``query`` (its row), ``fingerprint``,
    /// ``distance`` and, if there are ids, ``id`` and ``ids_count``; a row for each of the first ``ids_limit`` ids
    /// (``None``: all) of each match, which has ``ids_count``, queries in their order, matches nearest first. ``queries``
    /// are fingerprints, or texts if the set has a recipe.
    #[pyo3(signature = (queries, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT, strategy = "auto", memory = None,
        threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    pub(crate) fn batch<'py>(
        &self,
        queries: &Bound<'py, PyAny>,
        k: Option<K>,
        limit: Option<Limit>,
        ids_limit: Option<IdsLimit>,
        strategy: &str,
        memory: Option<Memory>,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Table> {
        let options = batch_options(limit, strategy, memory, threads)?;
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
                batch::<F>(&set, queries, (distance, ids_limit), &options, watch).or_raise()?.into_table()
            })
        })
    }

    /// The documents that are similar to a text, the most similar first, with their ids and similarities; for many texts,
    /// a list for each. The set must keep shingles. By the ``measure`` "resemblance", the similarity is the share of
    /// all shingles of the two that both have, as ``dedup`` compares texts; by "containing", the share of those of the
    /// text that the document has; by "contained", of those of the document that the text has. ``threshold`` is the
    /// least share; no document is missed. A blank text or a null is similar to nothing.
    ///
    /// >>> import hamdex, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "texts.hamdex")
    /// >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
    /// >>> _ = hamdex.build(path, [text, "another one"], ids=["whale", "other"], recipe="default", shingles=True)
    /// >>> with hamdex.Index(path) as index:
    /// ...     index.similar(text + "!")
    /// ...     index.similar(["some years ago, never mind how long", ""], 0.9, measure="containing")
    /// [Similar(id='whale', similarity=1.0)]
    /// [[Similar(id='whale', similarity=1.0)], []]
    #[pyo3(signature = (texts, threshold = Similarity::DEFAULT_LEAST, *, measure = "resemblance", limit = None,
        threads = None))]
    pub(crate) fn similar<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threshold: f64,
        measure: &str,
        limit: Option<Limit>,
        threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyAny>> {
        similar(&self.set()?, texts, (threshold, measure), limit, threads)
    }

    /// All pairs of stored fingerprints within ``k`` bits, each once: a stream of tables of ``left``, ``right`` and
    /// ``distance``.
    #[pyo3(signature = (k = None, *, memory = None, threads = None))]
    fn pairs(&self, k: Option<K>, memory: Option<Memory>, threads: Option<Threads>) -> PyResult<Pairs> {
        let set = self.set()?;
        let Description { width, distance, .. } = *set.description();
        Pairs::new(Source::Set(set), numbers::distance(k, width, distance)?, memory, threads)
    }

    /// The documents with their shingles: an iterator over tables of ``id`` and ``shingles``, as
    /// ``hamdex.shingles`` makes them. Only a set that was made with shingles has them.
    fn shingles(&self) -> PyResult<StoredShingles> {
        StoredShingles::new(self.set()?)
    }

    /// Read all files and check everything. Raises ``DamagedError`` at the first damage.
    #[pyo3(signature = (*, threads = None, progress = None))]
    fn verify<'py>(
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

    /// Let go of the files. Later use raises ``ValueError``.
    fn close(&self) -> PyResult<()> {
        *self.opened.write().map_err(|_| self.unknown_state())? = None;
        Ok(())
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.set().is_err()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close()
    }
}

/// A store at one moment, or a set of shards: queries see no later writes. Taking a snapshot costs nothing; its files
/// are kept until it is closed, or no longer in use.
#[pyclass(frozen, extends = Set, module = "hamdex", name = "Snapshot")]
pub(crate) struct Snapshot;

impl Snapshot {
    /// Wraps a snapshot of a store.
    pub(crate) fn of_store<F: Width>(path: PathBuf, snapshot: hamdex_store::Snapshot<F>) -> Set {
        Self::of_set(path, AnySet::new::<F>(Kind::Store, Arc::new(snapshot)))
    }

    /// Wraps a set that is open.
    pub(crate) fn of_set(path: PathBuf, set: AnySet) -> Set {
        Set::new("snapshot", path, set)
    }

    /// Returns the object of Python.
    pub(crate) fn object(py: Python<'_>, set: Set) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, PyClassInitializer::from(set).add_subclass(Self))
    }
}

#[pymethods]
impl Snapshot {
    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let open = slf.as_super().get();
        let path = open.path.display();
        let Ok(set) = open.set() else { return format!("<hamdex.Snapshot {path}, closed>") };
        let Description { width, distance, .. } = *set.description();
        let ids = kind_of_ids(set.description());
        format!("<hamdex.Snapshot {path}: fingerprints of {width} bits, {ids}, distance {distance}>")
    }
}
