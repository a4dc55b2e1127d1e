//! Opens or creates a store.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use hamdex::{Codec, FilterChoice};
use hamdex_simhash::Shingler;
use hamdex_store::{AnyStore, CreateOptions, StoreOptions, inspect};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::recipe::of_width;

/// The requested properties of a store, as far as they are given.
pub(crate) struct StoreRequest {
    pub(crate) distance: Option<u32>,
    pub(crate) ids: Option<bool>,
    pub(crate) names: Option<bool>,
    pub(crate) width: Option<u32>,
    pub(crate) design: Option<String>,
    pub(crate) codec: Option<Codec>,
    pub(crate) filter: Option<FilterChoice>,
    pub(crate) recipe: Option<String>,
    pub(crate) shingles: Option<NonZeroUsize>,
    pub(crate) lookups: Option<bool>,
}

impl StoreRequest {
    /// Opens the store, which must have the requested properties; creates it if there is none.
    pub(crate) fn open(self, py: Python<'_>, path: &Path, options: StoreOptions) -> PyResult<AnyStore> {
        let store = if is_free(path) {
            let width = self.width.unwrap_or(64);
            let create = self.to_create()?;
            py.detach(|| AnyStore::create(path, width, &create, options)).or_raise()?
        } else {
            self.check(path)?;
            py.detach(|| AnyStore::open(path, options)).or_raise()?
        };
        Ok(store)
    }

    fn to_create(&self) -> PyResult<CreateOptions> {
        let names = self.names.unwrap_or(false);
        if names && self.ids == Some(false) {
            return Err(PyValueError::new_err("names=True needs ids: ids cannot be False"));
        }
        if self.lookups == Some(true) && self.ids == Some(false) {
            return Err(PyValueError::new_err("lookups=True needs ids: ids cannot be False"));
        }
        let mut create = CreateOptions::new().ids(self.ids.unwrap_or(true)).names(names);
        if let Some(lookups) = self.lookups {
            create = create.lookups(lookups);
        }
        if let Some(distance) = self.distance {
            create = create.distance(distance);
        }
        if let Some(design) = &self.design {
            create = create.design(design);
        }
        if let Some(codec) = self.codec {
            create = create.codec(codec);
        }
        if let Some(filter) = self.filter {
            create = create.filter(filter);
        }
        if let Some(text) = &self.recipe {
            let recipe = of_width(text, self.width.unwrap_or(64), "the store has")?;
            create = create.recipe(recipe.to_string());
        }
        if let Some(words) = self.shingles {
            if !names || self.recipe.is_none() {
                return Err(PyValueError::new_err(
                    "shingles are kept of texts with names: pass names=True and recipe=, such as \"default\"",
                ));
            }
            create = create.shingles(Shingler::new(words).definition());
        }
        Ok(create)
    }

    /// Refuses options that differ from the properties of the store.
    fn check(&self, path: &Path) -> PyResult<()> {
        let manifest = inspect(path).or_raise()?.manifest;
        let identity = manifest.identity;
        refuse(path, "width", self.width.as_ref(), &identity.width)?;
        refuse(path, "distance", self.distance.as_ref(), &manifest.distance)?;
        refuse(path, "design", self.design.as_ref(), &manifest.design)?;
        refuse(path, "codec", self.codec.as_ref(), &manifest.codec)?;
        refuse(path, "filter", self.filter.as_ref(), &manifest.filter)?;
        refuse(path, "ids", self.ids.as_ref(), &identity.has_ids)?;
        refuse(path, "names", self.names.as_ref(), &identity.has_names)?;
        refuse(path, "lookups", self.lookups.as_ref(), &manifest.lookups)?;
        if let Some(words) = self.shingles {
            let own = manifest.shingles.as_deref().map(|definition| match Shingler::words_of(definition) {
                Some(words) => words.to_string(),
                None => definition.to_owned(),
            });
            let own = own.unwrap_or_else(|| "none".to_owned());
            refuse(path, "shingles", Some(&words.to_string()), &own)?;
        }
        if let Some(text) = &self.recipe {
            let recipe = of_width(text, identity.width, "the store has")?.to_string();
            refuse(path, "recipe", Some(&recipe), &manifest.recipe.unwrap_or_else(|| "none".to_owned()))?;
        }
        Ok(())
    }
}

fn refuse<T: PartialEq + ToString>(path: &Path, option: &str, given: Option<&T>, found: &T) -> PyResult<()> {
    match given.filter(|given| *given != found) {
        None => Ok(()),
        Some(given) => Err(PyValueError::new_err(format!(
            "{}: the store was created with {option}={}, not {}: leave {option} out, or name another directory",
            path.display(),
            found.to_string(),
            given.to_string()
        ))),
    }
}

/// Whether there is no store yet: no such directory, or an empty one.
fn is_free(path: &Path) -> bool {
    match path.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}
