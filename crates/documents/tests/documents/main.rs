//! The crate as programs use it.

mod collections;
#[cfg(feature = "parquet")]
mod columns;
mod common;
mod dedup;
mod folders;
mod inputs;
#[cfg(feature = "parquet")]
mod joined;
mod mail_and_web;
#[cfg(feature = "parquet")]
mod rows;
mod tolerance;
#[cfg(feature = "parquet")]
mod union;
