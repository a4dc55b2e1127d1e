//! Tables of results, written to a file as its name says: JSON Lines, CSV or Parquet.

pub(crate) mod cell;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod table;
