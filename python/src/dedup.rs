//! Finds near-duplicates in a table of texts.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, UInt32Array, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::take::take;
use hamdex_any::for_width;
use hamdex_documents::known::{Known, KnownAs};
use hamdex_documents::{
    Clustering, Clusters, Dedup, Document, Member, Preference, Progress, Similarity, Stage,
};
use hamdex_simhash::{Fingerprinter, Recipe};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::known_documents::{KnownDocuments, WatchedDocuments};
use crate::numbers::{K, Memory, Shingle, Threads};
use crate::query::Labels;
use crate::recipe::recipe;
use crate::results::{Table, raise};
use crate::texts::Texts;
use crate::width::Width;
use crate::work::{self, Watch};

/// The definition of near-duplicates.
struct Choices {
    similarity: Option<Similarity>,
    distance: Option<u32>,
    prefer: Preference,
    clusters: Clustering,
    memory: Option<u64>,
    threads: usize,
    against: Option<KnownDocuments>,
}

/// The outcome of a search.
struct Outcome {
    members: Vec<Member>,
    known: Option<(Vec<Known>, Labels)>,
}

/// Find the near-duplicates among texts: clusters, and the text of each to keep.
///
/// ``table`` is an Arrow table with a column of texts, or a list of str. Texts are near-duplicates if they
/// share ``similarity`` of their shingles (default 0.7, of five words each); with ``k`` alone, if their
/// fingerprints differ in at most ``k`` bits; with both, if both hold. In every case the search is exact.
///
/// The result has a row for every text in a cluster: ``cluster`` (counted from 1), ``id`` (from the column
/// ``id``, or the number of the row), ``kept``, ``distance`` of its fingerprint to that of the kept text, in
/// bits, and its ``similarity`` to the kept text if texts are compared. Texts in no cluster are unique.
/// ``keep`` is "first" or "longest"; ``clusters`` is "stars" (every text is a near-duplicate of the kept one)
/// or "linked" (near-duplicates always share a cluster).
///
/// ``against`` is what is known already: a table or a list of texts, the path of documents, or an index, a
/// store or a set of shards that was made with shingles (or its path), whose recipe is used. Texts that are
/// near-duplicates of a known one, by the same rule, are left out of the clusters, and the result is a pair:
/// the clusters, and a table with a row for each known text: ``id``, its ``similarity`` to the most similar
/// known one, and ``known``, the id, name or row of that. With ``k``, a set without shingles will do: texts
/// whose fingerprints are within ``k`` bits of a stored one are known; the table has ``fingerprint`` and
/// ``distance`` of the nearest then. ``k`` says nothing about the texts among themselves in that case. A file of
/// documents that cannot be read whole is an error, unless ``skip_unreadable=True`` leaves it out; problems with
/// documents are warnings.
///
/// A null text, ``None`` or NaN, is a document without text: it is a near-duplicate of none.
///
/// >>> import hamdex
/// >>> text = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse"
/// >>> hamdex.dedup([text, "something else", text + "!"])["id"].tolist()
/// [0, 2]
#[pyfunction]
#[pyo3(signature = (table, *, text = "text", id = None, similarity = None, shingle = Shingle(5), k = None, keep = "first",
    clusters = "stars", recipe = None, against = None, skip_unreadable = false, memory = None, threads = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
pub(crate) fn dedup<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    text: &str,
    id: Option<&str>,
    similarity: Option<f64>,
    shingle: Shingle,
    k: Option<K>,
    keep: &str,
    clusters: &str,
    recipe: Option<&str>,
    against: Option<&Bound<'py, PyAny>>,
    skip_unreadable: bool,
    memory: Option<Memory>,
    threads: Option<Threads>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let shingle =
        NonZeroUsize::new(shingle.0).ok_or_else(|| PyValueError::new_err("shingle must be at least 1"))?;
    let against = against.filter(|against| !against.is_none());
    let k = k.map(|k| k.0);
    let known_of = |known| KnownDocuments::of(known, (text, id), k, shingle, skip_unreadable);
    let against = against.map(known_of).transpose()?;
    // With known documents, k says how they are compared, and nothing about the texts among themselves.
    let k = k.filter(|_| against.is_none());
    let similarity = match (similarity, k) {
        (None, Some(_)) => None,
        (least, _) => Some(Similarity::new(least.unwrap_or(Similarity::DEFAULT_LEAST), shingle).or_raise()?),
    };
    let choices = Choices {
        similarity,
        distance: k,
        prefer: one_of("keep", keep, [("first", Preference::First), ("longest", Preference::Longest)])?,
        clusters: one_of(
            "clusters",
            clusters,
            [("stars", Clustering::Stars), ("linked", Clustering::Linked)],
        )?,
        memory: memory.map(|memory| memory.0),
        threads: work::threads(threads)?,
        against,
    };
    let recipe = match &choices.against {
        Some(against) => against.recipe(recipe)?,
        None => self::recipe(recipe.unwrap_or("default"), None)?,
    };
    let (texts, ids) = Texts::with_ids(table, text, id)?;
    let width = recipe.width.bits();
    let outcome = for_width!(width, F => find::<F>(py, &texts, &recipe, &choices, progress));
    if let Some(against) = &choices.against {
        against.warn(py)?;
    }
    let Outcome { members, known } = outcome?;
    let clusters = clusters_table(&members, ids.as_deref(), choices.similarity.is_some())?;
    match known {
        None => clusters.into_bound_py_any(py),
        Some((known, labels)) => {
            let by_fingerprints = choices.against.as_ref().is_some_and(KnownDocuments::is_by_fingerprints);
            let ids = (ids.as_deref(), choices.against.as_ref().and_then(KnownDocuments::ids));
            let known = for_width!(width, F => known_table::<F>(&known, labels, ids, by_fingerprints));
            (clusters, known?).into_bound_py_any(py)
        }
    }
}

fn one_of<T: Copy, const N: usize>(option: &str, given: &str, known: [(&str, T); N]) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == given);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names = known.map(|(name, _)| name).join(" or ");
        PyValueError::new_err(format!("{option} must be {names}, not {given:?}"))
    })
}

fn find<F: Width>(
    py: Python<'_>,
    texts: &Texts,
    recipe: &Recipe,
    choices: &Choices,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let texts = texts.as_strs()?;
    let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
    work::run(py, progress, |watch| {
        let against = choices.against.as_ref().map(|against| WatchedDocuments { against, watch });
        let mut dedup = Dedup::new(fingerprinter).prefer(choices.prefer).clusters(choices.clusters);
        if let Some(similarity) = choices.similarity {
            dedup = dedup.similarity(similarity);
        }
        if let Some(distance) = choices.distance {
            dedup = dedup.distance(distance);
        }
        if let Some(memory) = choices.memory {
            dedup = dedup.memory(memory);
        }
        if let Some(against) = &against {
            dedup = against.against.apply(dedup, against);
        }
        let own = Arc::clone(watch);
        let dedup = dedup.cancellation(watch.cancellation().clone()).on_progress(move |progress| {
            // `documents` reports the progress of reading.
            if progress.stage != Stage::Read {
                own.note(shown(progress));
            }
        });
        let clusters = work::pool(choices.threads)?.install(|| dedup.run_on(documents(&texts, watch)));
        let clusters: Clusters = clusters.or_raise()?;
        let known = choices.against.as_ref().zip(clusters.known());
        let known =
            known.map(|(against, known)| Ok::<_, PyErr>((known.to_vec(), against.labels::<F>(known)?)));
        Ok::<_, PyErr>(Outcome { members: clusters.members().to_vec(), known: known.transpose()? })
    })
}

/// Returns the texts as documents; ends after a cancellation.
fn documents<'a>(texts: &'a [&str], watch: &'a Watch) -> impl Iterator<Item = Document> + Send + 'a {
    let total = Some(texts.len() as u64);
    texts.iter().zip(1u64..).map_while(move |(text, number)| {
        watch.note(("reading", number, total));
        watch.check().is_ok().then(|| Document::new("", *text))
    })
}

fn shown(progress: Progress) -> work::ProgressReport {
    let phase = match progress.stage {
        Stage::Known => "comparing with known documents",
        Stage::Count => "counting",
        Stage::Compare => "comparing",
        Stage::Cluster => "clustering",
        _ => "measuring",
    };
    (phase, progress.done, progress.total)
}

/// Returns the ids of texts by their numbers.
fn ids_of(numbers: impl Iterator<Item = u64>, ids: Option<&[ArrayRef]>) -> PyResult<ArrayRef> {
    let numbers = UInt64Array::from_iter_values(numbers);
    match ids {
        Some(parts) if !parts.is_empty() => {
            let parts: Vec<&dyn arrow_array::Array> = parts.iter().map(|part| &**part).collect();
            let all = concat(&parts).map_err(raise)?;
            take(&all, &numbers, None).map_err(raise)
        }
        _ => Ok(Arc::new(numbers)),
    }
}

fn clusters_table(members: &[Member], ids: Option<&[ArrayRef]>, has_similarities: bool) -> PyResult<Table> {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("cluster", Arc::new(UInt32Array::from_iter_values(members.iter().map(|member| member.cluster)))),
        ("id", ids_of(members.iter().map(|member| u64::from(member.document)), ids)?),
        ("kept", Arc::new(BooleanArray::from_iter(members.iter().map(|member| Some(member.is_kept))))),
        ("distance", Arc::new(UInt32Array::from_iter_values(members.iter().map(|member| member.distance)))),
    ];
    if has_similarities {
        let similarities = members.iter().map(|member| member.similarity.unwrap_or_default());
        columns.push(("similarity", Arc::new(Float64Array::from_iter_values(similarities))));
    }
    Table::new(columns).map_err(raise)
}

/// Returns a row for each known text. `ids` are those of the texts, and of the known texts of a table.
fn known_table<F: Width>(
    known: &[Known],
    labels: Labels,
    (ids, known_ids): (Option<&[ArrayRef]>, Option<&[ArrayRef]>),
    by_fingerprints: bool,
) -> PyResult<Table> {
    let mut columns: Vec<(&str, ArrayRef)> =
        vec![("id", ids_of(known.iter().map(|known| u64::from(known.document)), ids)?)];
    let fingerprint = |known: &Known| match known.known {
        KnownAs::Fingerprint(fingerprint) => Some(F::truncate(fingerprint)),
        _ => None,
    };
    let fingerprints: Option<Vec<F>> = known.iter().map(fingerprint).collect();
    let distances: Option<Vec<u32>> = known.iter().map(|known| known.distance).collect();
    if let (true, Some(fingerprints), Some(distances)) = (by_fingerprints, fingerprints, distances) {
        columns.push(("fingerprint", F::column(fingerprints)));
        columns.push(("distance", Arc::new(UInt32Array::from(distances))));
    } else {
        let similarities = known.iter().map(|known| known.similarity.unwrap_or_default());
        columns.push(("similarity", Arc::new(Float64Array::from_iter_values(similarities))));
    }
    let labels = match (labels, known_ids) {
        (Labels::Numbers(numbers), Some(ids)) => Some(ids_of(numbers.into_iter(), Some(ids))?),
        (labels, _) => labels.column(),
    };
    columns.extend(labels.map(|labels| ("known", labels)));
    Table::new(columns).map_err(raise)
}
