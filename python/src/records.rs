//! The records of a write to a store, one or many.

use hamdex::Description;
use hamdex_any::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use crate::arrays::{self, Fingerprints, check_lengths};
use crate::query::recipe_in;
use crate::recipe::{Purpose, of_text, of_texts};
use crate::texts::Texts;
use crate::width::Width;
use crate::work;

/// The records to write: fingerprints with ids, or with names.
pub(crate) enum Records<F> {
    Pairs(Vec<(F, u64)>),
    Named(Vec<(F, String)>),
}

impl<F: Width> Records<F> {
    /// Takes the arguments of a write: fingerprints, or texts if the store has a recipe.
    pub(crate) fn of(
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        description: &Description,
    ) -> PyResult<Self> {
        let ids = ids.filter(|ids| !ids.is_none());
        let Description { has_ids, has_names, .. } = *description;
        if ids.is_some() != has_ids {
            let text =
                if has_ids { "this store has ids: give one for each" } else { "this store has no ids" };
            return Err(PyValueError::new_err(text));
        }
        let is_one = is_one(fingerprints)?;
        let fingerprints: Vec<F> = match fingerprints.cast::<PyString>() {
            Ok(text) => {
                vec![of_text(&recipe_in(Kind::Store, description)?, text.to_str()?, Purpose::Insert)?]
            }
            Err(_) if Texts::are(fingerprints)? => {
                let texts = Texts::of(fingerprints)?;
                of_texts(
                    fingerprints.py(),
                    &recipe_in(Kind::Store, description)?,
                    &texts,
                    work::threads(None)?,
                    Purpose::Insert,
                )?
            }
            Err(_) => all(fingerprints)?,
        };
        let Some(ids) = ids else {
            return Ok(Self::Pairs(fingerprints.into_iter().map(|fingerprint| (fingerprint, 0)).collect()));
        };
        let ids = if is_one { PyList::new(ids.py(), [ids])?.into_any() } else { ids.clone() };
        if has_names {
            let names = Texts::copies_of(&ids)?;
            let names = names.as_strs()?;
            check_lengths(fingerprints.len(), names.len())?;
            let names = names.into_iter().map(str::to_owned);
            return Ok(Self::Named(fingerprints.into_iter().zip(names).collect()));
        }
        let ids = arrays::ids(&ids)?;
        let ids = ids.as_slice()?;
        check_lengths(fingerprints.len(), ids.len())?;
        Ok(Self::Pairs(fingerprints.into_iter().zip(ids.iter().copied()).collect()))
    }
}

/// Takes fingerprints, one or many.
pub(crate) fn all<F: Width>(fingerprints: &Bound<'_, PyAny>) -> PyResult<Vec<F>> {
    if is_one(fingerprints)? {
        return Ok(vec![F::one(fingerprints)?]);
    }
    F::slice(&Fingerprints::of(fingerprints)?).map(<[F]>::to_vec)
}

/// Whether this is one fingerprint or text: a number, a numpy scalar, or a str.
pub(crate) fn is_one(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyInt>() || object.is_instance_of::<PyString>() {
        return Ok(true);
    }
    Ok(object.hasattr("ndim")?
        && object.getattr("ndim")?.extract::<usize>().is_ok_and(|dimensions| dimensions == 0))
}
