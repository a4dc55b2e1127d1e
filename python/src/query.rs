//! Queries from Python, one or many, and their matches: one row for each id of each match, or one per match without
//! ids.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, LargeStringArray, StringArray, UInt32Array, UInt64Array};
use hamdex::set::{Description, MatchIds, StoredId};
use hamdex::{BatchOptions, Match, Names, SetError, Strategy};
use hamdex_any::{AnyFingerprint, AnyMatch, AnySearcher, AnySet, Kind, for_width};
use hamdex_documents::stored_recipe;
use hamdex_simhash::Recipe;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use self_cell::self_cell;

use crate::arrays::Fingerprints;
use crate::errors::OrRaise;
use crate::numbers::{Limit, Memory, Threads};
use crate::recipe::{Purpose, of_text, of_texts};
use crate::results::{Table, one_match, raise};
use crate::texts::Texts;
use crate::width::Width;
use crate::work::{self, SignalCheck, Watch};

/// The matches that a query wants.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The nearest, at most this many.
    Nearest(usize),
    /// Any one.
    First,
}

/// A match for Python.
pub(crate) struct Found {
    pub(crate) one: AnyMatch,
    /// The first ids.
    pub(crate) ids: Labels,
    /// The number of all ids.
    pub(crate) ids_count: u64,
}

impl Found {
    /// Makes the match.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        one_match(py, self.one, self.ids.into_python(py)?, self.ids_count)
    }
}

/// Takes a query: a fingerprint, or a text if the set has a recipe.
pub(crate) fn query_of<F: Width>(
    query: &Bound<'_, PyAny>,
    recipe: impl FnOnce() -> PyResult<Recipe>,
) -> PyResult<F> {
    match query.cast::<PyString>() {
        Ok(text) => of_text(&recipe()?, text.to_str()?, Purpose::Query),
        Err(_) => F::one(query),
    }
}

/// Takes many queries: fingerprints, or texts if the set has a recipe.
pub(crate) fn queries_of<'py>(
    queries: &Bound<'py, PyAny>,
    threads: Option<Threads>,
    recipe: impl FnOnce() -> PyResult<Recipe>,
) -> PyResult<Fingerprints<'py>> {
    if queries.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("batch takes many queries; query() takes one text"));
    }
    if !Texts::are(queries)? {
        return Fingerprints::of(queries);
    }
    let (py, recipe, texts) = (queries.py(), recipe()?, Texts::of(queries)?);
    let threads = work::threads(threads)?;
    for_width!(recipe.width.bits(), F => {
        let made = of_texts(py, &recipe, &texts, threads, Purpose::Query)?;
        Ok(F::fingerprints(made.into_iter().flatten().collect()))
    })
}

/// Returns the recipe of a set, which texts need.
pub(crate) fn recipe_of(set: &AnySet) -> PyResult<Recipe> {
    recipe_in(set.kind(), set.description())
}

/// Returns the recipe in the description of a set of this kind, which texts need.
pub(crate) fn recipe_in(kind: Kind, description: &Description) -> PyResult<Recipe> {
    stored_recipe(&description.metadata).or_raise()?.ok_or_else(|| {
        PyValueError::new_err(match kind {
            Kind::Store => {
                "the store was made for fingerprints and does not say how they are made of texts: \
                 give fingerprints, or make a store with recipe="
            }
            _ => {
                "the index was built of fingerprints and does not say how they are made of texts: \
                 query it with fingerprints, or build it with recipe="
            }
        })
    })
}

/// Returns the ids of a match for Python: names, if the set has names.
pub(crate) fn labels(ids: MatchIds<'_>, set: &AnySet) -> Result<Labels, SetError> {
    let mut labels = Labels::of(set.description());
    for id in ids {
        labels.push(set, id)?;
    }
    Ok(labels)
}

/// Returns a name as a Python str: see [`Names::text_of`].
pub(crate) fn text_of(name: &[u8]) -> String {
    Names::text_of(name).into_owned()
}

/// The number of matches whose ids are looked up together.
const IDS_AT_ONCE: usize = 4096;

/// The options of a batch.
pub(crate) fn batch_options(
    limit: Option<Limit>,
    strategy: &str,
    memory: Option<Memory>,
    threads: Option<Threads>,
) -> PyResult<BatchOptions> {
    let strategy = match strategy {
        "auto" => Strategy::Auto,
        "probe" => Strategy::Probe,
        "scan" => Strategy::Scan,
        other => {
            let text = format!("there is no strategy {other:?}; there are: auto, probe, scan");
            return Err(PyValueError::new_err(text));
        }
    };
    let mut options = BatchOptions::new().strategy(strategy).threads(work::threads(threads)?);
    if let Some(limit) = limit {
        options = options.limit(limit.0);
    }
    if let Some(memory) = memory {
        options = options.memory(memory.0);
    }
    Ok(options)
}

/// Answers many queries of a set; a match has a row for each of its first ids.
pub(crate) fn batch<F: Width>(
    any: &AnySet,
    queries: &[F],
    (distance, ids_limit): (u32, usize),
    options: &BatchOptions,
    watch: &Arc<Watch>,
) -> Result<Rows<F>, SetError> {
    let set = any.typed::<F>().expect("the width was checked");
    let options = options.clone().report_to(watch.report());
    let mut places: Vec<u64> = Vec::new();
    let mut found: Vec<Match<F>> = Vec::new();
    set.visit_batch(queries, distance, &options, &mut |query, matches| {
        places.extend(std::iter::repeat_n(query as u64, matches.len()));
        found.extend_from_slice(matches);
        Ok(watch.check()?)
    })?;
    let mut rows = Rows::new(Labels::of(any.description()));
    let mut searcher = set.open_searcher();
    for (places, found) in places.chunks(IDS_AT_ONCE).zip(found.chunks(IDS_AT_ONCE)) {
        watch.check()?;
        let matches = places.iter().zip(found);
        if !any.description().has_ids {
            matches.for_each(|(&place, one)| rows.push(place, one, None));
            continue;
        }
        for ((&place, one), ids) in matches.zip(searcher.ids_of(found, ids_limit)?) {
            let all = ids.all();
            for id in ids {
                rows.push(place, one, Some(all));
                rows.ids.push(any, id)?;
            }
        }
    }
    Ok(rows)
}

/// The rows, under construction.
pub(crate) struct Rows<F> {
    queries: Vec<u64>,
    fingerprints: Vec<F>,
    distances: Vec<u32>,
    ids: Labels,
    /// The number of all ids of the match of each row.
    ids_counts: Vec<u64>,
}

/// The ids of matches.
pub(crate) enum Labels {
    None,
    Numbers(Vec<u64>),
    Names(Vec<String>),
}

impl Labels {
    /// No ids yet, of the set with this description.
    pub(crate) fn of(set: &Description) -> Self {
        match (set.has_ids, set.has_names) {
            (_, true) => Self::Names(Vec::new()),
            (true, false) => Self::Numbers(Vec::new()),
            (false, false) => Self::None,
        }
    }

    /// Adds an id of a set, or its name.
    pub(crate) fn push(&mut self, set: &AnySet, id: StoredId) -> Result<(), SetError> {
        match self {
            Self::None => {}
            Self::Numbers(numbers) => numbers.push(id.id),
            Self::Names(names) => names.push(text_of(&set.name_of(id)?.unwrap_or_default())),
        }
        Ok(())
    }

    /// Returns the ids as a list.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::None => Ok(PyList::empty(py).into_any()),
            Self::Numbers(numbers) => numbers.into_bound_py_any(py),
            Self::Names(names) => names.into_bound_py_any(py),
        }
    }

    /// Returns the ids as a column, if there are any.
    pub(crate) fn column(self) -> Option<ArrayRef> {
        match self {
            Self::None => None,
            Self::Numbers(numbers) => Some(Arc::new(UInt64Array::from(numbers))),
            Self::Names(names) => Some(column_of(&names)),
        }
    }
}

/// Returns a column of texts: with offsets of 64 bits if 32 are too few.
fn column_of(names: &[String]) -> ArrayRef {
    let bytes: usize = names.iter().map(String::len).sum();
    if i32::try_from(bytes).is_ok() {
        Arc::new(StringArray::from_iter_values(names))
    } else {
        Arc::new(LargeStringArray::from_iter_values(names))
    }
}

impl<F: Width> Rows<F> {
    fn new(ids: Labels) -> Self {
        Self {
            queries: Vec::new(),
            fingerprints: Vec::new(),
            distances: Vec::new(),
            ids,
            ids_counts: Vec::new(),
        }
    }

    /// Adds a row for a match, without ids or for one of `all` of its ids.
    fn push(&mut self, query: u64, one: &Match<F>, all: Option<u64>) {
        self.queries.push(query);
        self.fingerprints.push(one.fingerprint);
        self.distances.push(one.distance);
        self.ids_counts.extend(all);
    }

    /// Returns the rows as a table.
    pub(crate) fn into_table(self) -> PyResult<Table> {
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("query", Arc::new(UInt64Array::from(self.queries))),
            ("fingerprint", F::column(self.fingerprints)),
            ("distance", Arc::new(UInt32Array::from(self.distances))),
        ];
        if let Some(ids) = self.ids.column() {
            columns.push(("id", ids));
            columns.push(("ids_count", Arc::new(UInt64Array::from(self.ids_counts))));
        }
        Table::new(columns).map_err(raise)
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
