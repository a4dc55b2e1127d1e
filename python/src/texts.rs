//! Texts from Python, also as documents that are stored with their shingles.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use arrow_array::builder::LargeStringBuilder;
use hamdex::set::Description;
use hamdex::threads::{map_in_order, map_numbers};
use hamdex::{ReadError, Stopped, shingles};
use hamdex_simhash::recipe::Shingle;
use hamdex_simhash::{Fingerprinter, Recipe, Scratch, Shingler};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PySet, PyString};

use crate::arrow;
use crate::errors::OrRaise;
use crate::width::Width;
use crate::work::{self, Watch, pool};

/// The number of texts between two progress reports.
const TEXTS_PER_REPORT: usize = 32;

/// Texts, in place or copied. A null, of Arrow, Python or pandas, is not a text.
pub(crate) enum Texts {
    Strings(Vec<Option<PyBackedStr>>),
    Column(Vec<ArrayRef>),
}

impl Texts {
    /// Whether these are texts, judged by the first that is not a null.
    pub(crate) fn are(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        use arrow_schema::DataType::{Dictionary, LargeUtf8, Null, Utf8, Utf8View};
        if object.len().is_err() {
            // An iterator or a stream would be used up.
            return Ok(false);
        }
        if !arrow::speaks_arrow(object)? {
            // Not by the place 0, which a column of pandas may lack.
            let Ok(items) = object.try_iter() else { return Ok(false) };
            let mut has_nulls = false;
            for item in items {
                let item = item?;
                if !is_null(&item)? {
                    return Ok(item.is_instance_of::<PyString>());
                }
                has_nulls = true;
            }
            return Ok(has_nulls);
        }
        let arrays = arrow::import(object)?;
        let are_texts = |kind: &arrow_schema::DataType| match kind {
            Utf8 | LargeUtf8 | Utf8View | Null => true,
            Dictionary(_, values) => matches!(**values, Utf8 | LargeUtf8 | Utf8View | Null),
            _ => false,
        };
        Ok(arrays.first().is_some_and(|array| are_texts(array.data_type())))
    }

    /// Takes the texts of a list, of an Arrow column, or of the column `text` of a table, and its column `id`, if it is
    /// named.
    pub(crate) fn with_ids(
        table: &Bound<'_, PyAny>,
        text: &str,
        id: Option<&str>,
    ) -> PyResult<(Self, Option<Vec<ArrayRef>>)> {
        if !arrow::speaks_arrow(table)? {
            if id.is_some() {
                return Err(PyTypeError::new_err(
                    "id names a column, but a list of texts has none: pass an Arrow table",
                ));
            }
            return Ok((Self::of(table)?, None));
        }
        let batches = arrow::import(table)?;
        if batches.iter().all(|batch| !matches!(batch.data_type(), arrow_schema::DataType::Struct(_)))
            && id.is_none()
        {
            // The table is a column of texts.
            return Ok((Self::of_column(batches)?, None));
        }
        let texts = Self::of_column(arrow::of_table(&batches, text)?)?;
        let ids = id.map(|id| arrow::of_table(&batches, id)).transpose()?;
        if let Some(ids) = &ids {
            arrow::refuse_nulls(ids, "id")?;
        }
        Ok((texts, ids))
    }

    /// Takes texts: an Arrow column, or any iterable of strings. Either may have nulls.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if arrow::speaks_arrow(object)? {
            let column = arrow::import(object)?;
            return Self::of_column(column);
        }
        let mut strings = Vec::with_capacity(object.len().unwrap_or_default());
        for_each_string(object, "text", |string| {
            strings.push(string.map(PyBackedStr::try_from).transpose()?);
            Ok(())
        })?;
        Ok(Self::Strings(strings))
    }

    /// Takes copies of short texts, such as names: they need no more memory than references to Python's
    /// objects, and are freed at once instead of one by one.
    pub(crate) fn copies_of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if arrow::speaks_arrow(object)? {
            let column = arrow::import(object)?;
            arrow::refuse_nulls(&column, "id")?;
            return Self::of_column(column);
        }
        let mut column = LargeStringBuilder::new();
        for_each_string(object, "id", |string| {
            string.map_or(Ok(()), |string| string.to_str().map(|text| column.append_value(text)))
        })?;
        Ok(Self::Column(vec![Arc::new(column.finish())]))
    }

    /// Takes an Arrow column.
    pub(crate) fn of_column(column: Vec<ArrayRef>) -> PyResult<Self> {
        let column = arrow::without_categories(column)?;
        let texts = Self::Column(column);
        texts.as_options()?;
        Ok(texts)
    }

    /// Returns the texts, in order; a null is a blank text.
    pub(crate) fn as_strs(&self) -> PyResult<Vec<&str>> {
        Ok(self.as_options()?.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns the texts, in order.
    pub(crate) fn as_options(&self) -> PyResult<Vec<Option<&str>>> {
        match self {
            Self::Strings(strings) => Ok(strings.iter().map(Option::as_deref).collect()),
            Self::Column(arrays) => {
                let mut texts = Vec::new();
                arrays.iter().try_for_each(|array| arrow::texts(array, "texts", &mut texts))?;
                Ok(texts)
            }
        }
    }
}

/// Whether an item of a list is not a text: `None`, or what pandas has for it, NaN and `pandas.NA`.
fn is_null(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_none() {
        return Ok(true);
    }
    match item.cast::<PyFloat>() {
        Ok(number) => Ok(number.value().is_nan()),
        Err(_) => Ok(!item.is_instance_of::<PyString>() && item.get_type().name()? == "NAType"),
    }
}

/// Iterates over strings, and nulls where they are texts, with signal checks in between. Errors of `take` name the text
/// that is not UTF-8.
fn for_each_string<'py>(
    object: &Bound<'py, PyAny>,
    what: &str,
    mut take: impl FnMut(Option<Bound<'py, PyString>>) -> PyResult<()>,
) -> PyResult<()> {
    let refused = || {
        let class = object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{what}s must be a list of str or an Arrow column, not {class}"))
    };
    // To Python, a text is a sequence of texts of one letter, a dict is its keys, and a set has any order.
    if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
    {
        return Err(refused());
    }
    let items = object.try_iter().map_err(|_| refused())?;
    for (place, item) in items.enumerate() {
        work::check_signals_at(object.py(), place)?;
        let item = item?;
        let class = item.get_type();
        if what == "text" && is_null(&item)? {
            take(None)?;
            continue;
        }
        let Ok(string) = item.cast_into::<PyString>() else {
            let class = class.name()?;
            let text = format!("the {what} at {place} is not a str but {class}: leave it out, or convert it");
            return Err(PyTypeError::new_err(text));
        };
        take(Some(string)).map_err(|error| {
            if !error.is_instance_of::<PyUnicodeEncodeError>(object.py()) {
                return error;
            }
            let text = format!("the {what} at {place} has half a surrogate pair, which UTF-8 cannot encode");
            PyValueError::new_err(text)
        })?;
    }
    Ok(())
}

/// Maps every text on `threads` threads, each with its own state.
pub(crate) fn map_texts<S, T: Send>(
    texts: &[&str],
    threads: usize,
    watch: &Watch,
    phase: &'static str,
    start: impl Fn() -> S + Send + Sync,
    make: impl Fn(&mut S, &str) -> T + Send + Sync,
) -> PyResult<Vec<T>> {
    let total = Some(texts.len() as u64);
    let done = AtomicU64::new(0);
    let of_part = |state: &mut S, texts: &[&str]| {
        let mut made = Vec::with_capacity(texts.len());
        for text in texts {
            watch.check()?;
            made.push(make(state, text));
        }
        let before = done.fetch_add(texts.len() as u64, Ordering::Relaxed);
        watch.note((phase, before + texts.len() as u64, total));
        watch.check()?;
        Ok::<_, Stopped>(made)
    };
    let parts = texts.chunks(TEXTS_PER_REPORT).collect();
    let parts = pool(threads)?.install(|| map_in_order(parts, start, of_part));
    Ok(parts.map_err(ReadError::from).or_raise()?.into_iter().flatten().collect())
}

/// The words of a shingle by which `hamdex.dedup` compares by default.
const DEFAULT_WORDS: NonZeroUsize = hamdex_documents::Similarity::DEFAULT_WORDS;

/// Takes the argument `shingles`: whether to keep shingles, or the words of each.
pub(crate) fn shingle_words(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<NonZeroUsize>> {
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
        let make = |(scratch, shingler): &mut (Scratch<F>, Shingler), number: usize| {
            watch.check()?;
            let (outcome, shingles) =
                self.fingerprinter.fingerprint_and_shingles(texts[number], scratch, shingler);
            let fingerprint = outcome.value_of_text(&shingles);
            Ok::<_, Stopped>(fingerprint.map(|fingerprint| (fingerprint, shingles.hashes().to_vec())))
        };
        let made = pool(threads)?.install(|| map_numbers(texts.len(), start, make));
        made.map_err(ReadError::from).or_raise()
    }
}
