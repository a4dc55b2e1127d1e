//! Numbers among the arguments, which are refused by the name of the argument.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// Defines the type of an argument that is a whole number from 0 on.
macro_rules! argument {
    ($(#[$documentation:meta])* $name:ident($number:ty), $argument:literal) => {
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name(pub(crate) $number);

        impl<'py> FromPyObject<'_, 'py> for $name {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let number = whole(&object, $argument)?;
                let shown = || PyValueError::new_err(format!(concat!($argument, " must be at most {}, not {}"), <$number>::MAX, number));
                Ok(Self(number.try_into().map_err(|_| shown())?))
            }
        }
    };
}

argument! {
    /// The distance `k`, in bits.
    K(u32), "k"
}
argument! {
    /// The most matches, `limit`.
    Limit(usize), "limit"
}
argument! {
    /// The most ids of a match, `ids_limit`.
    IdsLimit(usize), "ids_limit"
}

impl IdsLimit {
    /// The limit where none is given: a fingerprint may have very many ids.
    pub(crate) const DEFAULT: Option<Self> = Some(Self(10));

    /// Returns the most ids of a match; `None` is no limit.
    pub(crate) fn most(given: Option<Self>) -> usize {
        given.map_or(usize::MAX, |limit| limit.0)
    }
}

argument! {
    /// The number of `threads`.
    Threads(usize), "threads"
}

argument! {
    /// The number of nearest ones, `count`.
    Count(usize), "count"
}
argument! {
    /// The limit of `memory`, in bytes.
    Memory(u64), "memory"
}
argument! {
    /// The `distance` that a set is made for, in bits.
    Distance(u32), "distance"
}
argument! {
    /// Words per `shingle`.
    Shingle(usize), "shingle"
}

impl K {
    /// Returns the distance, which fingerprints of `width` bits must be able to have.
    pub(crate) fn within(self, width: u32) -> PyResult<u32> {
        if self.0 <= width {
            return Ok(self.0);
        }
        let text = format!("k must be at most {width}, as fingerprints have {width} bits, not {}", self.0);
        Err(PyValueError::new_err(text))
    }
}

/// Returns the distance that is given, or that of the set.
pub(crate) fn distance(k: Option<K>, width: u32, default: u32) -> PyResult<u32> {
    k.map_or(Ok(default), |k| k.within(width))
}

/// Whether this is a bool: to Python and to numpy 1, it is a number.
fn is_bool(object: &Bound<'_, PyAny>) -> bool {
    let kind = || object.getattr("dtype")?.getattr("kind")?.extract::<char>();
    object.is_instance_of::<PyBool>() || kind().is_ok_and(|kind| kind == 'b')
}

/// Takes a number that is whole and not negative.
fn whole(object: &Bound<'_, PyAny>, argument: &str) -> PyResult<u64> {
    let number = if is_bool(object) { None } else { object.call_method0("__index__").ok() };
    let Some(number) = number else {
        let class = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{argument} must be a whole number, not {class}")));
    };
    number.extract::<u64>().map_err(|_| {
        let what = if number.lt(0).unwrap_or(false) { "must not be negative" } else { "is too large" };
        PyValueError::new_err(format!("{argument} {what}: {number}"))
    })
}
