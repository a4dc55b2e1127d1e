//! The two widths of fingerprints: what Python and Arrow have for each.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, UInt64Array};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use hamdex::{AnyIndex, Fingerprint, Index};
use hamdex_shards::{AnyShards, Shards};
use hamdex_store::Snapshot as Taken;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use crate::moment::Moment;
use crate::numbers::{Fingerprints, fingerprint};

/// A width of fingerprints.
pub(crate) trait Width: Fingerprint {
    /// Their type in Arrow.
    const ARROW: DataType;

    /// The index, if it is of this width.
    fn of_index(any: &AnyIndex) -> Option<&Index<Self>>;

    /// The set of shards, if it is of this width.
    fn of_shards(any: &AnyShards) -> Option<&Shards<Self>>;

    /// The moment of a store, if it is of this width.
    fn of_moment(any: &Moment) -> Option<&Taken<Self>>;

    /// A column of them.
    fn column(fingerprints: Vec<Self>) -> ArrayRef;

    /// An array of numpy: of words, or of pairs of words.
    fn array(py: Python<'_>, fingerprints: Vec<Self>) -> PyResult<Bound<'_, PyAny>>;

    /// Fingerprints of this width.
    ///
    /// # Errors
    /// When they are of the other one.
    fn slice<'a>(fingerprints: &'a Fingerprints<'_>) -> PyResult<&'a [Self]>;

    /// One fingerprint of this width.
    ///
    /// # Errors
    /// When it is no number, or has more bits.
    fn one(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = fingerprint(object)?;
        let one = Self::truncate(number);
        if one.to_u128() == number {
            return Ok(one);
        }
        Err(PyOverflowError::new_err(format!(
            "{number:#x} has more than the {} bits of the fingerprints",
            Self::BITS
        )))
    }
}

fn other_width(expected: u32, found: u32) -> PyErr {
    let shape = if expected == 64 { "(n,)" } else { "(n, 2), the high word first" };
    PyValueError::new_err(format!(
        "fingerprints of {expected} bits are needed, and these have {found}: an array of shape {shape}"
    ))
}

impl Width for u64 {
    const ARROW: DataType = DataType::UInt64;

    fn of_index(any: &AnyIndex) -> Option<&Index<Self>> {
        match any {
            AnyIndex::Bits64(index) => Some(index),
            _ => None,
        }
    }

    fn of_moment(any: &Moment) -> Option<&Taken<Self>> {
        match any {
            Moment::Bits64(snapshot) => Some(snapshot),
            Moment::Bits128(_) => None,
        }
    }

    fn of_shards(any: &AnyShards) -> Option<&Shards<Self>> {
        match any {
            AnyShards::Bits64(set) => Some(set),
            AnyShards::Bits128(_) => None,
        }
    }

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
}

impl Width for u128 {
    const ARROW: DataType = DataType::FixedSizeBinary(16);

    fn of_index(any: &AnyIndex) -> Option<&Index<Self>> {
        match any {
            AnyIndex::Bits128(index) => Some(index),
            _ => None,
        }
    }

    fn of_moment(any: &Moment) -> Option<&Taken<Self>> {
        match any {
            Moment::Bits128(snapshot) => Some(snapshot),
            Moment::Bits64(_) => None,
        }
    }

    fn of_shards(any: &AnyShards) -> Option<&Shards<Self>> {
        match any {
            AnyShards::Bits64(_) => None,
            AnyShards::Bits128(set) => Some(set),
        }
    }

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
}

/// The numpy array of a column of 128 bits.
pub(crate) fn wide_array<'py>(py: Python<'py>, column: &FixedSizeBinaryArray) -> PyResult<Bound<'py, PyAny>> {
    let number = |row| u128::from_le_bytes(column.value(row).try_into().expect("16 bytes"));
    u128::array(py, (0..column.len()).map(number).collect())
}
