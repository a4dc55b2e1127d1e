//! One moment of a store.

use std::ops::ControlFlow;
use std::sync::Arc;

use hamdex::{BatchOptions, Match};
use hamdex_store::{Near, Snapshot as Taken};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::batch::batch_options;
use crate::errors::OrRaise;
use crate::join::Source;
use crate::moment::Moment;
use crate::pairs::Pairs;
use crate::query::{Found, Wanted, queries_of, query_of, text_of};
use crate::results;
use crate::rows::{Labels, Rows};
use crate::shape::Shape;
use crate::table::Table;
use crate::width::Width;
use crate::work::{self, Watch};

/// Does the same with a moment of either width.
macro_rules! either {
    ($any:expr, $snapshot:ident => $result:expr) => {
        match $any {
            Moment::Bits64($snapshot) => $result,
            Moment::Bits128($snapshot) => $result,
        }
    };
}

/// A store as it was at one moment: queries see no later writes. It costs nothing to take; as long as it is held, the
/// files that it needs are kept.
#[pyclass(frozen, module = "hamdex", name = "Snapshot")]
#[derive(Clone)]
pub(crate) struct Snapshot {
    moment: Moment,
    shape: Shape,
}

impl Snapshot {
    pub(crate) fn new(moment: Moment, shape: Shape) -> Self {
        Self { moment, shape }
    }

    pub(crate) fn moment(&self) -> &Moment {
        &self.moment
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    fn find<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        wanted: Wanted,
        distance: u32,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = query.py();
        let shape = &self.shape;
        let found = either!(&self.moment, snapshot => {
            find(py, snapshot, shape, query_of(query, || shape.recipe())?, wanted, distance)?
        });
        let matches = found.into_iter().map(|found| results::one_match(py, found));
        PyList::new(py, matches.collect::<PyResult<Vec<_>>>()?)
    }
}

fn find<F: Width>(
    py: Python<'_>,
    snapshot: &Taken<F>,
    shape: &Shape,
    query: F,
    wanted: Wanted,
    distance: u32,
) -> PyResult<Vec<Found>> {
    work::run_here(py, |_| {
        let mut searcher = snapshot.searcher();
        let matches: Vec<Match<F>> = match wanted {
            Wanted::First => searcher.first(query, distance)?.into_iter().collect(),
            Wanted::Nearest(count) => searcher.nearest_within(query, count, distance)?.to_vec(),
        };
        matches.iter().map(|one| found(snapshot, shape, one)).collect::<Result<_, hamdex_store::Error>>()
    })
}

/// The stored fingerprint that kept another one from being inserted.
pub(crate) fn found_near<F: Width>(shape: &Shape, near: &Near<F>) -> Found {
    let mut ids = Labels::new(shape.has_ids, shape.has_names);
    match &mut ids {
        Labels::None => {}
        Labels::Numbers(numbers) => numbers.extend(&near.ids),
        Labels::Names(names) => names.extend(near.names.iter().map(|name| text_of(name))),
    }
    Found { fingerprint: near.fingerprint.to_u128(), distance: near.distance, ids }
}

/// A match, with the names of its documents.
fn found<F: Width>(snapshot: &Taken<F>, shape: &Shape, one: &Match<F>) -> Result<Found, hamdex_store::Error> {
    let mut ids = Labels::new(shape.has_ids, shape.has_names);
    if shape.has_ids {
        for id in snapshot.ids(one.fingerprint)? {
            match &mut ids {
                Labels::None => {}
                Labels::Numbers(numbers) => numbers.push(id),
                Labels::Names(names) => names.extend(snapshot.name(id)?.map(text_of)),
            }
        }
    }
    Ok(Found { fingerprint: one.fingerprint.to_u128(), distance: one.distance, ids })
}

fn batch<F: Width>(
    snapshot: &Taken<F>,
    shape: &Shape,
    queries: &[F],
    distance: u32,
    options: &BatchOptions,
    watch: &Arc<Watch>,
) -> Result<Rows<F>, hamdex_store::Error> {
    let mut rows = Rows::new(Labels::new(shape.has_ids, shape.has_names));
    let options = options.clone().progress(watch.callback());
    let mut failure = None;
    let _ = snapshot.batch_with(queries, distance, &options, |query, matches| {
        for one in matches {
            match found(snapshot, shape, one) {
                Ok(found) => match found.ids {
                    Labels::None => rows.push(query as u64, one.fingerprint, one.distance),
                    Labels::Numbers(ids) => rows.push_numbers(query as u64, one, ids.into_iter()),
                    Labels::Names(names) => rows.push_names(query as u64, one, names),
                },
                Err(error) => {
                    failure = Some(error);
                    return ControlFlow::Break(());
                }
            }
        }
        watch.go_on()
    })?;
    failure.map_or(Ok(rows), Err)
}

#[pymethods]
impl Snapshot {
    /// All fingerprints within ``k`` bits, nearest first, with their ids. ``query`` is a fingerprint, or a text if the
    /// store has a recipe.
    #[pyo3(signature = (query, k = None, *, limit = None))]
    pub(crate) fn query<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<u32>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.find(query, Wanted::Nearest(limit.unwrap_or(usize::MAX)), k.unwrap_or(self.shape.distance))
    }

    /// The ``count`` nearest of all fingerprints, nearest first; within ``k`` bits if that is given.
    #[pyo3(signature = (query, count = 1, *, k = None))]
    pub(crate) fn nearest<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        count: usize,
        k: Option<u32>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.find(query, Wanted::Nearest(count), k.unwrap_or(u128::BITS))
    }

    /// Some fingerprint within ``k`` bits, or ``None``.
    #[pyo3(signature = (query, k = None))]
    pub(crate) fn first<'py>(
        &self,
        query: &Bound<'py, PyAny>,
        k: Option<u32>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.find(query, Wanted::First, k.unwrap_or(self.shape.distance))?;
        if found.is_empty() { Ok(None) } else { found.get_item(0).map(Some) }
    }

    /// The answers to many queries: see ``Index.batch``.
    #[pyo3(signature = (queries, k = None, *, threads = None, progress = None))]
    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        queries: &Bound<'py, PyAny>,
        k: Option<u32>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Table> {
        let distance = k.unwrap_or(self.shape.distance);
        let options = batch_options(None, "auto", None, threads)?;
        let queries = queries_of(queries, threads, || self.shape.recipe())?;
        either!(&self.moment, snapshot => {
            let queries = Width::slice(&queries)?;
            work::run(py, progress, |watch| {
                batch(snapshot, &self.shape, queries, distance, &options, watch).or_raise()?.into_table()
            })
        })
    }

    /// All pairs of fingerprints within ``k`` bits, each once: see ``Index.pairs``.
    #[pyo3(signature = (k = None, *, memory = None, threads = None))]
    fn pairs(
        &self,
        py: Python<'_>,
        k: Option<u32>,
        memory: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<Pairs> {
        let source = match &self.moment {
            Moment::Bits64(snapshot) => Source::Set64(Arc::new(py.detach(|| snapshot.indexes()).or_raise()?)),
            Moment::Bits128(snapshot) => {
                Source::Set128(Arc::new(py.detach(|| snapshot.indexes()).or_raise()?))
            }
        };
        Pairs::new(source, k.unwrap_or(self.shape.distance), memory, threads)
    }

    /// Whether a fingerprint is there.
    #[pyo3(name = "__contains__")]
    pub(crate) fn contains(&self, fingerprint: &Bound<'_, PyAny>) -> PyResult<bool> {
        either!(&self.moment, snapshot => {
            snapshot.contains(query_of(fingerprint, || self.shape.recipe())?).or_raise()
        })
    }
}
