//! The class `Set`: the methods of an open set, whatever holds it, and its subclass `Snapshot`.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, SetError};
use hamdex_any::{AnySet, Kind, for_width};
use hamdex_documents::Similarity;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::OrRaise;
use crate::numbers::{Count, IdsLimit, K, Limit, Memory, Threads};
use crate::open_set::{OpenSet, kind_of_ids};
use crate::pairs::Pairs;
use crate::query::{Wanted, batch_options};
use crate::results::Table;
use crate::shingles::StoredShingles;
use crate::width::Width;

/// An open set, which finds all fingerprints within k bits of one, of many, or of each other; exactly. An ``Index``, or a
/// ``Snapshot`` of a store or a set of shards.
#[pyclass(frozen, subclass, module = "hamdex", name = "Set")]
pub(crate) struct Set {
    pub(crate) open: OpenSet,
}

/// Counts the fingerprints of a set, which may have some in several files.
fn count<F: Fingerprint>(set: &dyn FingerprintSet<F>) -> Result<u64, SetError> {
    set.read_entries(F::ZERO)?.try_fold(0, |count, entry| entry.map(|_| count + 1))
}

impl Set {
    /// Returns the set, unless it is closed.
    pub(crate) fn set(&self) -> PyResult<AnySet> {
        self.open.set()
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
        self.open.contains(fingerprint)
    }

    /// The path of the file or the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.open.path().clone()
    }

    /// The width of the fingerprints, in bits: 64 or 128.
    #[getter]
    fn width(&self) -> PyResult<u32> {
        self.open.described(|set| set.width)
    }

    /// The distance that the set is made for; any other is answered exactly, too.
    #[getter]
    fn distance(&self) -> PyResult<u32> {
        self.open.described(|set| set.distance)
    }

    /// Whether fingerprints have ids.
    #[getter]
    fn has_ids(&self) -> PyResult<bool> {
        self.open.described(|set| set.has_ids)
    }

    /// Whether ids have the shingles of their documents.
    #[getter]
    fn has_shingles(&self) -> PyResult<bool> {
        self.open.described(|set| set.has_shingles)
    }

    /// The recipe of the fingerprints; ``None`` if the set has none.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        self.open.recipe()
    }

    /// The metadata: names, and bytes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.open.metadata(py)
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
        self.open.find(
            query,
            Wanted::Nearest(limit.map_or(usize::MAX, |limit| limit.0)),
            (k, None),
            ids_limit,
        )
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
        self.open.find(query, Wanted::Nearest(count.0), (k, Some(u128::BITS)), ids_limit)
    }

    /// Any stored fingerprint within ``k`` bits, or ``None``: the fastest test of whether there is one.
    #[pyo3(signature = (query, k = None, *, ids_limit = IdsLimit::DEFAULT))]
    pub(crate) fn first<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.open.find(query, Wanted::First, (k, None), ids_limit)?;
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
        self.open.batch(queries, k, (&options, ids_limit), threads, progress)
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
        self.open.similar(texts, (threshold, measure), limit, threads)
    }

    /// All pairs of stored fingerprints within ``k`` bits, each once: a stream of tables of ``left``, ``right`` and
    /// ``distance``.
    #[pyo3(signature = (k = None, *, memory = None, threads = None))]
    fn pairs(&self, k: Option<K>, memory: Option<Memory>, threads: Option<Threads>) -> PyResult<Pairs> {
        self.open.pairs(k, memory, threads)
    }

    /// The documents with their shingles: an iterator over tables of ``id`` and ``shingles``, as
    /// ``hamdex.shingles`` makes them. Only a set that was made with shingles has them.
    fn shingles(&self) -> PyResult<StoredShingles> {
        self.open.shingles()
    }

    /// Read all files and check everything. Raises ``DamagedError`` at the first damage.
    #[pyo3(signature = (*, threads = None, progress = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.open.verify(py, threads, progress)
    }

    /// Let go of the files. Later use raises ``ValueError``.
    fn close(&self) -> PyResult<()> {
        self.open.close()
    }

    /// Whether it is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.open.is_closed()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.open.close()
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
        Set { open: OpenSet::new("snapshot", path, set) }
    }

    /// Returns the object of Python.
    pub(crate) fn object(py: Python<'_>, set: Set) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, PyClassInitializer::from(set).add_subclass(Self))
    }
}

#[pymethods]
impl Snapshot {
    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let open = &slf.as_super().get().open;
        let path = open.path().display();
        let Ok(set) = open.set() else { return format!("<hamdex.Snapshot {path}, closed>") };
        let Description { width, distance, .. } = *set.description();
        let ids = kind_of_ids(set.description());
        format!("<hamdex.Snapshot {path}: fingerprints of {width} bits, {ids}, distance {distance}>")
    }
}
