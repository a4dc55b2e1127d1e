//! The records of a write to a store, one or many.

use std::iter;

use hamdex::set::Description;
use hamdex_any::Kind;
use hamdex_store::Record;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString};

use crate::arrays::{self, Fingerprints, check_lengths};
use crate::query::recipe_in;
use crate::recipe::{Purpose, of_text, of_texts};
use crate::texts::{Document, Maker, Texts, words_in};
use crate::width::Width;
use crate::work;

/// The records to write, and the places of what was given for none: nulls, and blank texts in a store with shingles.
pub(crate) struct Records<F> {
    labelled: Labelled<F>,
    pub(crate) nulls: Nulls,
}

/// Fingerprints with ids, 0 in a store without ids; with names; with names and the shingles of texts.
enum Labelled<F> {
    Pairs(Vec<(F, u64)>),
    Named(Vec<(F, String)>),
    Documents(Vec<(Document<F>, String)>),
}

/// The places of nulls among texts, ascending.
pub(crate) struct Nulls(Vec<usize>);

impl Nulls {
    /// Returns the outcomes of all texts, given the outcomes of the texts that are not null.
    pub(crate) fn spread<T>(&self, outcomes: Vec<Option<T>>) -> Vec<Option<T>> {
        let mut others = outcomes.into_iter();
        let mut all = Vec::with_capacity(others.len() + self.0.len());
        for &null in &self.0 {
            all.extend(others.by_ref().take(null - all.len()));
            all.push(None);
        }
        all.extend(others);
        all
    }

    /// Refuses nulls, which can replace nothing.
    pub(crate) fn refuse(&self) -> PyResult<()> {
        self.0.first().map_or(Ok(()), |&place| Err(cannot_replace(place)))
    }
}

/// The error of a text without contents that should replace another.
pub(crate) fn cannot_replace(place: usize) -> PyErr {
    PyValueError::new_err(format!(
        "the text at {place} is blank: nothing can replace what is stored; remove what has its id"
    ))
}

/// Pairs fingerprints or documents with their labels, without nulls.
fn pair<F, V, T>(
    values: Vec<Option<V>>,
    labels: impl IntoIterator<Item = T>,
    labelled: impl FnOnce(Vec<(V, T)>) -> Labelled<F>,
) -> Records<F> {
    let nulls = Nulls((0..values.len()).filter(|&place| values[place].is_none()).collect());
    let pairs = values.into_iter().zip(labels).filter_map(|(one, label)| Some((one?, label)));
    Records { labelled: labelled(pairs.collect()), nulls }
}

impl<F: Width> Records<F> {
    /// Takes the arguments of a write: fingerprints, or texts if the store has a recipe.
    pub(crate) fn of(
        fingerprints: &Bound<'_, PyAny>,
        ids: Option<&Bound<'_, PyAny>>,
        description: &Description,
    ) -> PyResult<Self> {
        let ids = ids.filter(|ids| !ids.is_none());
        let Description { has_ids, has_names, has_shingles, .. } = *description;
        if ids.is_some() != has_ids {
            let text =
                if has_ids { "this store has ids: give one for each" } else { "this store has no ids" };
            return Err(PyValueError::new_err(text));
        }
        let is_one = is_one(fingerprints)?;
        if has_shingles {
            let (texts, names) = documents_of(fingerprints, ids)?;
            let made = documents(fingerprints.py(), &texts, description)?;
            let names = names.as_strs()?;
            return Ok(pair(made, names.into_iter().map(str::to_owned), Labelled::Documents));
        }
        let fingerprints = fingerprints_of::<F>(fingerprints, description)?;
        let Some(ids) = ids else {
            return Ok(pair(fingerprints, iter::repeat(0), Labelled::Pairs));
        };
        let ids = if is_one { PyList::new(ids.py(), [ids])?.into_any() } else { ids.clone() };
        if has_names {
            let names = Texts::copies_of(&ids)?;
            let names = names.as_strs()?;
            check_lengths("fingerprints", fingerprints.len(), names.len())?;
            return Ok(pair(fingerprints, names.into_iter().map(str::to_owned), Labelled::Named));
        }
        let ids = arrays::ids(&ids)?;
        let ids = ids.as_slice()?;
        check_lengths("fingerprints", fingerprints.len(), ids.len())?;
        Ok(pair(fingerprints, ids.iter().copied(), Labelled::Pairs))
    }

    /// Returns the pairs; none in a store with names.
    pub(crate) fn pairs(&self) -> &[(F, u64)] {
        match &self.labelled {
            Labelled::Pairs(pairs) => pairs,
            _ => &[],
        }
    }

    /// Returns the records as a store takes them.
    pub(crate) fn records(&self) -> Vec<Record<'_, F>> {
        match &self.labelled {
            Labelled::Pairs(pairs) => pairs.iter().map(Record::from).collect(),
            Labelled::Named(named) => named.iter().map(Record::from).collect(),
            Labelled::Documents(documents) => {
                documents.iter().map(|((one, set), name)| Record::document(*one, name, set)).collect()
            }
        }
    }
}

/// Takes fingerprints, one or many, or texts if the store has a recipe; `None` for a text that the store leaves out.
pub(crate) fn fingerprints_of<F: Width>(
    given: &Bound<'_, PyAny>,
    description: &Description,
) -> PyResult<Vec<Option<F>>> {
    let py = given.py();
    let recipe = || recipe_in(Kind::Store, description);
    let text = given.cast::<PyString>().ok();
    if text.is_none() && !Texts::are(given)? {
        return Ok(all(given)?.into_iter().map(Some).collect());
    }
    if description.has_shingles {
        let texts = match text {
            Some(text) => Texts::of(PyList::new(py, [text])?.as_any())?,
            None => Texts::of(given)?,
        };
        let made = documents(py, &texts, description)?;
        return Ok(made.into_iter().map(|made| made.map(|(fingerprint, _)| fingerprint)).collect());
    }
    match text {
        Some(text) => Ok(vec![Some(of_text(&recipe()?, text.to_str()?, Purpose::Insert)?)]),
        None => of_texts(py, &recipe()?, &Texts::of(given)?, work::threads(None)?, Purpose::Insert),
    }
}

/// Returns the documents of texts for a store with shingles; `None` for a blank one.
fn documents<F: Width>(
    py: Python<'_>,
    texts: &Texts,
    description: &Description,
) -> PyResult<Vec<Option<Document<F>>>> {
    let words = words_in(description)?.expect("it has shingles");
    let maker = Maker::<F>::new(&recipe_in(Kind::Store, description)?, words)?;
    let (texts, threads) = (texts.as_strs()?, work::threads(None)?);
    work::run(py, None, |watch| maker.documents(&texts, threads, watch))
}

/// Takes texts and their names, one or many, for a store with shingles.
pub(crate) fn documents_of(
    texts: &Bound<'_, PyAny>,
    names: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Texts, Texts)> {
    let Some(names) = names else {
        return Err(PyValueError::new_err("this store has names: give one for each"));
    };
    let is_text = texts.is_instance_of::<PyString>();
    let (texts, names) = match is_text {
        true => {
            (&PyList::new(texts.py(), [texts])?.into_any(), &PyList::new(names.py(), [names])?.into_any())
        }
        false => (texts, names),
    };
    if texts.len().is_ok_and(|len| len > 0) && !Texts::are(texts)? {
        let text = "this store keeps the shingles of texts: give the texts, not their fingerprints";
        return Err(PyTypeError::new_err(text));
    }
    let (texts, names) = (Texts::of(texts)?, Texts::copies_of(names)?);
    check_lengths("texts", texts.as_strs()?.len(), names.as_strs()?.len())?;
    Ok((texts, names))
}

/// Takes fingerprints, one or many.
fn all<F: Width>(fingerprints: &Bound<'_, PyAny>) -> PyResult<Vec<F>> {
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
