//! Arrow data, in and out, through the PyCapsule interface: whatever speaks it (pyarrow, polars, pandas, duckdb) can
//! be given, and can take what is returned. None of them is needed.
//!
//! - [`capsule`]: the border itself
//! - [`columns`]: columns of numbers and texts, as the package needs them

mod capsule;
pub(crate) mod columns;

pub(crate) use capsule::{export_array, export_schema, export_stream, import, speaks_arrow};
