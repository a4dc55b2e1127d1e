//! The crate as programs use it.

mod dedup;
mod names;
#[cfg(feature = "parquet")]
mod rows;
