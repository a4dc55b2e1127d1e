//! Fingerprints of texts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use hamdex::{Engine, Fingerprint, ReadError, ReadErrorKind};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Width as Bits};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::texts::Texts;
use crate::width::Width;
use crate::work::{self, Watch};

/// Texts between two looks at whether the work goes on.
const AT_ONCE: usize = 32;

/// A recipe by its text, with another width if one is given.
pub(crate) fn recipe(text: &str, width: Option<u32>) -> PyResult<Recipe> {
    let mut recipe: Recipe = text.parse().or_raise()?;
    match width {
        None => {}
        Some(64) => recipe.width = Bits::Bits64,
        Some(128) => recipe.width = Bits::Bits128,
        Some(other) => return Err(PyValueError::new_err(format!("width cannot be {other}: 64 or 128"))),
    }
    recipe.check().or_raise()?;
    Ok(recipe)
}

/// The fingerprint of one text that is to be looked for.
pub(crate) fn of_text<F: Engine>(recipe: &Recipe, text: &str) -> PyResult<F> {
    let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
    fingerprinter.fingerprint(text, &mut Scratch::default()).value().ok_or_else(|| {
        PyValueError::new_err("the text has no fingerprint: by its recipe, nothing in it counts")
    })
}

/// Make fingerprints of texts: near-duplicates have fingerprints that differ in few bits.
///
/// ``texts`` is a list of str, or an Arrow column of strings. The result is an array of uint64; of 128 bits an array of
/// shape (n, 2), the high word first. A single str gives a single int.
///
/// A text of too few words has a fingerprint that says little: ``return_reliable=True`` returns a second array, of
/// bool, which is false for these. A text in which nothing counts has the fingerprint 0.
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
    threads: Option<usize>,
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
        let fingerprinter = Fingerprinter::<F>::new(recipe).or_raise()?;
        if let Ok(text) = texts.cast::<PyString>() {
            let outcome = fingerprinter.fingerprint(text.to_str()?, &mut Scratch::default());
            let number = outcome.value().map_or(0, Fingerprint::to_u128);
            if self.return_reliable {
                return (number, outcome.reliable().is_some()).into_bound_py_any(py);
            }
            return number.into_bound_py_any(py);
        }
        let texts = Texts::of(texts)?;
        let strs = texts.as_strs()?;
        let threads = self.threads;
        let outcomes =
            work::run(py, self.progress, |watch| fingerprints(&fingerprinter, &strs, threads, watch))?;
        let values = outcomes.iter().map(|outcome| outcome.value().unwrap_or(F::ZERO)).collect();
        let values = F::array(py, values)?;
        if self.return_reliable {
            let reliable = outcomes.iter().map(|outcome| outcome.reliable().is_some()).collect();
            return (values, PyArray1::from_vec(py, reliable)).into_bound_py_any(py);
        }
        Ok(values)
    }
}

fn fingerprints<F: Engine>(
    fingerprinter: &Fingerprinter<F>,
    texts: &[&str],
    threads: usize,
    watch: &Watch,
) -> PyResult<Vec<Outcome<F>>> {
    let total = Some(texts.len() as u64);
    let done = AtomicU64::new(0);
    let mut outcomes = vec![Outcome::TooShort { features: 0, fingerprint: None }; texts.len()];
    let outcome = work::pool(threads)?.install(|| {
        let parts = outcomes.par_chunks_mut(AT_ONCE).zip(texts.par_chunks(AT_ONCE));
        parts.try_for_each_init(Scratch::default, |scratch, (outcomes, texts)| {
            for (outcome, text) in outcomes.iter_mut().zip(texts) {
                *outcome = fingerprinter.fingerprint(text, scratch);
            }
            let before = done.fetch_add(texts.len() as u64, Ordering::Relaxed);
            watch.note(("fingerprinting", before + texts.len() as u64, total))
        })
    });
    match outcome {
        ControlFlow::Continue(()) => Ok(outcomes),
        ControlFlow::Break(()) => Err(ReadError::from(ReadErrorKind::Stopped)).or_raise(),
    }
}
