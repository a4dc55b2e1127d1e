//! Results as named tuples, whose classes are in the package's `_results.py`.

use hamdex::Summary;
use hamdex_any::AnyFingerprint;
use hamdex_store::inspect::StoreStats;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::query::Found;

/// Returns a class of `hamdex._results`.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "hamdex._results", name)
}

/// Makes the summary of a build.
pub(crate) fn summary(py: Python<'_>, summary: Summary) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let Summary { pushed, fingerprints, ids, design, bytes, .. } = summary;
    class(py, &CLASS, "Summary")?.call1((pushed, fingerprints, ids, design, bytes))
}

/// Returns a fingerprint as a Python int.
fn number_of(fingerprint: AnyFingerprint) -> u128 {
    fingerprint.narrow().expect("fingerprints have at most 128 bits")
}

/// Makes a match, with its first ids or names, and the number of all.
pub(crate) fn one_match(py: Python<'_>, found: Found) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Match")?.call1((
        number_of(found.one.fingerprint),
        found.one.distance,
        found.ids.into_python(py)?,
        found.ids_count,
    ))
}

/// Makes a similar text.
pub(crate) fn similar<'py>(py: Python<'py>, id: &str, similarity: f64) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Similar")?.call1((id, similarity))
}

/// Makes the report of a verification.
pub(crate) fn verified(py: Python<'_>, counts: (u64, usize, u64, u64, u64)) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    class(py, &CLASS, "Verified")?.call1(counts)
}

/// Makes the statistics of a store, by name.
pub(crate) fn stats<'py>(py: Python<'py>, stats: &StoreStats) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("fingerprints", stats.fingerprints)?;
    named.set_item("ids", stats.ids)?;
    named.set_item("is_exact", stats.is_exact)?;
    named.set_item("files", stats.segments.len())?;
    named.set_item("bytes", stats.bytes)?;
    named.set_item("recent", stats.recent)?;
    named.set_item("recent_bytes", stats.recent_bytes)?;
    named.set_item("removed", stats.removed)?;
    named.set_item("write_amplification", stats.write_amplification)?;
    Ok(named.into_any())
}
