//! What a store is.

use std::sync::Arc;

use hamdex_simhash::Recipe;
use hamdex_store::Manifest;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::recipe::recipe;

/// What a store is, as far as queries need to know.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) has_ids: bool,
    pub(crate) has_names: bool,
    pub(crate) distance: u32,
    /// How fingerprints are made of texts, if that is known.
    pub(crate) recipe: Option<Arc<str>>,
}

impl Shape {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        Self {
            has_ids: manifest.identity.has_ids,
            has_names: manifest.identity.has_names,
            distance: manifest.distance,
            recipe: manifest.recipe.as_deref().map(Arc::from),
        }
    }

    /// The recipe, which texts need.
    pub(crate) fn recipe(&self) -> PyResult<Recipe> {
        let text = self.recipe.as_deref().ok_or_else(|| {
            PyValueError::new_err(
                "the store was made for fingerprints and does not say how they are made of texts: \
                 give fingerprints, or make a store with recipe=",
            )
        })?;
        recipe(text, None)
    }
}
