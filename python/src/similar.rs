//! Finds the documents of a set that are similar to texts, and inserts texts that are similar to none.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Float64Array, UInt64Array};
use arrow_schema::DataType;
use hamdex::similar::{Condition, Measure, SimilarDocument};
use hamdex::threads::map_in_order;
use hamdex::{Names, ReadError, SetSearcher};
use hamdex_any::{AnySet, for_width};
use hamdex_documents::{SimilarTexts, Similarity, TextSearcher};
use hamdex_simhash::Recipe;
use hamdex_store::{Record, Store, When};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arrow;
use crate::errors::OrRaise;
use crate::numbers::{Limit, Threads};
use crate::query::{Labels, text_of};
use crate::records::cannot_replace;
use crate::results::{self, Table, raise};
use crate::texts::{Maker, Texts, words_in};
use crate::width::Width;
use crate::work::{self, Watch, pool};

/// The id of a similar document.
#[derive(IntoPyObject, PartialEq, Eq, PartialOrd, Ord)]
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
        searcher.report_to(watch.report());
        searcher
    };
    let find = |searcher: &mut TextSearcher<'_, F>, text: &&str| {
        watch.check().map_err(ReadError::from).or_raise()?;
        // Nothing is similar to a blank text.
        let found = searcher.find(text, condition, limit).or_raise()?.unwrap_or_default();
        found.into_iter().map(|one| Ok((id_of(set, one)?, one.similarity))).collect()
    };
    if threads.min(texts.len()) <= 1 {
        let mut searcher = start();
        return texts.iter().map(|text| find(&mut searcher, text)).collect();
    }
    pool(threads)?.install(|| map_in_order(texts.iter().collect(), start, find))
}

/// Returns the name of a document, or its number if it has none.
fn id_of(set: &AnySet, one: SimilarDocument) -> PyResult<Id> {
    if !set.description().has_names {
        return Ok(Id::Number(one.id.id));
    }
    Ok(Id::Name(text_of(&set.name_of(one.id).or_raise()?.unwrap_or_default())))
}

/// Looks sets of shingles up in the indexes, stores and shards of some paths, for `hamdex.spark`. ``shingles`` is a column
/// of lists of signed numbers. Returns a row for each set that is similar to a stored one: its number, the greatest
/// similarity, and the smallest id of that.
#[pyfunction]
#[pyo3(name = "_most_similar")]
pub(crate) fn most_similar(
    paths: Vec<PathBuf>,
    shingles: &Bound<'_, PyAny>,
    threshold: f64,
    threads: Option<Threads>,
) -> PyResult<Table> {
    let (py, condition) = (shingles.py(), condition(threshold, "resemblance")?);
    let threads = work::threads(threads)?;
    let arrays = arrow::import(shingles)?;
    let mut wanted: Vec<Vec<u64>> = Vec::new();
    for array in &arrays {
        let lists = array.as_list_opt::<i32>().filter(|lists| lists.values().data_type() == &DataType::Int64);
        let lists = lists.ok_or_else(|| PyValueError::new_err("shingles must be lists of int64"))?;
        let set_of = |list: ArrayRef| {
            list.as_primitive::<Int64Type>().values().iter().map(|&one| one as u64).collect()
        };
        wanted.extend(lists.iter().map(|list| list.map_or_else(Vec::new, set_of)));
    }
    let mut best: Vec<Option<(f64, Id)>> = wanted.iter().map(|_| None).collect();
    let mut has_names = false;
    for path in paths {
        let set = py.detach(|| hamdex_any::open(&path)).or_raise()?;
        has_names |= set.description().has_names;
        let found = for_width!(set.description().width, F => {
            work::run(py, None, |watch| look_up::<F>(&set, &wanted, &condition, threads, watch))
        })?;
        for (best, found) in best.iter_mut().zip(found) {
            let Some((similarity, id)) = found else { continue };
            let is_better =
                |(most, least): &(f64, Id)| similarity > *most || similarity == *most && id < *least;
            if best.as_ref().is_none_or(is_better) {
                *best = Some((similarity, id));
            }
        }
    }
    let (mut rows, mut similarities, mut numbers, mut names) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (row, found) in (0u64..).zip(best) {
        let Some((similarity, id)) = found else { continue };
        rows.push(row);
        similarities.push(similarity);
        match id {
            Id::Number(number) => numbers.push(number),
            Id::Name(name) => names.push(name),
        }
    }
    let known = if has_names { Labels::Names(names) } else { Labels::Numbers(numbers) };
    Table::new(vec![
        ("row", Arc::new(UInt64Array::from(rows))),
        ("similarity", Arc::new(Float64Array::from(similarities))),
        ("known", known.column().expect("documents with shingles have ids")),
    ])
    .map_err(raise)
}

/// Returns the most similar document of a set to each of these sets of shingles; of several, that with the smallest id.
fn look_up<F: Width>(
    set: &AnySet,
    wanted: &[Vec<u64>],
    condition: &Condition,
    threads: usize,
    watch: &Arc<Watch>,
) -> PyResult<Vec<Option<(f64, Id)>>> {
    let typed = set.typed::<F>().expect("the width was checked");
    // Numbers come in their order. Names do not: all of the most similar documents are compared.
    let limit = if set.description().has_names { usize::MAX } else { 1 };
    let start = || {
        let mut searcher = typed.open_searcher();
        searcher.report_to(watch.report());
        searcher
    };
    let find = |searcher: &mut Box<dyn SetSearcher<F> + Send + '_>, shingles: &Vec<u64>| {
        let found = searcher.similar(shingles, condition, limit).or_raise()?;
        let Some(most) = found.first().map(|one| one.similarity) else { return Ok(None) };
        let ids = found.into_iter().take_while(|one| one.similarity == most).map(|one| id_of(set, one));
        let ids = ids.collect::<PyResult<Vec<Id>>>()?;
        Ok(ids.into_iter().min().map(|id| (most, id)))
    };
    pool(threads)?.install(|| map_in_order(wanted.iter().collect(), start, find))
}

/// Texts that are stored together.
const TEXTS_AT_ONCE: usize = 1 << 12;

/// Their bytes; one text may have more.
const BYTES_AT_ONCE: usize = 128 << 20;

/// The id of a similar text, and its similarity.
type Similar = (String, f64);

/// Divides texts into those that are compared together.
fn chunks(texts: &[&str]) -> Vec<Range<usize>> {
    let (mut chunks, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (place, text) in texts.iter().enumerate() {
        if place - start == TEXTS_AT_ONCE || (place > start && bytes + text.len() > BYTES_AT_ONCE) {
            chunks.push(start..place);
            (start, bytes) = (place, 0);
        }
        bytes += text.len();
    }
    chunks.push(start..texts.len());
    chunks
}

/// The work of one call.
pub(crate) struct UnlessSimilar<'a, F: Width> {
    store: &'a Store<F>,
    maker: Maker<F>,
    similarity: Similarity,
    threads: usize,
}

impl<'a, F: Width> UnlessSimilar<'a, F> {
    pub(crate) fn new(
        store: &'a Store<F>,
        recipe: &Recipe,
        similarity: Similarity,
        threads: usize,
    ) -> PyResult<Self> {
        Ok(Self { store, maker: Maker::new(recipe, similarity.words())?, similarity, threads })
    }

    /// Inserts the texts that are similar to none stored, nor to an earlier one, and returns what each is similar to.
    /// With `replace`, a text takes the place of those of its name, to which it is not compared; nothing is written
    /// if one of them is blank.
    pub(crate) fn run(
        &self,
        (texts, names): (&[&str], &[&str]),
        replace: bool,
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let chunks = chunks(texts);
        if replace && chunks.len() > 1 {
            // A single chunk finds its blank texts before it writes.
            for chunk in &chunks {
                let made = self.maker.documents(&texts[chunk.clone()], self.threads, watch)?;
                if let Some(place) = made.iter().position(Option::is_none) {
                    return Err(cannot_replace(chunk.start + place));
                }
            }
        }
        let mut outcomes = Vec::with_capacity(texts.len());
        for chunk in chunks {
            outcomes.extend(self.put_some((&texts[chunk.clone()], &names[chunk]), replace, watch)?);
        }
        Ok(outcomes)
    }

    fn put_some(
        &self,
        (texts, names): (&[&str], &[&str]),
        replace: bool,
        watch: &Arc<Watch>,
    ) -> PyResult<Vec<Option<Similar>>> {
        let made = self.maker.documents(texts, self.threads, watch)?;
        if replace && let Some(place) = made.iter().position(Option::is_none) {
            return Err(cannot_replace(place));
        }
        let records = made.iter().zip(names).filter_map(|(made, name)| {
            let (fingerprint, shingles) = made.as_ref()?;
            Some(Record::document(*fingerprint, *name, shingles))
        });
        let when = When::unless_similar(self.similarity.condition());
        let put = self.store.put(records, if replace { when.replacing() } else { when }).or_raise()?;
        let mut outcomes = put.outcomes.iter();
        let similar = |made: &Option<_>| {
            let similar = made.as_ref().and_then(|_| outcomes.next())?.similar()?;
            Some((Names::text_of(&similar.name).into_owned(), similar.similarity))
        };
        Ok(made.iter().map(similar).collect())
    }
}
