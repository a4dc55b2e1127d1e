//! Finds the documents of a set that are similar to texts.

use std::sync::Arc;

use hamdex::similar::{Condition, Measure, SimilarDocument};
use hamdex::{ReadError, ReadErrorKind};
use hamdex_any::{AnySet, for_width};
use hamdex_documents::{SimilarTexts, TextSearcher};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::numbers::{Limit, Threads};
use crate::query::text_of;
use crate::results;
use crate::texts::{Texts, words_in};
use crate::width::Width;
use crate::work::{self, Watch, pool};

/// The id of a similar document.
#[derive(IntoPyObject)]
pub(crate) enum Id {
    Number(u64),
    Name(String),
}

/// The documents that are similar to a text.
type Found = Vec<(Id, f64)>;

/// Takes the arguments `threshold` and `measure`.
fn condition(threshold: f64, measure: &str) -> PyResult<Condition> {
    let measure = match measure {
        "resemblance" => Measure::Resemblance,
        "containing" => Measure::Containing,
        "contained" => Measure::Contained,
        other => {
            let text =
                format!("measure must be \"resemblance\", \"containing\" or \"contained\", not {other:?}");
            return Err(PyValueError::new_err(text));
        }
    };
    Condition::new(measure, threshold).ok_or_else(|| {
        PyValueError::new_err(format!("threshold must be above 0 and at most 1, not {threshold}"))
    })
}

/// Returns the documents that are similar to a text, or for many texts a list of them for each.
pub(crate) fn similar<'py>(
    set: &AnySet,
    texts: &Bound<'py, PyAny>,
    (threshold, measure): (f64, &str),
    limit: Option<Limit>,
    threads: Option<Threads>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, condition) = (texts.py(), condition(threshold, measure)?);
    if words_in(set.description())?.is_none() {
        return Err(PyValueError::new_err(
            "the set keeps no shingles of its documents, by which texts are compared: make it with shingles=True",
        ));
    }
    let (limit, threads) = (limit.map_or(usize::MAX, |limit| limit.0), work::threads(threads)?);
    let is_one = texts.is_instance_of::<PyString>();
    let given = if is_one { Texts::of(&PyList::new(py, [texts])?.into_any())? } else { Texts::of(texts)? };
    let given = given.as_strs()?;
    let found = for_width!(set.description().width, F => {
        work::run(py, None, |watch| search::<F>(set, &given, (&condition, limit), threads, watch))
    })?;
    let list = |found: Found| {
        let similar = found.into_iter().map(|(id, similarity)| results::similar(py, id, similarity));
        PyList::new(py, similar.collect::<PyResult<Vec<_>>>()?)
    };
    let mut lists = found.into_iter().map(list).collect::<PyResult<Vec<_>>>()?;
    match lists.pop() {
        Some(last) if is_one => Ok(last.into_any()),
        last => {
            lists.extend(last);
            Ok(PyList::new(py, lists)?.into_any())
        }
    }
}

/// Searches on several threads. Ends after a cancellation.
fn search<F: Width>(
    set: &AnySet,
    texts: &[&str],
    (condition, limit): (&Condition, usize),
    threads: usize,
    watch: &Arc<Watch>,
) -> PyResult<Vec<Found>> {
    let typed = set.typed::<F>().expect("the width was checked");
    let similar = SimilarTexts::of(&**typed).or_raise()?;
    let start = || {
        let mut searcher = similar.searcher();
        searcher.set_progress(Arc::new(watch.callback()));
        searcher
    };
    let find = |searcher: &mut TextSearcher<'_, F>, text: &&str| {
        if watch.go_on().is_break() {
            return Err(ReadError::from(ReadErrorKind::Stopped)).or_raise();
        }
        // Nothing is similar to a blank text.
        let found = searcher.find(text, condition, limit).or_raise()?.unwrap_or_default();
        found.into_iter().map(|one| Ok((id_of(set, one)?, one.similarity))).collect()
    };
    if threads.min(texts.len()) <= 1 {
        let mut searcher = start();
        return texts.iter().map(|text| find(&mut searcher, text)).collect();
    }
    pool(threads)?.install(|| texts.par_iter().map_init(start, find).collect())
}

/// Returns the name of a document, or its number if it has none.
fn id_of(set: &AnySet, one: SimilarDocument) -> PyResult<Id> {
    if !set.description().has_names {
        return Ok(Id::Number(one.id.id));
    }
    Ok(Id::Name(text_of(&set.name_of(one.id).or_raise()?.unwrap_or_default())))
}
