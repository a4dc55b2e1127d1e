//! A live store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::RwLock;
use std::{mem, process};

use hamdex::set::Description;
use hamdex::{FingerprintSet, RECIPE_KEY};
use hamdex_any::{AnyFingerprint, AnyMatch, Kind};
use hamdex_documents::Similarity;
use hamdex_store::{AnyStore, Inserted, Near, Operation, Put, StoreOptions, When, for_any_store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::build::{codec, filter};
use crate::errors::{Error, OrRaise};
use crate::numbers::{self, Count, Distance, IdsLimit, K, Limit, Memory, Threads};
use crate::open_store::StoreRequest;
use crate::query::{Found, Labels, recipe_in, text_of};
use crate::records::{Records, documents_of, fingerprints_of, is_one};
use crate::results::Table;
use crate::set::{Set, Snapshot, kind_of_ids};
use crate::similar::UnlessSimilar;
use crate::texts::{self, words_in};
use crate::width::Width;
use crate::{arrays, results, work};

/// A directory with a set of fingerprints that can be updated while it is queried. Writes are durable when
/// they return, unless ``durability`` is lower.
///
/// A missing store is created: for fingerprints of ``width`` bits, with ids unless ``ids=False``, which are names with
/// ``names=True``, for queries at ``distance``. With a recipe it takes texts, and with names and ``shingles=True`` it
/// keeps their shingles too, of five words each or of as many as it says, so that texts are compared as ``dedup``
/// compares them. With ``lookups=True`` it finds records by id or name without reading the whole set, for ``upsert``,
/// ``remove_ids`` and ``remove_names``, which takes about 5 bytes per record, and as much per name. ``memory`` limits
/// the memory for recent writes, in bytes: at most 8 GiB, and more counts as that. One process at a time has a store
/// open. After a fork, the child must open it again.
///
/// >>> import hamdex, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
/// >>> with hamdex.Store(path) as store:
/// ...     store.insert([0b0000, 0b1111], ids=[1, 2])
/// ...     store.insert_unless_near(0b0001, 3, k=1)
/// ...     store.query(0b1111)
/// Match(fingerprint=0, distance=1, ids=[1], ids_count=1)
/// [Match(fingerprint=15, distance=0, ids=[2], ids_count=1)]
#[pyclass(frozen, module = "hamdex", name = "Store")]
pub(crate) struct Store {
    path: PathBuf,
    /// Its properties as it was opened. A snapshot of that time would keep files that have been merged.
    description: Description,
    store: RwLock<Option<AnyStore>>,
    /// The process that opened the store.
    process: u32,
}

impl Drop for Store {
    fn drop(&mut self) {
        // A forked process lacks the threads of the store: closing it would wait for them forever.
        if process::id() != self.process
            && let Ok(store) = self.store.get_mut()
        {
            mem::forget(store.take());
        }
    }
}

impl Store {
    /// Refuses replacements in a store without look-ups.
    fn require_lookups(&self) -> PyResult<()> {
        if self.description.has_lookups {
            return Ok(());
        }
        Err(PyValueError::new_err(
            "the store has no look-ups, by which records are replaced: make a store with lookups=True",
        ))
    }

    /// Stores records.
    fn put<F: Width>(
        py: Python<'_>,
        store: &hamdex_store::Store<F>,
        given: &Records<F>,
        when: When,
    ) -> PyResult<Put<F>> {
        work::run_here(py, || store.put(given.records(), when))
    }

    /// Returns the store, unless it is closed.
    fn store(&self) -> PyResult<AnyStore> {
        let store = self.store.read().map_err(|_| Error::new_err("the store is in an unknown state"))?;
        store
            .clone()
            .ok_or_else(|| PyValueError::new_err(format!("{}: the store is closed", self.path.display())))
    }

    /// Returns a snapshot of the store.
    pub(crate) fn take_snapshot(&self) -> PyResult<Set> {
        Ok(for_any_store!(self.store()?, store => Snapshot::of_store(self.path.clone(), store.snapshot())))
    }
}

/// The stored fingerprint near one that was not inserted.
fn found_near<F: Width>(description: &Description, near: &Near<F>) -> Found {
    let mut ids = Labels::of(description);
    match &mut ids {
        Labels::None => {}
        Labels::Numbers(numbers) => numbers.extend(&near.ids),
        Labels::Names(names) => names.extend(near.names.iter().map(|name| text_of(name))),
    }
    let one = AnyMatch { distance: near.distance, fingerprint: AnyFingerprint::of(near.fingerprint) };
    Found { one, ids, ids_count: near.all_ids }
}

/// Returns the answer to one given record, `None` if nothing is found, or a list of those to many.
fn answers<'py, T>(
    given: &Bound<'py, PyAny>,
    outcomes: Vec<Option<T>>,
    answer: impl Fn(T) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let nothing = || Ok(given.py().None().into_bound(given.py()));
    let answers = outcomes.into_iter().map(|outcome| outcome.map_or_else(nothing, &answer));
    let answers = answers.collect::<PyResult<Vec<_>>>()?;
    match answers.as_slice() {
        [one] if is_one(given)? => Ok(one.clone()),
        all => Ok(PyList::new(given.py(), all)?.into_any()),
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (path, *, distance = None, ids = None, names = None, width = None, design = None, codec = None, filter = None, recipe = None,
        shingles = None, lookups = None, durability = "sync", memory = None, threads = None, merges = true))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        distance: Option<Distance>,
        ids: Option<bool>,
        names: Option<bool>,
        width: Option<u32>,
        design: Option<String>,
        codec: Option<&str>,
        filter: Option<&Bound<'_, PyAny>>,
        recipe: Option<String>,
        shingles: Option<&Bound<'_, PyAny>>,
        lookups: Option<bool>,
        durability: &str,
        memory: Option<Memory>,
        threads: Option<Threads>,
        merges: bool,
    ) -> PyResult<Self> {
        let path = std::path::absolute(&path)?;
        let durability = durability
            .parse()
            .map_err(|error: hamdex::ParseOptionError| PyValueError::new_err(error.to_string()))?;
        let mut options =
            StoreOptions::new().durability(durability).merges(merges).threads(work::threads(threads)?);
        if let Some(memory) = memory {
            options = options.memory(memory.0);
        }
        let codec = codec.map(self::codec).transpose()?;
        let filter = filter.map(self::filter).transpose()?;
        let distance = distance.map(|distance| distance.0);
        let shingles = texts::shingle_words(shingles)?;
        let request =
            StoreRequest { distance, ids, names, width, design, codec, filter, recipe, shingles, lookups };
        let store = request.open(py, &path, options)?;
        let description = for_any_store!(&store, store => store.snapshot().describe());
        Ok(Self { path, description, store: RwLock::new(Some(store)), process: process::id() })
    }

    /// The path of the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The width of the fingerprints, in bits: 64 or 128.
    #[getter]
    fn width(&self) -> PyResult<u32> {
        self.store().map(|_| self.description.width)
    }

    /// The distance that the store is made for; any other is answered exactly, too.
    #[getter]
    fn distance(&self) -> u32 {
        self.description.distance
    }

    /// Whether fingerprints have ids.
    #[getter]
    fn has_ids(&self) -> bool {
        self.description.has_ids
    }

    /// Whether ids are names.
    #[getter]
    fn has_names(&self) -> bool {
        self.description.has_names
    }

    /// Whether ids have the shingles of their documents.
    #[getter]
    fn has_shingles(&self) -> bool {
        self.description.has_shingles
    }

    /// Whether records are found by id without reading the whole set.
    #[getter]
    fn has_lookups(&self) -> bool {
        self.description.has_lookups
    }

    /// The recipe of the fingerprints; ``None`` if the store has none.
    #[getter]
    fn recipe(&self) -> Option<&str> {
        let recipe = self.description.metadata.get(RECIPE_KEY)?;
        std::str::from_utf8(recipe).ok()
    }

    fn __repr__(&self) -> String {
        let path = self.path.display();
        let Ok(width) = self.width() else { return format!("<hamdex.Store {path}, closed>") };
        let ids = kind_of_ids(&self.description);
        format!(
            "<hamdex.Store {path}: fingerprints of {width} bits, {ids}, distance {}>",
            self.description.distance
        )
    }

    /// Insert fingerprints, one or many, with their ids: all of them, or none. A store with a recipe also
    /// takes texts, none of which may be too short for a reliable fingerprint. A store with shingles takes texts
    /// alone, of any length; blank ones, which are similar to nothing, are left out. So are nulls, ``None`` or NaN, in
    /// every store.
    #[pyo3(signature = (fingerprints, ids = None))]
    fn insert(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        for_any_store!(self.store()?, store => {
            let given = Records::of(fingerprints, ids, &self.description)?;
            Self::put(py, &store, &given, When::always()).map(drop)
        })
    }

    /// Insert fingerprints or texts as ``insert`` does, each in place of everything with its id, or its name, in a
    /// store with look-ups: all of them, or none. Of several with one id, the last counts. Returns the number of
    /// replaced records.
    ///
    /// >>> import hamdex, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
    /// >>> with hamdex.Store(path, lookups=True) as store:
    /// ...     store.insert([0b0001, 0b1111], ids=[1, 2])
    /// ...     store.upsert([0b0011, 0b0111], ids=[2, 3])
    /// ...     store.fingerprints_of(2)
    /// 1
    /// [3]
    fn upsert(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        self.require_lookups()?;
        for_any_store!(self.store()?, store => {
            let given = Records::of(fingerprints, Some(ids), &self.description)?;
            given.nulls.refuse()?;
            Ok(Self::put(py, &store, &given, When::always().replacing())?.removed)
        })
    }

    /// Insert each fingerprint or text, one or many, unless something stored, or inserted before it, is
    /// within ``k`` bits. Returns the nearest, or ``None`` if it was inserted, or is a null; for many, a list. With ``replace``, in a
    /// store with look-ups, each takes the place of everything with its id, or its name, to which it is not near: a
    /// page that is crawled again is not near to itself. What is near to something else replaces nothing.
    #[pyo3(signature = (fingerprints, ids = None, *, k = None, replace = false))]
    fn insert_unless_near<'py>(
        &self,
        py: Python<'py>,
        fingerprints: &Bound<'py, PyAny>,
        ids: Option<&Bound<'py, PyAny>>,
        k: Option<K>,
        replace: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let distance = numbers::distance(k, self.description.width, self.description.distance)?;
        if replace {
            self.require_lookups()?;
        }
        let when = When::unless_near(distance);
        let when = if replace { when.replacing() } else { when };
        let outcomes = for_any_store!(self.store()?, store => {
            let given = Records::of(fingerprints, ids, &self.description)?;
            let outcomes = Self::put(py, &store, &given, when)?.outcomes;
            let near = |outcome: &Inserted<_>| outcome.near().map(|near| found_near(&self.description, near));
            given.nulls.spread(outcomes.iter().map(near).collect())
        });
        answers(fingerprints, outcomes, |found| found.into_python(py))
    }

    /// Insert each text, one or many, unless a stored text, or one inserted before it, is similar: shares
    /// ``similarity`` of its shingles, as ``dedup`` compares texts. Returns the most similar one with its similarity,
    /// or ``None`` if the text was inserted; for many, a list. The store must keep shingles. Blank texts are similar to
    /// nothing, and are left out. With ``replace``, in a store with look-ups, each takes the place of everything with
    /// its name, to which it is not compared; one that is similar to something else replaces nothing.
    ///
    /// Long lists are stored by at most 4,096 texts at a time. If the call is interrupted or fails, the texts before stay
    /// stored, and their answers are lost; a repeated call finds them similar to themselves, unless it has ``replace``.
    ///
    /// >>> import hamdex, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "texts.store")
    /// >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
    /// >>> with hamdex.Store(path, names=True, recipe="default", shingles=True) as store:
    /// ...     store.insert_unless_similar([text, text + "!", "another one"], ["first", "copy", "other"])
    /// [None, Similar(id='first', similarity=1.0), None]
    #[pyo3(signature = (texts, ids, *, similarity = Similarity::DEFAULT_LEAST, replace = false, threads = None,
        progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    fn insert_unless_similar<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        ids: &Bound<'py, PyAny>,
        similarity: f64,
        replace: bool,
        threads: Option<Threads>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(words) = words_in(&self.description)? else {
            return Err(PyValueError::new_err(
                "the store keeps no shingles, by which texts are compared: make a store with shingles=True",
            ));
        };
        if replace {
            self.require_lookups()?;
        }
        let similarity = Similarity::new(similarity, words).or_raise()?;
        let recipe = recipe_in(Kind::Store, &self.description)?;
        let (given, names) = documents_of(texts, Some(ids))?;
        let (given, names) = (given.as_strs()?, names.as_strs()?);
        let threads = work::threads(threads)?;
        let outcomes = for_any_store!(self.store()?, store => {
            let work = UnlessSimilar::new(&store, &recipe, similarity, threads)?;
            work::run(py, progress, |watch| work.run((&given, &names), replace, watch))
        })?;
        answers(texts, outcomes, |(name, similarity)| results::similar(py, name, similarity))
    }

    /// Remove fingerprints or texts, one or many: with ids these pairs, without ids all pairs of the fingerprints.
    /// Nulls, and blank texts in a store with shingles, are passed over. Returns the number of removed pairs.
    #[pyo3(signature = (fingerprints, ids = None))]
    fn remove(
        &self,
        py: Python<'_>,
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let ids = ids.filter(|ids| !ids.is_none());
        if ids.is_some() && self.description.has_names {
            let text = "in a store with names, remove fingerprints without ids, or names with remove_names()";
            return Err(PyValueError::new_err(text));
        }
        let written = for_any_store!(self.store()?, store => match ids {
            Some(_) => {
                let given = Records::of(fingerprints, ids, &self.description)?;
                let remove = |&(fingerprint, id): &_| Operation::Remove(fingerprint, id);
                let removals = given.pairs().iter().map(remove).collect();
                work::run_here(py, || store.write(removals))?
            }
            None => {
                let given = fingerprints_of(fingerprints, &self.description)?;
                let given = given.into_iter().flatten().collect();
                work::run_here(py, || store.remove_fingerprints(given))?
            }
        });
        Ok(written.removed)
    }

    /// Remove everything with one of these ids; without look-ups this reads the whole store. Returns the number of
    /// removed pairs.
    fn remove_ids(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<u64> {
        if self.description.has_names || !self.description.has_ids {
            return Err(PyValueError::new_err(
                "the ids of this store are not numbers: use remove_names, or remove",
            ));
        }
        let ids: HashSet<u64> = arrays::ids(ids)?.as_slice()?.iter().copied().collect();
        for_any_store!(self.store()?, store => work::run(py, None, |_| store.remove_ids(&ids)))
    }

    /// The fingerprints of an id, or of a name, ascending; without look-ups this reads the whole store.
    fn fingerprints_of<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let Description { has_ids, has_names, .. } = self.description;
        if !has_ids {
            return Err(PyValueError::new_err("the store has no ids"));
        }
        let (names, ids) = match has_names {
            true => (vec![id.extract::<String>()?], Vec::new()),
            false => (Vec::new(), arrays::ids(&PyList::new(py, [id])?.into_any())?.as_slice()?.to_vec()),
        };
        let found: Vec<u128> = for_any_store!(self.store()?, store => {
            let snapshot = store.snapshot();
            let lists = work::run(py, None, |_| match has_names {
                true => snapshot.fingerprints_of_names(&names),
                false => snapshot.fingerprints_of_ids(&ids),
            })?;
            lists.into_iter().flatten().map(hamdex::Fingerprint::to_u128).collect()
        });
        PyList::new(py, found)
    }

    /// Remove everything with one of these names; without look-ups this reads the whole store. Returns the number of
    /// removed pairs.
    fn remove_names(&self, py: Python<'_>, names: HashSet<String>) -> PyResult<u64> {
        let names = names.into_iter().map(String::into_bytes).collect();
        for_any_store!(self.store()?, store => work::run(py, None, |_| store.remove_names(&names)))
    }

    /// All fingerprints within ``k`` bits, nearest first, with their first ``ids_limit`` ids (``None``: all) and the number
    /// of all. ``query`` is a fingerprint, or a text if the store has a recipe.
    #[pyo3(signature = (query, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT))]
    fn query<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        limit: Option<Limit>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.take_snapshot()?.query(query, k, limit, ids_limit)
    }

    /// The ``count`` nearest fingerprints, nearest first; within ``k`` bits if given.
    #[pyo3(signature = (query, count = Count(1), *, k = None, ids_limit = IdsLimit::DEFAULT))]
    fn nearest<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        count: Count,
        k: Option<K>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.take_snapshot()?.nearest(query, count, k, ids_limit)
    }

    /// Any fingerprint within ``k`` bits, or ``None``.
    #[pyo3(signature = (query, k = None, *, ids_limit = IdsLimit::DEFAULT))]
    fn first<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<K>,
        ids_limit: Option<IdsLimit>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.take_snapshot()?.first(query, k, ids_limit)
    }

    /// The answers to many queries: see ``Index.batch``.
    #[pyo3(signature = (queries, k = None, *, limit = None, ids_limit = IdsLimit::DEFAULT, strategy = "auto", memory = None,
        threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    fn batch(
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
        self.take_snapshot()?.batch(queries, k, limit, ids_limit, strategy, memory, threads, progress)
    }

    /// The documents that are similar to a text, or to many: see ``Index.similar``.
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
        self.take_snapshot()?.similar(texts, threshold, measure, limit, threads)
    }

    fn __contains__(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.take_snapshot()?.contains(fingerprint)
    }

    /// A snapshot of the set as it is now: its queries see no later writes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Snapshot>> {
        Snapshot::object(py, self.take_snapshot()?)
    }

    /// Make all writes durable, whatever ``durability`` is.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        for_any_store!(self.store()?, store => work::run(py, None, |_| store.sync()))
    }

    /// Write everything in memory to a file.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        for_any_store!(self.store()?, store => work::run(py, None, |_| store.flush()))
    }

    /// Merge everything into one file, without removed records. An interruption changes nothing.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        for_any_store!(self.store()?, store => work::run(py, None, |watch| store.compact_with(&watch.report())))
    }

    /// The counts of the store, and their costs.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = for_any_store!(self.store()?, store => py.detach(|| store.stats()));
        results::stats(py, &stats)
    }

    /// Make all writes durable, wait for a running merge, and close the store, even if that fails. Later use
    /// of the store raises ``ValueError``.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let store =
            self.store.write().map_err(|_| Error::new_err("the store is in an unknown state"))?.take();
        match store {
            None => Ok(()),
            Some(store) if process::id() == self.process => {
                for_any_store!(store, store => work::run(py, None, |_| store.close()))
            }
            Some(store) => {
                mem::forget(store);
                Ok(())
            }
        }
    }

    /// Whether the store is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.store().is_err()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}
