//! Arrow data, in and out, through the PyCapsule interface: libraries that support it (pyarrow, polars, pandas, duckdb)
//! can pass arguments and take results. None of them is needed.
//!
//! - [`capsule`]: capsules and their contents
//! - [`columns`]: columns of numbers and texts, as the package needs them

mod capsule;
pub(crate) mod columns;

pub(crate) use capsule::{export_array, export_schema, export_stream, import, speaks_arrow};
