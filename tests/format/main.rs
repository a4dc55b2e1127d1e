//! The file format: writing, reading, and rejected files.
//!
//! - [`damage`]: flipped bits and missing bytes
//! - [`golden`]: files of released versions
//! - [`refusals`]: every row of format-spec.md's table of what a reader must reject
//! - [`spec`]: the worked examples of format-spec.md
//! - [`swaps`]: whole units in the wrong place

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod golden;
mod refusals;
mod spec;
mod swaps;
