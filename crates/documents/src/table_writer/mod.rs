//! Tables of results, written as JSON Lines, CSV or Parquet.
//!
//! - [`rows`]: a table of any format, written row by row
//! - [`cell`]: cells and columns
//! - [`parquet`]: tables as Parquet files

pub(crate) mod cell;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod rows;
