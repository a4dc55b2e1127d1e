//! Files of rows with named columns: CSV, TSV, Parquet and Arrow.

#[cfg(feature = "parquet")]
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod reader;
pub(crate) mod value;
