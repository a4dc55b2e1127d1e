//! Texts from Python.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::LargeStringBuilder;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;

use crate::arrow::{self, columns};
use crate::work;

/// Texts, in place or copied.
pub(crate) enum Texts {
    Strings(Vec<PyBackedStr>),
    Column(Vec<ArrayRef>),
}

impl Texts {
    /// Whether these are texts, judged by the first one.
    pub(crate) fn are(object: &Bound<'_, PyAny>) -> PyResult<bool> {
        use arrow_schema::DataType::{LargeUtf8, Utf8, Utf8View};
        let Ok(first) = object.get_item(0) else { return Ok(false) };
        if first.is_instance_of::<PyString>() || !arrow::speaks_arrow(object)? {
            return Ok(first.is_instance_of::<PyString>());
        }
        // Arrow libraries have their own scalars.
        let arrays = arrow::import(object)?;
        Ok(arrays.first().is_some_and(|array| matches!(array.data_type(), Utf8 | LargeUtf8 | Utf8View)))
    }

    /// Takes texts: an Arrow column, or any iterable of strings.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if arrow::speaks_arrow(object)? {
            let column = arrow::import(object)?;
            return Self::of_column(column);
        }
        let mut strings = Vec::with_capacity(object.len().unwrap_or_default());
        for_each_string(object, |string| {
            strings.push(PyBackedStr::try_from(string)?);
            Ok(())
        })?;
        Ok(Self::Strings(strings))
    }

    /// Takes copies of short texts, such as names: they need no more memory than references to Python's
    /// objects, and are freed at once instead of one by one.
    pub(crate) fn copies_of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if arrow::speaks_arrow(object)? {
            return Self::of(object);
        }
        let mut column = LargeStringBuilder::new();
        for_each_string(object, |string| {
            column.append_value(string.to_str()?);
            Ok(())
        })?;
        Ok(Self::Column(vec![Arc::new(column.finish())]))
    }

    /// Takes an Arrow column.
    pub(crate) fn of_column(column: Vec<ArrayRef>) -> PyResult<Self> {
        columns::refuse_nulls(&column, "text")?;
        let texts = Self::Column(column);
        texts.as_strs()?;
        Ok(texts)
    }

    /// Returns the texts, in order.
    pub(crate) fn as_strs(&self) -> PyResult<Vec<&str>> {
        match self {
            Self::Strings(strings) => Ok(strings.iter().map(|string| &**string).collect()),
            Self::Column(arrays) => {
                let mut texts = Vec::new();
                arrays.iter().try_for_each(|array| columns::texts(array, "texts", &mut texts))?;
                Ok(texts)
            }
        }
    }
}

/// Iterates over strings, with signal checks in between. Errors of `take` name the text that is not UTF-8.
fn for_each_string<'py>(
    object: &Bound<'py, PyAny>,
    mut take: impl FnMut(Bound<'py, PyString>) -> PyResult<()>,
) -> PyResult<()> {
    let refused = || {
        let class = object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("texts must be a list of str or an Arrow column, not {class}"))
    };
    // To Python, a text is a sequence of texts of one letter.
    if object.is_instance_of::<PyString>() {
        return Err(refused());
    }
    let items = object.try_iter().map_err(|_| refused())?;
    for (place, item) in items.enumerate() {
        work::look_at(object.py(), place)?;
        let Ok(string) = item?.cast_into::<PyString>() else {
            let text = format!("the text at {place} is not a str: leave it out, or convert it");
            return Err(PyTypeError::new_err(text));
        };
        take(string).map_err(|error| {
            if !error.is_instance_of::<PyUnicodeEncodeError>(object.py()) {
                return error;
            }
            let text = format!("the text at {place} has half a surrogate pair, which UTF-8 cannot encode");
            PyValueError::new_err(text)
        })?;
    }
    Ok(())
}
