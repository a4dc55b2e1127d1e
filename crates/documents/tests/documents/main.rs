//! The crate as programs use it.

mod collections;
mod common;
mod dedup;
mod inputs;
mod names;
#[cfg(feature = "parquet")]
mod rows;
