//! Makes fingerprints of features that the caller has cut and weighed.

use hamdex_simhash::recipe::Width as Bits;
use hamdex_simhash::{FeatureFingerprinter, Outcome, Recipe};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyTuple};

use crate::errors::OrRaise;
use crate::recipe::recipe;
use crate::width::Width;
use crate::work;

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
    match recipe.width {
        Bits::Bits64 => run::<u64>(documents, &recipe, return_reliable),
        Bits::Bits128 => run::<u128>(documents, &recipe, return_reliable),
    }
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
    let values = outcomes.iter().map(|outcome| outcome.value().unwrap_or(F::ZERO)).collect();
    let values = F::array(py, values)?;
    if return_reliable {
        let reliable = outcomes.iter().map(|outcome| outcome.reliable().is_some()).collect();
        return (values, PyArray1::from_vec(py, reliable)).into_bound_py_any(py);
    }
    Ok(values)
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
