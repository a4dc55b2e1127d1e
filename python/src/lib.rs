//! The Python package of hamdex: near-duplicates among fingerprints and texts, exactly.
//!
//! Data flows one way: arguments are read in place (`arrays`, `records`, `texts`, `arrow/`), work runs without Python's
//! lock (`work`), and results become tables and named tuples (`results`).
//!
//! - `errors`: errors of the engine as exceptions
//! - `work`: threads, signals, progress
//! - `numbers`: arguments that are numbers
//! - `recipe`, `shingles`: fingerprints and shingles of texts
//! - `build`, `dedup` with `known_documents`: indexes, and near-duplicates
//! - `set` and `index`, with `query` and `pairs`; `store` with `open_store`,
//!   `unless_similar`, `similar`: open sets
//! - `files`: merges of indexes, and manifests of sets of shards
//!
//! This file has the functions that concern no one of these: the command-line program, and opening whatever a path
//! names.
//!
//! The rest of the package is in `python/hamdex`.

mod arrays;
mod arrow;
mod build;
mod dedup;
mod errors;
mod files;
mod index;
mod known_documents;
mod numbers;
mod open_store;
mod pairs;
mod query;
mod recipe;
mod records;
mod results;
mod set;
mod shingles;
mod similar;
mod store;
mod texts;
mod width;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;

use hamdex_any::Kind;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::index::Handle;
use crate::set::Snapshot;

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
        Kind::File => Bound::new(py, Handle::of_set(path, set))?.into_bound_py_any(py),
        _ => Snapshot::object(py, Snapshot::of_set(path, set))?.into_bound_py_any(py),
    }
}

/// Run the command line, whose first item is the name of the program. Returns its exit code.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| hamdex_tools::run(arguments))
}

/// The compiled part of the package.
#[pyo3::pymodule(name = "_hamdex")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::dedup::dedup;
    #[pymodule_export]
    use crate::errors::{BuildError, DamagedError, Error, FormatError, StoreError};
    #[pymodule_export]
    use crate::files::merge;
    #[pymodule_export]
    use crate::files::{is_shards, read_manifest_of, write_manifest_of};
    #[pymodule_export]
    use crate::index::Handle;
    #[pymodule_export]
    use crate::open;
    #[pymodule_export]
    use crate::pairs::{Pairs, pairs};
    #[pymodule_export]
    use crate::recipe::fingerprint;
    #[pymodule_export]
    use crate::recipe::fingerprint_features;
    #[pymodule_export]
    use crate::results::Table;
    #[pymodule_export]
    use crate::run_command;
    #[pymodule_export]
    use crate::set::{Set, Snapshot};
    #[pymodule_export]
    use crate::shingles::shingles;
    #[pymodule_export]
    use crate::similar::most_similar;
    #[pymodule_export]
    use crate::store::Store;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("_MAX_SHARDS", hamdex_shards::MAX_SHARDS)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
