//! Tables of results, written as JSON Lines, CSV, Parquet or Arrow.
//!
//! - [`rows`]: a table of any format, written row by row
//! - [`cell`]: cells and columns
//! - [`format`]: the formats, by the names of files
//! - [`sink`]: the file, compressed if its name says so
//! - [`parquet`], [`batches`]: tables as Parquet and Arrow files, row by row and batch by batch

#[cfg(feature = "parquet")]
pub(crate) mod batches;
pub(crate) mod cell;
pub(crate) mod format;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod rows;
pub(crate) mod sink;
