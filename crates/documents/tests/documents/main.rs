//! The crate as programs use it.

mod collections;
mod common;
mod dedup;
mod inputs;
#[cfg(feature = "parquet")]
mod rows;
