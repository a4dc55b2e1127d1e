//! Queries: what they are asked with, and what they find.

use hamdex::{AnyIndex, Ids, Names, ReadError};
use hamdex_documents::stored_recipe;
use hamdex_simhash::{Recipe, Width as Bits};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::OrRaise;
use crate::numbers::{Fingerprints, Words};
use crate::recipe::{Purpose, of_text, of_texts};
use crate::rows::Labels;
use crate::texts::Texts;
use crate::width::Width;
use crate::work;

/// How many matches a query wants.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// The nearest, at most so many.
    Nearest(usize),
    /// Any one.
    First,
}

/// A match that Python can have.
pub(crate) struct Found {
    pub(crate) fingerprint: u128,
    pub(crate) distance: u32,
    pub(crate) ids: Labels,
}

/// A query: a fingerprint, or a text where it is known how fingerprints are made.
pub(crate) fn query_of<F: Width>(
    query: &Bound<'_, PyAny>,
    recipe: impl FnOnce() -> PyResult<Recipe>,
) -> PyResult<F> {
    match query.cast::<PyString>() {
        Ok(text) => of_text(&recipe()?, text.to_str()?, Purpose::Query),
        Err(_) => F::one(query),
    }
}

/// Many queries: fingerprints, or texts where it is known how fingerprints are made.
pub(crate) fn queries_of<'py>(
    queries: &Bound<'py, PyAny>,
    threads: Option<usize>,
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
    Ok(match recipe.width {
        Bits::Bits64 => {
            Fingerprints::Bits64(Words::Own(of_texts(py, &recipe, &texts, threads, Purpose::Query)?))
        }
        Bits::Bits128 => Fingerprints::Bits128(of_texts(py, &recipe, &texts, threads, Purpose::Query)?),
    })
}

/// The recipe of an index.
pub(crate) fn recipe_of(index: &AnyIndex) -> PyResult<Recipe> {
    stored_recipe(index.metadata()).or_raise()?.ok_or_else(|| {
        PyValueError::new_err(
            "the index was built of fingerprints and does not say how they are made of texts: \
             query it with fingerprints, or build it with recipe=",
        )
    })
}

/// What the ids of a match are called.
pub(crate) fn labels(ids: Ids<'_>, names: Option<&Names<'_>>, has_ids: bool) -> Result<Labels, ReadError> {
    Ok(match names {
        Some(names) => {
            let names = ids.map(|id| names.name_of(id).map(text_of));
            Labels::Names(names.collect::<Result<_, _>>()?)
        }
        None if has_ids => Labels::Numbers(ids.collect()),
        None => Labels::None,
    })
}

/// A name as Python has it.
pub(crate) fn text_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
