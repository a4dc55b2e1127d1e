//! The class `Index`: an open index file.

use std::path::PathBuf;

use hamdex::set::Description;
use hamdex::{Codec, FileId, OpenOptions};
use hamdex_any::AnySet;
use hamdex_documents::Similarity;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple, PyType};

use crate::errors::{Error, OrRaise};
use crate::numbers::{Count, IdsLimit, K, Limit, Memory, Threads};
use crate::open_set::{OpenSet, kind_of_ids};
use crate::pairs::Pairs;
use crate::query::{Wanted, batch_options};
use crate::results::Table;
use crate::shingles::StoredShingles;

/// An open index, which finds all fingerprints within k bits of one, of many, or of each other; exactly.
///
/// Opening maps the file, at almost no cost. Keys and filters, about a fifth of a file with filters, are copied into
/// memory, unless ``map_keys=True`` leaves them in the mapping, which all processes share: for many processes of one
/// file. Any number of threads may use an index. It can be pickled, as
/// its path and the id of the file, and sent to other processes.
///
/// >>> import hamdex, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.hamdex")
/// >>> _ = hamdex.build(path, [0b0000, 0b0111, 0b1111], ids=["a", "b", "c"])
/// >>> with hamdex.Index(path) as index:
/// ...     print(len(index), index.query(0b0001, k=1))
/// 3 [Match(fingerprint=0, distance=1, ids=['a'], ids_count=1)]
#[pyclass(frozen, module = "hamdex", name = "Index")]
pub(crate) struct Handle {
    open: OpenSet,
}

impl Handle {
    /// Returns the index, unless it is closed.
    pub(crate) fn index(&self) -> PyResult<AnySet> {
        self.open.set()
    }

    fn open(py: Python<'_>, path: PathBuf, options: &OpenOptions) -> PyResult<Self> {
        let path = std::path::absolute(&path)?;
        let index = py.detach(|| hamdex_any::open_file(&path, options)).or_raise()?;
        Ok(Self::of_set(path, index))
    }

    /// Wraps an index that is open.
    pub(crate) fn of_set(path: PathBuf, index: AnySet) -> Self {
        Self { open: OpenSet::new("index", path, index) }
    }
}

fn design_of(index: &AnySet) -> &str {
    index.description().design.as_deref().unwrap_or_default()
}

fn codec_of(index: &AnySet) -> &'static str {
    index.description().codec.map_or("", Codec::name)
}

fn file_id_of(index: &AnySet) -> FileId {
    index.description().file_id.expect("an index file has an id")
}

#[pymethods]
impl Handle {
    #[new]
    #[pyo3(signature = (path, *, in_memory = false, larger_than_memory = false, map_keys = false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        in_memory: bool,
        larger_than_memory: bool,
        map_keys: bool,
    ) -> PyResult<Self> {
        let options = OpenOptions::new().in_memory(in_memory).larger_than_memory(larger_than_memory);
        Self::open(py, path, &options.map_keys(map_keys))
    }

    /// The number of distinct fingerprints.
    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.index()?.description().fingerprints).unwrap_or(usize::MAX))
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.open.contains(fingerprint)
    }

    fn __repr__(&self) -> String {
        let path = self.open.path().display();
        let Ok(any) = self.index() else { return format!("<hamdex.Index {path}, closed>") };
        let Description { width, distance, fingerprints, .. } = *any.description();
        let ids = kind_of_ids(any.description());
        let (design, codec) = (design_of(&any), codec_of(&any));
        format!(
            "<hamdex.Index {path}: {fingerprints} fingerprints of {width} bits, {ids}, distance {distance}, {design}, {codec}>"
        )
    }

    /// The path of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.open.path().clone()
    }

    /// The width of the fingerprints, in bits: 64 or 128.
    #[getter]
    fn width(&self) -> PyResult<u32> {
        self.open.described(|set| set.width)
    }

    /// The distance that the index is built for; any other is answered exactly, too.
    #[getter]
    fn distance(&self) -> PyResult<u32> {
        self.open.described(|set| set.distance)
    }

    /// The name of the design, which sets the tables.
    #[getter]
    fn design(&self) -> PyResult<String> {
        Ok(design_of(&self.index()?).to_owned())
    }

    /// The name of the codec of blocks.
    #[getter]
    fn codec(&self) -> PyResult<&'static str> {
        Ok(codec_of(&self.index()?))
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

    /// The id of the file: files with the same id are equal, byte for byte.
    #[getter]
    fn file_id(&self) -> PyResult<String> {
        Ok(file_id_of(&self.index()?).to_string())
    }

    /// The recipe of the fingerprints; ``None`` if the index has none.
    #[getter]
    fn recipe(&self) -> PyResult<Option<String>> {
        self.open.recipe()
    }

    /// The metadata: names, and bytes.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.open.metadata(py)
    }

    /// All stored fingerprints within ``k`` bits (default: the distance of the index), nearest first, with
    /// their first ``ids_limit`` ids (``None``: all) and the number of all. ``query`` is a fingerprint, or a text if the
    /// index has a recipe.
    #[pyo3(signature = (query, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT))]
    fn query<'py>(
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
    fn nearest<'py>(
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
    fn first<'py>(
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
    /// are fingerprints, or texts if the index has a recipe.
    #[pyo3(signature = (queries, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT, strategy = "auto", memory = None,
        threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    fn batch<'py>(
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
    /// a list for each. The index must keep shingles. By the ``measure`` "resemblance", the similarity is the share of
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
    fn similar<'py>(
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
    /// ``hamdex.shingles`` makes them. Only an index that was built with shingles has them.
    fn shingles(&self) -> PyResult<StoredShingles> {
        self.open.shingles()
    }

    /// Read the whole file and check everything. Raises ``DamagedError`` at the first damage.
    #[pyo3(signature = (*, threads = None, progress = None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.open.verify(py, threads, progress)
    }

    /// Close the file. Later use of the index raises ``ValueError``.
    fn close(&self) -> PyResult<()> {
        self.open.close()
    }

    /// Whether the index is closed.
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

    /// Reopen the index when unpickled: the same file, or an error.
    #[classmethod]
    fn _reopen(class: &Bound<'_, PyType>, path: PathBuf, file_id: [u8; 16]) -> PyResult<Self> {
        let handle = Self::open(class.py(), path, &OpenOptions::new())?;
        if file_id_of(&handle.index()?) != FileId::from(file_id) {
            let text = "is not the file that was pickled";
            return Err(Error::new_err(format!("{}: {text}", handle.open.path().display())));
        }
        Ok(handle)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let file_id = file_id_of(&slf.get().index()?);
        let path = slf.get().open.path();
        let arguments = (path, PyBytes::new(py, &file_id.to_bytes())).into_pyobject(py)?;
        (slf.get_type().getattr("_reopen")?, arguments).into_pyobject(py)
    }
}
