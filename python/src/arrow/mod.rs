//! Arrow data, in and out, through the PyCapsule interface: libraries that support it (pyarrow, polars, pandas, duckdb)
//! can pass arguments and take results. None of them is needed.
//!
//! - [`capsule`]: capsules and their contents, the only unsafe code
//!
//! This file has columns of numbers and texts, as the package needs them.

mod capsule;

use std::iter;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;

pub(crate) use capsule::{export_array, export_schema, export_stream, import, speaks_arrow};

/// Returns the column of this name in all batches of a table.
pub(crate) fn of_table(arrays: &[ArrayRef], name: &str) -> PyResult<Vec<ArrayRef>> {
    arrays.iter().map(|array| column(array, name)).collect()
}

fn column(array: &ArrayRef, name: &str) -> PyResult<ArrayRef> {
    let Some(table) = array.as_struct_opt() else {
        let what = format!("expected a table, got a column of type {}", array.data_type());
        return Err(PyTypeError::new_err(what));
    };
    if table.null_count() > 0 {
        return Err(PyValueError::new_err("some rows of the table are null as a whole"));
    }
    let batch = RecordBatch::from(table);
    let found = batch.column_by_name(name).cloned();
    found.ok_or_else(|| {
        let names: Vec<String> = table.column_names().iter().map(|name| format!("{name:?}")).collect();
        PyKeyError::new_err(format!("no column is named {name:?}; there are: {}", names.join(", ")))
    })
}

/// Refuses nulls, naming the first row.
pub(crate) fn refuse_nulls(arrays: &[ArrayRef], what: &str) -> PyResult<()> {
    let mut before = 0;
    for array in arrays {
        if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = before + (0..array.len()).find(|&row| nulls.is_null(row)).unwrap_or_default();
            let one = what.trim_end_matches('s');
            return Err(PyValueError::new_err(format!(
                "the {one} of row {row} is null: leave such rows out"
            )));
        }
        before += array.len();
    }
    Ok(())
}

/// Returns columns of categories as columns of their values; others as they are.
pub(crate) fn without_categories(arrays: Vec<ArrayRef>) -> PyResult<Vec<ArrayRef>> {
    let values = |array: ArrayRef| match array.as_any_dictionary_opt() {
        Some(categories) => take(categories.values(), categories.keys(), None)
            .map_err(|error| PyValueError::new_err(format!("the categories cannot be read: {error}"))),
        None => Ok(array),
    };
    arrays.into_iter().map(values).collect()
}

/// Returns numbers of 64 bits, signed ones as bit patterns; without a copy if there is one array.
pub(crate) fn words(arrays: &[ArrayRef], what: &str) -> PyResult<ScalarBuffer<u64>> {
    refuse_nulls(arrays, what)?;
    let mut parts: Vec<ScalarBuffer<u64>> =
        arrays.iter().map(|array| words_of(array, what)).collect::<PyResult<_>>()?;
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    Ok(parts.iter().flat_map(|part| part.iter().copied()).collect::<Vec<u64>>().into())
}

fn words_of(array: &ArrayRef, what: &str) -> PyResult<ScalarBuffer<u64>> {
    let array = &without_categories(vec![array.clone()])?[0];
    match array.data_type() {
        // Nulls were refused, so it is empty: Arrow gives nothing this type.
        DataType::Null => Ok(ScalarBuffer::from(Vec::new())),
        DataType::UInt64 => Ok(array.as_primitive::<UInt64Type>().values().clone()),
        DataType::Struct(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            Err(PyTypeError::new_err(format!(
                "the {what} are a table: pass one of its columns, which are: {}",
                names.join(", ")
            )))
        }
        DataType::Int64 => {
            let signed = array.as_primitive::<Int64Type>().values().clone();
            let length = signed.len();
            Ok(ScalarBuffer::new(signed.into_inner(), 0, length))
        }
        other => Err(PyTypeError::new_err(format!(
            "the {what} are of type {other}: expected uint64 or int64, for 128 bits fixed_size_binary[16]"
        ))),
    }
}

/// Whether these are numbers of 128 bits.
pub(crate) fn are_wide(arrays: &[ArrayRef]) -> bool {
    arrays.first().is_some_and(|array| *array.data_type() == DataType::FixedSizeBinary(16))
}

/// Returns numbers of 128 bits, as little-endian bytes.
pub(crate) fn wide(arrays: &[ArrayRef], what: &str) -> PyResult<Vec<u128>> {
    refuse_nulls(arrays, what)?;
    let number = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().expect("16 bytes"));
    let of = |array: &ArrayRef| -> Vec<u128> {
        let array = array.as_fixed_size_binary();
        (0..array.len()).map(|row| number(array.value(row))).collect()
    };
    Ok(arrays.iter().flat_map(of).collect())
}

/// Returns the texts of an array.
pub(crate) fn texts<'a>(array: &'a ArrayRef, what: &str, into: &mut Vec<Option<&'a str>>) -> PyResult<()> {
    match array.data_type() {
        DataType::Utf8 => into.extend(array.as_string::<i32>()),
        DataType::LargeUtf8 => into.extend(array.as_string::<i64>()),
        DataType::Utf8View => into.extend(array.as_string_view()),
        DataType::Null => into.extend(iter::repeat_n(None, array.len())),
        other => {
            let text = format!("the {what} are of type {other}: they must be strings");
            return Err(PyTypeError::new_err(text));
        }
    }
    Ok(())
}
