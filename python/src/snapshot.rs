//! A store at one moment, or a set of shards.

use std::path::PathBuf;
use std::sync::Arc;

use hamdex::set::Description;
use hamdex::{Fingerprint, FingerprintSet, SetError};
use hamdex_any::{AnyFingerprint, AnyMatch, AnySet, Kind, for_width};
use hamdex_documents::Similarity;
use hamdex_store::Near;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::OrRaise;
use crate::numbers::{Count, IdsLimit, K, Limit, Memory, Threads};
use crate::open_set::{OpenSet, kind_of_ids};
use crate::pairs::Pairs;
use crate::query::{Found, Labels, Wanted, batch_options, text_of};
use crate::results::Table;
use crate::shingles::StoredShingles;
use crate::width::Width;

/// A store at one moment, or a set of shards: queries see no later writes. Taking a snapshot costs nothing; its files
/// are kept until it is closed, or no longer in use.
#[pyclass(frozen, module = "hamdex", name = "Snapshot")]
pub(crate) struct Snapshot {
    open: OpenSet,
}

impl Snapshot {
    /// Wraps a snapshot of a store.
    pub(crate) fn new<F: Width>(path: PathBuf, snapshot: hamdex_store::Snapshot<F>) -> Self {
        Self::of_set(path, AnySet::new::<F>(Kind::Store, Arc::new(snapshot)))
    }

    /// Wraps a set that is open.
    pub(crate) fn of_set(path: PathBuf, set: AnySet) -> Self {
        Self { open: OpenSet::new("snapshot", path, set) }
    }

    /// Returns the set, unless it is closed.
    pub(crate) fn set(&self) -> PyResult<AnySet> {
        self.open.set()
    }
}

/// Counts the fingerprints of a set, which may have some in several files.
fn count<F: Fingerprint>(set: &dyn FingerprintSet<F>) -> Result<u64, SetError> {
    set.read_entries(F::ZERO)?.try_fold(0, |count, entry| entry.map(|_| count + 1))
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
    Found { one, ids, ids_count: near.all_ids }
}

#[pymethods]
impl Snapshot {
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

    fn __repr__(&self) -> String {
        let path = self.open.path().display();
        let Ok(set) = self.set() else { return format!("<hamdex.Snapshot {path}, closed>") };
        let Description { width, distance, .. } = *set.description();
        let ids = kind_of_ids(set.description());
        format!("<hamdex.Snapshot {path}: fingerprints of {width} bits, {ids}, distance {distance}>")
    }

    /// The path of the directory.
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

    /// All fingerprints within ``k`` bits, nearest first, with their first ``ids_limit`` ids (``None``: all) and the number
    /// of all. ``query`` is a fingerprint, or a text if the set has a recipe.
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

    /// The ``count`` nearest fingerprints, nearest first; within ``k`` bits if given.
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

    /// Any fingerprint within ``k`` bits, or ``None``.
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

    /// The answers to many queries: see ``Index.batch``.
    #[pyo3(signature = (queries, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT, strategy = "auto", memory = None,
        threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    pub(crate) fn batch(
        &self,
        queries: &Bound<'_, PyAny>,
        k: Option<K>,
        limit: Option<Limit>,
        ids_limit: Option<IdsLimit>,
        strategy: &str,
        memory: Option<Memory>,
        threads: Option<Threads>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let options = batch_options(limit, strategy, memory, threads)?;
        self.open.batch(queries, k, (&options, ids_limit), threads, progress)
    }

    /// The documents that are similar to a text, or to many: see ``Index.similar``.
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

    /// All pairs of fingerprints within ``k`` bits, each once: see ``Index.pairs``.
    #[pyo3(signature = (k = None, *, memory = None, threads = None))]
    fn pairs(&self, k: Option<K>, memory: Option<Memory>, threads: Option<Threads>) -> PyResult<Pairs> {
        self.open.pairs(k, memory, threads)
    }

    /// The documents with their shingles: see ``Index.shingles``.
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

    /// Let go of the files. Later use of the snapshot raises ``ValueError``.
    fn close(&self) -> PyResult<()> {
        self.open.close()
    }

    /// Whether the snapshot is closed.
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
