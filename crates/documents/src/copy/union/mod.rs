//! One table of all inputs, whose columns are the union of theirs by name.
//!
//! - [`columns`]: the columns, in the order in which inputs name them first
//! - [`cells`]: the cells of a row, each with its column, and values of JSON as they are written
//! - [`kinds`], [`seen`]: the type of a column, from the types and values of the inputs
//! - [`value`], [`cast`]: values of all types, and columns of them

#[cfg(feature = "parquet")]
pub(crate) mod cast;
pub(crate) mod cells;
pub(crate) mod columns;
#[cfg(feature = "parquet")]
pub(crate) mod kinds;
#[cfg(feature = "parquet")]
mod seen;
#[cfg(feature = "parquet")]
pub(crate) mod value;
