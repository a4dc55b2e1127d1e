//! Copies of input rows: the rows that remain without the duplicates.
//!
//! Inputs are read twice. The first pass finds the columns that they have in common; inputs that cannot be read twice
//! are kept in a temporary file. The second pass copies the wanted rows, and all rows that could not be read as
//! documents: these never count as duplicates.
//!
//! One file takes the columns of all inputs, or each input is copied to a file of its own.
//!
//! - [`layout`]: the columns of an input, and those of an output
//! - [`agreed`]: those of the output that fit all inputs
//! - [`union`]: one table of inputs with other columns
//! - [`plan`]: the state kept between the two passes
//! - [`row_sink`]: the rows of an input, and their receiver
//! - [`copier`]: the second pass
//! - [`output`]: the file that is written
//! - [`records`]: records in it
//! - [`folder`]: the files of a copy in which each input has its own
//! - [`folder_copier`]: the second pass of such a copy
//! - [`rewritten`]: one of its files, without some rows
//! - [`columnar`]: a Parquet file with the columns of the inputs

pub(crate) mod agreed;
#[cfg(feature = "parquet")]
mod columnar;
pub(crate) mod copier;
pub(crate) mod folder;
mod folder_copier;
pub(crate) mod layout;
mod output;
pub(crate) mod plan;
mod records;
mod rewritten;
pub(crate) mod row_sink;
mod union;
