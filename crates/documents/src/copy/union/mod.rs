//! One table of all inputs, whose columns are the union of theirs by name.
//!
//! - [`columns`]: the columns, in the order in which inputs name them first
//! - [`json`]: values of JSON as they are written
//! - [`cells`]: the cells of a row, each with its column
//! - [`table`]: the table as CSV or TSV
//! - [`kinds`], [`seen`]: the type of a column, from the types and values of the inputs
//! - [`value`], [`cast`], [`typed`]: values of all types, columns of them, and the table as Parquet or Arrow

#[cfg(feature = "parquet")]
mod cast;
pub(crate) mod cells;
pub(crate) mod columns;
pub(crate) mod json;
#[cfg(feature = "parquet")]
mod kinds;
#[cfg(feature = "parquet")]
mod seen;
pub(crate) mod table;
#[cfg(feature = "parquet")]
pub(crate) mod typed;
#[cfg(feature = "parquet")]
pub(crate) mod value;
