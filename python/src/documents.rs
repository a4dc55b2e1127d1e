//! Texts as documents that are stored with their shingles.

use std::num::NonZeroUsize;

use hamdex::set::Description;
use hamdex::{ReadError, ReadErrorKind, shingles};
use hamdex_simhash::recipe::Shingle;
use hamdex_simhash::{Fingerprinter, Recipe, Scratch, Shingler};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use rayon::prelude::*;

use crate::errors::OrRaise;
use crate::width::Width;
use crate::work::{Watch, pool};

/// The words of a shingle by which `hamdex.dedup` compares by default.
const DEFAULT_WORDS: NonZeroUsize = hamdex_documents::Similarity::DEFAULT_WORDS;

/// Takes the argument `shingles`: whether to keep shingles, or the words of each.
pub(crate) fn words(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<NonZeroUsize>> {
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
    if let Ok(is_wanted) = given.cast::<PyBool>() {
        return Ok(is_wanted.is_true().then_some(DEFAULT_WORDS));
    }
    let Ok(words) = given.call_method0("__index__") else {
        let class = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "shingles must be True, or the number of words of each, not {class}"
        )));
    };
    let fits = words.extract::<usize>().ok().and_then(NonZeroUsize::new);
    fits.filter(|words| words.get() <= Shingle::MAX_WIDTH).map(Some).ok_or_else(|| {
        let text = format!("shingles must have from 1 to {} words, not {words}", Shingle::MAX_WIDTH);
        PyValueError::new_err(text)
    })
}

/// Returns the words of each shingle that a set keeps; `None` if it keeps none.
pub(crate) fn words_in(description: &Description) -> PyResult<Option<NonZeroUsize>> {
    if !description.has_shingles {
        return Ok(None);
    }
    let definition = description.metadata.get(shingles::KEY).map(|stored| String::from_utf8_lossy(stored));
    let definition = definition.unwrap_or_default();
    Shingler::words_of(&definition).map(Some).ok_or_else(|| {
        PyValueError::new_err(format!(
            "the shingles of the set are made as {definition:?}, which this version does not do"
        ))
    })
}

/// A fingerprint and the shingles of a text.
pub(crate) type Document<F> = (F, Vec<u64>);

/// Makes documents of texts.
pub(crate) struct Maker<F: Width> {
    pub(crate) fingerprinter: Fingerprinter<F>,
    pub(crate) words: NonZeroUsize,
}

impl<F: Width> Maker<F> {
    pub(crate) fn new(recipe: &Recipe, words: NonZeroUsize) -> PyResult<Self> {
        Ok(Self { fingerprinter: Fingerprinter::new(recipe).or_raise()?, words })
    }

    /// Returns the documents of texts; `None` for a blank one, which is similar to no other. Ends after a cancellation.
    pub(crate) fn documents(
        &self,
        texts: &[&str],
        threads: usize,
        watch: &Watch,
    ) -> PyResult<Vec<Option<Document<F>>>> {
        let start = || (Scratch::default(), Shingler::new(self.words));
        let made = pool(threads)?.install(|| {
            let made = texts.par_iter().map_init(start, |(scratch, shingler), text| {
                watch.go_on().is_continue().then(|| {
                    let (outcome, shingles) =
                        self.fingerprinter.fingerprint_and_shingles(text, scratch, shingler);
                    Some((outcome.value_of_text(&shingles)?, shingles.hashes().to_vec()))
                })
            });
            made.collect::<Option<Vec<_>>>()
        });
        made.map_or_else(|| Err(ReadError::from(ReadErrorKind::Stopped)).or_raise(), Ok)
    }
}
