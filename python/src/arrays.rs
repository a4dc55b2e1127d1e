//! Converts fingerprints and ids from Python and back.

use arrow_buffer::ScalarBuffer;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyRange, PyTuple};

use crate::{arrow, work};

/// Words that are copied between two signal checks: an even number.
const PIECE: usize = 1 << 20;

/// Numbers of 64 bits, in place or copied.
pub(crate) enum Words<'py> {
    Array(PyReadonlyArray1<'py, u64>),
    Column(ScalarBuffer<u64>),
    Own(Vec<u64>),
}

impl Words<'_> {
    /// Returns the numbers.
    pub(crate) fn as_slice(&self) -> PyResult<&[u64]> {
        match self {
            Self::Array(array) => array.as_slice().map_err(|error| PyValueError::new_err(error.to_string())),
            Self::Column(column) => Ok(column),
            Self::Own(numbers) => Ok(numbers),
        }
    }
}

/// Fingerprints of one width.
pub(crate) enum Fingerprints<'py> {
    Bits64(Words<'py>),
    Bits128(Vec<u128>),
}

impl<'py> Fingerprints<'py> {
    /// Takes fingerprints: a numpy array, an Arrow column, or a list of numbers.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let what = "fingerprints";
        let unpacked = unpacked(object)?;
        let object = unpacked.as_ref().unwrap_or(object);
        if let Some(own) = listed(object, what)? {
            return Ok(Self::Bits64(Words::Own(own)));
        }
        if object.cast::<PyUntypedArray>().is_err() && arrow::speaks_arrow(object)? {
            let arrays = arrow::import(object)?;
            if arrow::are_wide(&arrays) {
                return arrow::wide(&arrays, what).map(Self::Bits128);
            }
            return arrow::words(&arrays, what).map(|column| Self::Bits64(Words::Column(column)));
        }
        let array = as_array(object, what)?;
        match array.shape() {
            [_] => flat(&array, what).map(|array| Self::Bits64(Words::Array(array))),
            [_, 2] => {
                let words = flat(&array, what)?;
                let words = words.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
                let mut wide = Vec::with_capacity(words.len() / 2);
                for piece in words.chunks(PIECE) {
                    object.py().check_signals()?;
                    let pairs = piece.chunks_exact(2);
                    wide.extend(pairs.map(|pair| u128::from(pair[0]) << 64 | u128::from(pair[1])));
                }
                Ok(Self::Bits128(wide))
            }
            shape => Err(PyValueError::new_err(format!(
                "{what} of shape {shape:?}: one of 64 bits each is an array of shape (n,), of 128 bits (n, 2), \
                 the high word first"
            ))),
        }
    }

    /// Returns the width, in bits.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Self::Bits64(_) => 64,
            Self::Bits128(_) => 128,
        }
    }

    /// Returns the number of fingerprints.
    pub(crate) fn len(&self) -> PyResult<usize> {
        match self {
            Self::Bits64(words) => Ok(words.as_slice()?.len()),
            Self::Bits128(wide) => Ok(wide.len()),
        }
    }
}

/// Takes ids: not negative, at most 64 bits.
pub(crate) fn ids<'py>(object: &Bound<'py, PyAny>) -> PyResult<Words<'py>> {
    let what = "ids";
    if let Some(own) = listed(object, what)? {
        return Ok(Words::Own(own));
    }
    if object.cast::<PyUntypedArray>().is_err() && arrow::speaks_arrow(object)? {
        let arrays = arrow::import(object)?;
        let is_signed =
            arrays.first().is_some_and(|array| *array.data_type() == arrow_schema::DataType::Int64);
        let column = arrow::words(&arrays, what)?;
        refuse_negative(is_signed, &column)?;
        return Ok(Words::Column(column));
    }
    let array = as_array(object, what)?;
    if array.shape().len() != 1 {
        return Err(PyValueError::new_err(format!("ids of shape {:?}: expected shape (n,)", array.shape())));
    }
    let is_signed = kind_of(&array)? == "i";
    let words = Words::Array(flat(&array, what)?);
    refuse_negative(is_signed, words.as_slice()?)?;
    Ok(words)
}

fn refuse_negative(is_signed: bool, words: &[u64]) -> PyResult<()> {
    match words.iter().position(|&word| is_signed && word > i64::MAX as u64) {
        Some(place) => {
            Err(PyValueError::new_err(format!("the id at {place} is negative: {}", words[place] as i64)))
        }
        None => Ok(()),
    }
}

/// Refuses lists of different lengths; `what` is the first one.
pub(crate) fn check_lengths(what: &str, length: usize, ids: usize) -> PyResult<()> {
    if length == ids {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{length} {what} but {ids} ids: pass one id for each")))
}

/// Returns the numbers of a list, tuple or range; `None` for anything else.
fn listed(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Vec<u64>>> {
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if !is_list && !object.is_instance_of::<PyRange>() {
        return Ok(None);
    }
    let mut words = Vec::with_capacity(object.len()?);
    for (place, item) in object.try_iter()?.enumerate() {
        work::check_signals_at(object.py(), place)?;
        let item = item?;
        let number = number(&item)?;
        if what == "ids" && matches!(number, Number::Negative(_)) {
            return Err(PyValueError::new_err(format!("the id at {place} is negative: {item}")));
        }
        words.push(narrow(number, what)?);
    }
    Ok(Some(words))
}

/// A number as it is written.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Whole(u128),
    /// Below 0: the bit pattern of a signed integer as wide as a fingerprint.
    Negative(i128),
}

impl Number {
    /// Returns the bits of an integer of `width` bits; `None` if it has more.
    pub(crate) fn bits(self, width: u32) -> Option<u128> {
        let mask = u128::MAX >> (u128::BITS - width);
        match self {
            Self::Whole(number) => (number <= mask).then_some(number),
            Self::Negative(number) => {
                (number >= i128::MIN >> (u128::BITS - width)).then_some(number as u128 & mask)
            }
        }
    }
}

fn narrow(number: Number, what: &str) -> PyResult<u64> {
    let text = "use an array of shape (n, 2) for 128 bits";
    let bits = number.bits(64).map(|bits| bits as u64);
    bits.ok_or_else(|| PyOverflowError::new_err(format!("{what} of more than 64 bits; {text}")))
}

/// Returns packed hashes, an array of bytes with the most significant byte of each first, as numbers; `None` for
/// anything else.
fn unpacked<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(array) = object.cast::<PyUntypedArray>() else { return Ok(None) };
    refuse_mask(object, "fingerprints")?;
    if !is_packed(array)? {
        return Ok(None);
    }
    let [_, bytes @ (8 | 16)] = *array.shape() else {
        return Err(PyValueError::new_err(format!(
            "fingerprints of type uint8 and shape {:?}: packed ones are an array of shape (n, 8), of 128 bits (n, 16), \
             the most significant byte first",
            array.shape()
        )));
    };
    let numpy = object.py().import("numpy")?;
    let words = numpy.call_method1("ascontiguousarray", (object,))?.call_method1("view", (">u8",))?;
    if bytes == 8 { words.call_method1("reshape", (-1,)).map(Some) } else { Ok(Some(words)) }
}

/// Whether an array has bytes.
fn is_packed(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    Ok(kind_of(array)? == "u" && array.getattr("dtype")?.getattr("itemsize")?.extract::<usize>()? == 1)
}

/// Refuses an array with a mask, which would be lost.
fn refuse_mask(object: &Bound<'_, PyAny>, what: &str) -> PyResult<()> {
    let masked = object.py().import("numpy.ma")?.getattr("MaskedArray")?;
    if object.is_instance(&masked)? {
        let text =
            format!("{what} must not be a masked array, whose mask would be lost: pass its compressed()");
        return Err(PyTypeError::new_err(text));
    }
    Ok(())
}

/// Takes a number: an int, or a numpy scalar, whose negative values are bit patterns of 64 bits.
fn number(item: &Bound<'_, PyAny>) -> PyResult<Number> {
    if !item.is_instance_of::<PyInt>() && item.hasattr("dtype")? {
        let kind = item.getattr("dtype")?.getattr("kind")?.extract::<String>()?;
        match kind.as_str() {
            "i" => return Ok(Number::Whole(u128::from(item.extract::<i64>()? as u64))),
            // As u64: to read u128, Python shifts, which numpy 1 does not do for its scalars.
            "u" => return item.extract::<u64>().map(|number| Number::Whole(number.into())),
            _ => {}
        }
    }
    // To Python, a bool is an int.
    if !item.is_instance_of::<PyInt>() || item.is_instance_of::<PyBool>() {
        let class = item.get_type().name()?;
        return Err(PyTypeError::new_err(format!("expected an integer, got {class}")));
    }
    if let Ok(negative) = item.extract::<i128>()
        && negative < 0
    {
        return Ok(Number::Negative(negative));
    }
    item.extract::<u128>().map(Number::Whole).map_err(|_| {
        let what = "has more than 128 bits";
        PyOverflowError::new_err(format!(
            "{} {what}",
            item.repr().map_or_else(|_| "a number".into(), |text| text.to_string())
        ))
    })
}

/// Takes one fingerprint: a number, or for 128 bits two words, the high one first.
pub(crate) fn fingerprint(object: &Bound<'_, PyAny>, width: u32) -> PyResult<Number> {
    match object.cast::<PyUntypedArray>() {
        Ok(array) if array.shape() == [2] && width == 128 => {
            let words = flat(array, "fingerprints")?;
            let words = words.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Number::Whole(u128::from(words[0]) << 64 | u128::from(words[1])))
        }
        Ok(array)
            if matches!(array.shape(), [8 | 16])
                && array.len() * 8 == width as usize
                && is_packed(array)? =>
        {
            let bytes = array.call_method0("tobytes")?.extract::<Vec<u8>>()?;
            Ok(Number::Whole(bytes.iter().fold(0, |number, &byte| number << 8 | u128::from(byte))))
        }
        Ok(array) if !array.shape().is_empty() => {
            let text = format!("expected one fingerprint, got an array of shape {:?}", array.shape());
            Err(PyValueError::new_err(format!("{text}: batch() takes many")))
        }
        _ if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() => {
            let class = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("expected one fingerprint, got a {class}: batch() takes many")))
        }
        _ => number(object),
    }
}

fn kind_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<String> {
    array.getattr("dtype")?.getattr("kind")?.extract()
}

/// Takes an array of integers of 64 bits.
fn as_array<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = match object.cast::<PyUntypedArray>() {
        Ok(array) => array.clone(),
        Err(_) if object.hasattr("__array__")? => {
            let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
            array.cast_into::<PyUntypedArray>()?
        }
        Err(_) => {
            let class = object.get_type().name()?;
            let taken = "a numpy array, an Arrow column or a list of numbers";
            let advice = if object.is_instance_of::<PyDict>() { ": pass list(its.values())" } else { "" };
            return Err(PyTypeError::new_err(format!("{what} must be {taken}, not {class}{advice}")));
        }
    };
    refuse_mask(array.as_any(), what)?;
    let dtype = array.getattr("dtype")?;
    let (kind, bytes) = (kind_of(&array)?, dtype.getattr("itemsize")?.extract::<usize>()?);
    if !matches!(kind.as_str(), "u" | "i") || bytes != 8 {
        let advice = match kind.as_str() {
            "f" => ": as floats they have lost bits already",
            "u" | "i" => "; widen them with astype(\"uint64\")",
            "O" if what == "fingerprints" => {
                "; of whole numbers below 2**64, make an array with dtype=\"uint64\""
            }
            _ => "",
        };
        return Err(PyTypeError::new_err(format!(
            "{what} of type {dtype}: expected uint64 or int64{advice}"
        )));
    }
    Ok(array)
}

/// Returns the words of an array of integers of 64 bits; without a copy if they are contiguous.
fn flat<'py>(array: &Bound<'py, PyUntypedArray>, what: &str) -> PyResult<PyReadonlyArray1<'py, u64>> {
    let native = if array.getattr("dtype")?.getattr("isnative")?.extract::<bool>()? {
        array.clone().into_any()
    } else {
        let dtype = array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
        array.call_method1("astype", (dtype,))?
    };
    let numpy = array.py().import("numpy")?;
    // C order, aligned, and an array rather than one of its subclasses.
    let requirements = ["C", "A", "E"];
    let dense = numpy
        .call_method1("require", (native, array.py().None(), requirements))?
        .call_method1("reshape", (-1,))?;
    let words = dense.call_method1("view", ("uint64",))?;
    let words = words.cast::<PyArray1<u64>>().map_err(PyErr::from)?;
    words.try_readonly().map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}
