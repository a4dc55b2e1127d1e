//! Opens whatever lies at a path.

use std::path::PathBuf;

use hamdex_any::Kind;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::index::Handle;
use crate::snapshot::Snapshot;

/// Open the index file, the store or the set of shards at a path, for queries.
///
/// A file is an ``Index``. A store or a set of shards is a ``Snapshot``, with the same queries: a store as it is now,
/// also while another process writes to it; ``Store`` opens it for writes.
///
/// >>> import hamdex, os, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "small.store")
/// >>> with hamdex.Store(path, distance=3) as store:
/// ...     store.insert([0b0000, 0b0111], ids=[1, 2])
/// >>> hamdex.open(path).query(0b0001, k=1)
/// [Match(fingerprint=0, distance=1, ids=[1], ids_count=1)]
#[pyfunction]
pub(crate) fn open<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
    let path = std::path::absolute(&path)?;
    let set = py.detach(|| hamdex_any::open(&path)).or_raise()?;
    match set.kind() {
        Kind::File => Handle::of_set(path, set).into_bound_py_any(py),
        _ => Snapshot::of_set(path, set).into_bound_py_any(py),
    }
}
