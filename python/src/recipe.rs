//! Makes fingerprints of texts, or of features that the caller has cut and weighed.

use hamdex::Fingerprint;
use hamdex_any::for_width;
use hamdex_simhash::recipe::Width as Bits;
use hamdex_simhash::{FeatureFingerprinter, Fingerprinter, Outcome, Recipe, Scratch};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple};

use crate::errors::OrRaise;
use crate::numbers::Threads;
use crate::texts::{Texts, map_texts};
use crate::width::Width;
use crate::work;

/// Parses a recipe, and changes its width if one is given.
pub(crate) fn recipe(text: &str, width: Option<u32>) -> PyResult<Recipe> {
    let mut recipe: Recipe = text.parse().or_raise()?;
    match width {
        None => {}
        Some(64) => recipe.width = Bits::Bits64,
        Some(128) => recipe.width = Bits::Bits128,
        Some(other) => {
            return Err(PyValueError::new_err(format!("unsupported width {other}; use 64 or 128")));
        }
    }
    recipe.check().or_raise()?;
    Ok(recipe)
}

/// Parses a recipe for fingerprints of a width; `what` names the set of that width in errors.
pub(crate) fn of_width(text: &str, width: u32, what: &str) -> PyResult<Recipe> {
    let recipe = recipe(text, (!text.contains("width=")).then_some(width))?;
    let bits = recipe.width.bits();
    if bits != width {
        let text = format!("the recipe makes fingerprints of {bits} bits, but {what} {width}");
        return Err(PyValueError::new_err(text));
    }
    Ok(recipe)
}

/// The purpose of a text's fingerprint.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// A query: any fingerprint will do.
    Query,
    /// An insert: the fingerprint must be reliable.
    Insert,
}

impl Purpose {
    /// Returns the fingerprint if it suits the purpose. `what` names the text in errors.
    fn take<F: Fingerprint>(self, outcome: Outcome<F>, what: impl Fn() -> String) -> PyResult<F> {
        let fingerprint = match self {
            Self::Query => outcome.value(),
            Self::Insert => outcome.reliable(),
        };
        fingerprint.ok_or_else(|| {
            let why = match self {
                Self::Query => "has no fingerprint: it has no features of the recipe",
                Self::Insert => {
                    "is too short for a reliable fingerprint: leave it out, or insert its hamdex.fingerprint()"
                }
            };
            PyValueError::new_err(format!("{} {why}", what()))
        })
    }
}

/// Returns the fingerprint of one text.
pub(crate) fn of_text<F: Fingerprint>(recipe: &Recipe, text: &str, purpose: Purpose) -> PyResult<F> {
    let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
    purpose.take(fingerprinter.fingerprint(text, &mut Scratch::default()), || "the text".to_owned())
}

/// Returns the fingerprints of many texts; `None` for a null, which is not inserted. A query must be a text.
pub(crate) fn of_texts<F: Fingerprint>(
    py: Python<'_>,
    recipe: &Recipe,
    texts: &Texts,
    threads: usize,
    purpose: Purpose,
) -> PyResult<Vec<Option<F>>> {
    let outcomes = outcomes::<F>(py, recipe, texts, threads, None)?;
    let given = texts.as_options()?.into_iter().zip(outcomes).enumerate();
    let made = given.map(|(place, (text, outcome))| match (text, purpose) {
        (None, Purpose::Insert) => Ok(None),
        _ => purpose.take(outcome, || format!("the text at {place}")).map(Some),
    });
    made.collect()
}

fn outcomes<F: Fingerprint>(
    py: Python<'_>,
    recipe: &Recipe,
    texts: &Texts,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Outcome<F>>> {
    let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
    let texts = texts.as_strs()?;
    work::run(py, progress, |watch| {
        let make = |scratch: &mut Scratch<F>, text: &str| fingerprinter.fingerprint(text, scratch);
        map_texts(&texts, threads, watch, "fingerprinting", Scratch::default, make)
    })
}

/// Make fingerprints of texts. The fingerprints of near-duplicates differ in few bits.
///
/// ``texts`` is a list of str, or an Arrow column of strings. The result is an array of uint64; for 128 bits
/// an array of shape (n, 2), the high word first. A single str gives a single int.
///
/// The fingerprint of a text of too few words is unreliable: ``return_reliable=True`` returns a second array,
/// of bool, which is false for such texts. A text without features has the fingerprint 0, as has a null.
///
/// >>> import hamdex
/// >>> texts = ["the quick brown fox jumps over the lazy dog " * 3, "nothing"]
/// >>> hamdex.fingerprint(texts).dtype
/// dtype('uint64')
/// >>> hamdex.fingerprint(texts, recipe="default width=128").shape
/// (2, 2)
/// >>> _, reliable = hamdex.fingerprint(texts, return_reliable=True)
/// >>> reliable.tolist()
/// [False, False]
#[pyfunction]
#[pyo3(signature = (texts, recipe = "default", *, width = None, return_reliable = false, threads = None, progress = None))]
pub(crate) fn fingerprint<'py>(
    texts: &Bound<'py, PyAny>,
    recipe: &str,
    width: Option<u32>,
    return_reliable: bool,
    threads: Option<Threads>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let recipe = self::recipe(recipe, width)?;
    let (py, threads) = (texts.py(), work::threads(threads)?);
    for_width!(recipe.width.bits(), F => {
        if let Ok(text) = texts.cast::<PyString>() {
            let fingerprinter = Fingerprinter::<F>::new(&recipe).or_raise()?;
            let outcome = fingerprinter.fingerprint(text.to_str()?, &mut Scratch::default());
            let number = outcome.value().map_or(0, Fingerprint::to_u128);
            if return_reliable {
                return (number, outcome.reliable().is_some()).into_bound_py_any(py);
            }
            return number.into_bound_py_any(py);
        }
        let outcomes = outcomes::<F>(py, &recipe, &Texts::of(texts)?, threads, progress)?;
        arrays_of(py, &outcomes, return_reliable)
    })
}

/// Returns the fingerprints as an array, with an array of whether each is reliable if that is wanted.
fn arrays_of<'py, F: Width>(
    py: Python<'py>,
    outcomes: &[Outcome<F>],
    return_reliable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let values = outcomes.iter().map(|outcome| outcome.value().unwrap_or(F::ZERO)).collect();
    let values = F::array(py, values)?;
    if return_reliable {
        let reliable = outcomes.iter().map(|outcome| outcome.reliable().is_some()).collect();
        return (values, PyArray1::from_vec(py, reliable)).into_bound_py_any(py);
    }
    Ok(values)
}

/// Make fingerprints of features with weights, for the recipes that take no text, such as "seomoz" and "yanyiwu".
///
/// ``documents`` has, for each document, a list of pairs of a feature and its weight, or a dict. A feature is a str or
/// bytes, which the recipe hashes, or an int, which is the hash itself. The result is as that of ``fingerprint``.
///
/// >>> import hamdex
/// >>> hamdex.fingerprint_features([[("aaa", 1), ("bbb", 1)], {"ccc": 2.5}], recipe="simhash-py")[0]
/// np.uint64(57087923692560392)
#[pyfunction]
#[pyo3(signature = (documents, recipe = "default", *, width = None, return_reliable = false))]
pub(crate) fn fingerprint_features<'py>(
    documents: &Bound<'py, PyAny>,
    recipe: &str,
    width: Option<u32>,
    return_reliable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let recipe = self::recipe(recipe, width)?;
    for_width!(recipe.width.bits(), F => run::<F>(documents, &recipe, return_reliable))
}

fn run<'py, F: Width>(
    documents: &Bound<'py, PyAny>,
    recipe: &Recipe,
    return_reliable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = documents.py();
    if documents.is_instance_of::<PyDict>() || documents.is_instance_of::<PyString>() {
        let class = documents.get_type().name()?;
        let text = format!("documents must be a list with the features of each document, not {class}");
        return Err(PyTypeError::new_err(text));
    }
    let fingerprinter = FeatureFingerprinter::<F>::new(recipe).or_raise()?;
    let mut outcomes: Vec<Outcome<F>> = Vec::with_capacity(documents.len().unwrap_or_default());
    for (place, document) in documents.try_iter()?.enumerate() {
        work::check_signals_at(py, place)?;
        let document = document?;
        let pairs = match document.cast::<PyDict>() {
            Ok(weights) => weights.items().into_any(),
            Err(_) => document,
        };
        let votes = votes(&pairs, recipe, place)?;
        outcomes.push(fingerprinter.weighted_hashes(votes));
    }
    arrays_of(py, &outcomes, return_reliable)
}

/// Returns the hashes of the features of a document, and their weights.
fn votes<F: Width>(pairs: &Bound<'_, PyAny>, recipe: &Recipe, document: usize) -> PyResult<Vec<(F, f64)>> {
    let refused = |what: &str| {
        let text =
            format!("the document at {document} has {what}: expected pairs of a feature and its weight");
        PyTypeError::new_err(text)
    };
    if pairs.is_instance_of::<PyString>() {
        return Err(refused("a str"));
    }
    let mut votes = Vec::with_capacity(pairs.len().unwrap_or_default());
    for pair in pairs.try_iter().map_err(|_| refused("no features"))? {
        let pair = pair?;
        let pair = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
        let Some(pair) = pair else { return Err(refused("something else")) };
        let feature = pair.get_item(0)?;
        let hash = if let Ok(text) = feature.cast::<PyString>() {
            recipe.hash.of(text.to_str()?.as_bytes())
        } else if let Ok(bytes) = feature.cast::<PyBytes>() {
            recipe.hash.of(bytes.as_bytes())
        } else if feature.is_instance_of::<PyInt>() || feature.hasattr("dtype")? {
            F::one(&feature)?
        } else {
            return Err(refused(&format!("a feature of type {}", feature.get_type().name()?)));
        };
        let weight = pair.get_item(1)?.extract::<f64>().map_err(|_| refused("a weight that is no number"))?;
        if !weight.is_finite() {
            let text =
                format!("the document at {document} has the weight {weight}: expected a finite number");
            return Err(PyValueError::new_err(text));
        }
        votes.push((hash, weight));
    }
    Ok(votes)
}
