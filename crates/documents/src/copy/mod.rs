//! Rows of the inputs, copied as they are: what is left without the duplicates.
//!
//! Inputs are read twice. The first reading finds out what they have in common; what cannot be read twice is kept
//! in a temporary file meanwhile. The second one copies the rows that are wanted, and all that could not be read
//! as documents: these are nobody's duplicates.
//!
//! - [`row`]: a row as it is in its input
//! - [`layout`]: the columns that the inputs have, and those of the output
//! - [`plan`]: what is known of the inputs after the first reading
//! - [`output`]: the file that is written
//! - [`columns`]: a Parquet file with the columns of others
//! - [`rows`]: the second reading

#[cfg(feature = "parquet")]
mod columns;
pub(crate) mod layout;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod rows;
