//! Converts queries from Python, and their matches.

use hamdex::set::{Description, MatchIds};
use hamdex::{Names, SetError};
use hamdex_any::{AnyMatch, AnySet, Kind};
use hamdex_documents::stored_recipe;
use hamdex_simhash::Recipe;
use hamdex_simhash::recipe::Width as Bits;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arrays::{Fingerprints, Words};
use crate::batch::Labels;
use crate::errors::OrRaise;
use crate::numbers::Threads;
use crate::recipe::{Purpose, of_text, of_texts};
use crate::texts::Texts;
use crate::width::Width;
use crate::work;

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
    Ok(match recipe.width {
        Bits::Bits64 => {
            let made = of_texts(py, &recipe, &texts, threads, Purpose::Query)?;
            Fingerprints::Bits64(Words::Own(made.into_iter().flatten().collect()))
        }
        Bits::Bits128 => {
            let made = of_texts(py, &recipe, &texts, threads, Purpose::Query)?;
            Fingerprints::Bits128(made.into_iter().flatten().collect())
        }
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
    let Description { has_ids, has_names, .. } = *set.description();
    Ok(match (has_ids, has_names) {
        (_, true) => {
            let name = |id| Ok(text_of(&set.name_of(id)?.unwrap_or_default()));
            Labels::Names(ids.map(name).collect::<Result<_, SetError>>()?)
        }
        (true, false) => Labels::Numbers(ids.map(|stored| stored.id).collect()),
        (false, false) => Labels::None,
    })
}

/// Returns a name as a Python str: see [`Names::text_of`].
pub(crate) fn text_of(name: &[u8]) -> String {
    Names::text_of(name).into_owned()
}
