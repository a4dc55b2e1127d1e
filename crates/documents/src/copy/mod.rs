//! Copies of input rows: the rows that remain without the duplicates.
//!
//! Inputs are read twice. The first pass finds the columns that they have in common; inputs that cannot be read twice
//! are kept in a temporary file. The second pass copies the wanted rows, and all rows that could not be read as
//! documents: these never count as duplicates.
//!
//! One file takes the columns of all inputs, or each input is copied to a file of its own.
//!
//! - [`layout`]: the columns and rows of an input, and the columns of an output
//! - [`agreed`]: those of the output that fit all inputs
//! - [`union`]: one table of inputs with other columns
//! - [`plan`]: the state kept between the two passes
//! - [`copier`]: the second pass
//! - [`output`]: the file that is written
//! - [`columnar`]: the same as Parquet or Arrow
//! - [`folder_copier`]: the second pass of a copy in which each input has a file of its own

pub(crate) mod agreed;
#[cfg(feature = "parquet")]
mod columnar;
pub(crate) mod copier;
mod folder_copier;
pub(crate) mod layout;
mod output;
pub(crate) mod plan;
pub(crate) mod union;
