//! Makes fingerprints of texts.

use hamdex::Fingerprint;
use hamdex_simhash::recipe::Width as Bits;
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

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
    let threads = work::threads(threads)?;
    let call = Call { return_reliable, threads, progress };
    match recipe.width {
        Bits::Bits64 => call.run::<u64>(texts, &recipe),
        Bits::Bits128 => call.run::<u128>(texts, &recipe),
    }
}

struct Call<'a, 'py> {
    return_reliable: bool,
    threads: usize,
    progress: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Call<'_, 'py> {
    fn run<F: Width>(&self, texts: &Bound<'py, PyAny>, recipe: &Recipe) -> PyResult<Bound<'py, PyAny>> {
        let py = texts.py();
        if let Ok(text) = texts.cast::<PyString>() {
            let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
            let outcome = fingerprinter.fingerprint(text.to_str()?, &mut Scratch::default());
            let number = outcome.value().map_or(0, Fingerprint::to_u128);
            if self.return_reliable {
                return (number, outcome.reliable().is_some()).into_bound_py_any(py);
            }
            return number.into_bound_py_any(py);
        }
        let outcomes = outcomes::<F>(py, recipe, &Texts::of(texts)?, self.threads, self.progress)?;
        let values = outcomes.iter().map(|outcome| outcome.value().unwrap_or(F::ZERO)).collect();
        let values = F::array(py, values)?;
        if self.return_reliable {
            let reliable = outcomes.iter().map(|outcome| outcome.reliable().is_some()).collect();
            return (values, PyArray1::from_vec(py, reliable)).into_bound_py_any(py);
        }
        Ok(values)
    }
}
