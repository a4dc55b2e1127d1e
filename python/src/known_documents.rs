//! Compares texts with the known documents of an index, a set of shards or a store's snapshot.

use std::path::PathBuf;

use hamdex::{Description, Match, SetError};
use hamdex_any::AnySet;
use hamdex_documents::{Error, Known, Reference, stored_recipe};
use hamdex_simhash::Recipe;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::index::Handle;
use crate::query::text_of;
use crate::recipe;
use crate::result_rows::Labels;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::width::Width;
use crate::work::Watch;

/// The known documents.
pub(crate) struct KnownDocuments(AnySet);

impl KnownDocuments {
    /// Takes an open index or store, or the path of one, or of a set of shards.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(index) = object.cast::<Handle>() {
            return index.get().index().map(Self);
        }
        if let Ok(store) = object.cast::<Store>() {
            return store.get().take_snapshot().map(|snapshot| Self(snapshot.set().clone()));
        }
        if let Ok(snapshot) = object.cast::<Snapshot>() {
            return Ok(Self(snapshot.get().set().clone()));
        }
        let path = object.extract::<PathBuf>().map_err(|_| {
            let class = object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "against must be an index, a store, or the path of one or of a set of shards, not {class}"
            ))
        })?;
        object.py().detach(|| hamdex_any::open(&path)).or_raise().map(Self)
    }

    /// Returns the recipe of the known documents; `given`, if they have none.
    pub(crate) fn recipe(&self, given: Option<&str>) -> PyResult<Recipe> {
        let width = self.0.description().width;
        let given = given.map(|text| recipe::of_width(text, width, "the known documents have"));
        let own = stored_recipe(&self.0.description().metadata).or_raise()?;
        match (own, given.transpose()?) {
            (Some(own), Some(given)) if own != given => Err(PyValueError::new_err(format!(
                "the known documents have the recipe \"{own}\", not \"{given}\": leave recipe out"
            ))),
            (Some(recipe), _) | (None, Some(recipe)) => Ok(recipe),
            (None, None) => Err(PyValueError::new_err(
                "the known documents have fingerprints without a recipe: pass it with recipe=",
            )),
        }
    }

    /// Returns the name or number of the known document near each text: the first id of the nearest
    /// fingerprint.
    pub(crate) fn labels<F: Width>(&self, known: &[Known]) -> PyResult<Labels> {
        let Description { has_ids, has_names, .. } = *self.0.description();
        let mut labels = Labels::new(has_ids, has_names);
        let Some(set) = self.0.typed::<F>().filter(|_| has_ids) else { return Ok(labels) };
        let mut searcher = set.open_searcher();
        for known in known {
            let fingerprint = F::truncate(known.fingerprint);
            let mut lists = searcher.ids_of(&[Match::new(fingerprint, fingerprint)]).or_raise()?;
            let Some(first) = lists.remove(0).next() else { continue };
            match &mut labels {
                Labels::Names(labels) => {
                    labels.push(text_of(&set.name_of(first).or_raise()?.unwrap_or_default()));
                }
                Labels::Numbers(labels) => labels.push(first.id),
                Labels::None => {}
            }
        }
        Ok(labels)
    }
}

/// Known documents, looked up until the work is cancelled.
pub(crate) struct WatchedDocuments<'a> {
    pub(crate) against: &'a KnownDocuments,
    pub(crate) watch: &'a Watch,
}

impl<F: Width> Reference<F> for WatchedDocuments<'_> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let Some(set) = self.against.0.typed::<F>() else {
            return Err(Error::Reference { source: "its fingerprints have another width".into() });
        };
        let nearest = fingerprints.par_iter().map_init(
            || set.open_searcher(),
            |searcher, fingerprint| match fingerprint {
                _ if self.watch.go_on().is_break() => Err(Error::Stopped),
                Some(fingerprint) => {
                    let found = searcher.nearest_within(*fingerprint, 1, distance).map_err(of_set)?;
                    Ok(found.first().copied())
                }
                None => Ok(None),
            },
        );
        nearest.collect()
    }
}

fn of_set(error: SetError) -> Error {
    error.downcast().map_or_else(|error| Error::Reference { source: error.into() }, Error::Index)
}
