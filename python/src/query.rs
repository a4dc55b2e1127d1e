//! One query of an index.

use hamdex::{Index, ReadError};
use hamdex_documents::stored_recipe;
use hamdex_simhash::Recipe;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::OrRaise;
use crate::recipe::of_text;
use crate::rows::Labels;
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

/// A query: a fingerprint, or a text where the index knows how fingerprints are made.
pub(crate) fn query_of<F: Width>(index: &Index<F>, query: &Bound<'_, PyAny>) -> PyResult<F> {
    match query.cast::<PyString>() {
        Ok(text) => of_text(&recipe_of(index)?, text.to_str()?),
        Err(_) => F::one(query),
    }
}

fn recipe_of<F: Width>(index: &Index<F>) -> PyResult<Recipe> {
    stored_recipe(index.metadata()).or_raise()?.ok_or_else(|| {
        PyValueError::new_err(
            "the index was built of fingerprints and does not say how they are made of texts: \
             query it with fingerprints, or build it with recipe=",
        )
    })
}

/// Answers one query of an index.
pub(crate) fn find<F: Width>(
    py: Python<'_>,
    index: &Index<F>,
    query: F,
    wanted: Wanted,
    distance: u32,
) -> PyResult<Vec<Found>> {
    work::run_here(py, |looker| {
        let mut searcher = index.searcher().progress(looker.callback());
        let matches = match wanted {
            Wanted::First => F::first(&mut searcher, query, distance)?.into_iter().collect(),
            Wanted::Nearest(usize::MAX) => F::within(&mut searcher, query, distance)?.to_vec(),
            Wanted::Nearest(count) => F::nearest_within(&mut searcher, query, count, distance)?.to_vec(),
        };
        let names = index.names()?;
        let lists = F::ids_of(&mut searcher, &matches)?;
        let mut found = Vec::with_capacity(matches.len());
        for (one, ids) in matches.iter().zip(lists) {
            let ids = match &names {
                Some(names) => {
                    let names = ids.map(|id| names.name_of(id).map(text_of));
                    Labels::Names(names.collect::<Result<_, ReadError>>()?)
                }
                None if index.has_ids() => Labels::Numbers(ids.collect()),
                None => Labels::None,
            };
            found.push(Found { fingerprint: one.fingerprint.to_u128(), distance: one.distance, ids });
        }
        Ok::<_, ReadError>(found)
    })
}

/// A name as Python has it.
pub(crate) fn text_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
