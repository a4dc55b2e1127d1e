//! Tables of results, written as JSON Lines, CSV or Parquet.

pub(crate) mod cell;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod table;
