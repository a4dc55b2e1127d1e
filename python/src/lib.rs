//! The Python package of hamdex: near-duplicates among fingerprints and texts, exactly.
//!
//! Data flows one way: arguments are read in place (`arrays`, `records`, `texts`, `arrow/`), work runs without Python's
//! lock (`work`), and results become tables and named tuples (`result_rows`, `table`, `results`).
//!
//! - `errors`: errors of the engine as exceptions
//! - `work`: threads, signals, progress
//! - `numbers`: arguments that are numbers
//! - `recipe`, `features`, `shingles`, `documents`: fingerprints and shingles of texts
//! - `build`, `merge`, `dedup` with `known_documents`: indexes, and near-duplicates
//! - `index` and `snapshot`, both an `open_set`, with `query`, `pool`, `batch` and `stored_shingles`; `pairs`, with
//!   `join` and `stream`; `store` with `open_store`, `unless_similar`: open sets; `open`: whatever a path names
//! - `command`: the command-line program
//!
//! The rest of the package is in `python/hamdex`.

mod arrays;
mod arrow;
mod batch;
mod build;
mod command;
mod dedup;
mod documents;
mod errors;
mod features;
mod index;
mod join;
mod known_documents;
mod merge;
mod numbers;
mod open;
mod open_set;
mod open_store;
mod pairs;
mod pool;
mod query;
mod recipe;
mod records;
mod result_rows;
mod results;
mod shingles;
mod snapshot;
mod store;
mod stored_shingles;
mod stream;
mod table;
mod texts;
mod unless_similar;
mod width;
mod work;

/// The compiled part of the package.
#[pyo3::pymodule(name = "_hamdex")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::dedup::dedup;
    #[pymodule_export]
    use crate::errors::{BuildError, DamagedError, Error, FormatError, StoreError};
    #[pymodule_export]
    use crate::features::fingerprint_features;
    #[pymodule_export]
    use crate::index::Handle;
    #[pymodule_export]
    use crate::merge::merge;
    #[pymodule_export]
    use crate::open::open;
    #[pymodule_export]
    use crate::pairs::{Pairs, pairs};
    #[pymodule_export]
    use crate::recipe::fingerprint;
    #[pymodule_export]
    use crate::shingles::shingles;
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
