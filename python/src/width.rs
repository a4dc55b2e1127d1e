//! The two widths of fingerprints, with their Python and Arrow types.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use hamdex::Fingerprint;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Fingerprints, Words, fingerprint};

/// A width of fingerprints.
pub(crate) trait Width: Fingerprint {
    /// The Arrow type.
    const ARROW: DataType;

    /// Makes an Arrow column.
    fn column(fingerprints: Vec<Self>) -> ArrayRef;

    /// Makes a numpy array of words, or of pairs of words.
    fn array(py: Python<'_>, fingerprints: Vec<Self>) -> PyResult<Bound<'_, PyAny>>;

    /// Returns the fingerprints of this width.
    ///
    /// # Errors
    /// If they have the other width.
    fn slice<'a>(fingerprints: &'a Fingerprints<'_>) -> PyResult<&'a [Self]>;

    /// Returns fingerprints that were made from texts.
    fn fingerprints(made: Vec<Self>) -> Fingerprints<'static>;

    /// Takes one fingerprint of this width.
    ///
    /// # Errors
    /// If it is not a number, or has more bits.
    fn one(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bits = fingerprint(object, Self::BITS)?.bits(Self::BITS);
        bits.map(Self::truncate).ok_or_else(|| {
            PyOverflowError::new_err(format!(
                "{object} has more than the {} bits of the fingerprints",
                Self::BITS
            ))
        })
    }
}

fn other_width(expected: u32, found: u32) -> PyErr {
    let shape = if expected == 64 { "(n,)" } else { "(n, 2), the high word first" };
    PyValueError::new_err(format!(
        "expected fingerprints of {expected} bits, got {found}: pass an array of shape {shape}"
    ))
}

impl Width for u64 {
    const ARROW: DataType = DataType::UInt64;

    fn column(fingerprints: Vec<Self>) -> ArrayRef {
        Arc::new(UInt64Array::from(fingerprints))
    }

    fn array(py: Python<'_>, fingerprints: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        Ok(PyArray1::from_vec(py, fingerprints).into_any())
    }

    fn slice<'a>(fingerprints: &'a Fingerprints<'_>) -> PyResult<&'a [Self]> {
        match fingerprints {
            Fingerprints::Bits64(words) => words.as_slice(),
            Fingerprints::Bits128(_) => Err(other_width(64, 128)),
        }
    }

    fn fingerprints(made: Vec<Self>) -> Fingerprints<'static> {
        Fingerprints::Bits64(Words::Own(made))
    }
}

impl Width for u128 {
    const ARROW: DataType = DataType::FixedSizeBinary(16);

    fn column(fingerprints: Vec<Self>) -> ArrayRef {
        let bytes: Vec<u8> = fingerprints.iter().flat_map(|number| number.to_le_bytes()).collect();
        Arc::new(FixedSizeBinaryArray::new(16, Buffer::from_vec(bytes), None))
    }

    fn array(py: Python<'_>, fingerprints: Vec<Self>) -> PyResult<Bound<'_, PyAny>> {
        let words = fingerprints.iter().flat_map(|&number| [(number >> 64) as u64, number as u64]).collect();
        Ok(PyArray1::from_vec(py, words).reshape([fingerprints.len(), 2])?.into_any())
    }

    fn slice<'a>(fingerprints: &'a Fingerprints<'_>) -> PyResult<&'a [Self]> {
        match fingerprints {
            Fingerprints::Bits128(wide) => Ok(wide),
            Fingerprints::Bits64(_) => Err(other_width(128, 64)),
        }
    }

    fn fingerprints(made: Vec<Self>) -> Fingerprints<'static> {
        Fingerprints::Bits128(made)
    }
}

/// Returns the numpy array of a column of 128 bits.
pub(crate) fn wide_array<'py>(py: Python<'py>, column: &FixedSizeBinaryArray) -> PyResult<Bound<'py, PyAny>> {
    let number = |row| u128::from_le_bytes(column.value(row).try_into().expect("16 bytes"));
    u128::array(py, (0..column.len()).map(number).collect())
}
