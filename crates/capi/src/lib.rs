//! The C library of hamdex: `include/hamdex.h` is written from these sources, and is its documentation.
//!
//! - `edge/`: all `unsafe` code: arguments and handles from C, and panics, which go no further
//! - `status`: how a call fails; `general`: versions, and the end of an error
//! - `options`, `records`, `matches`, `similar`: data in, and data out
//! - `set`, `search`, `batch`: queries, and look-ups of ids and names
//! - `store`, `write`, `build`: what changes a set, or makes one
//!
//! Every exported function makes a `Caller` and does its work in `Caller::run`.

// Names and types are those of the header.
#![allow(non_camel_case_types, unreachable_pub, reason = "they are public in C, under these names")]

// In the order of the header.
mod status;

mod general;

mod set;

mod matches;
mod search;
mod similar;

mod batch;

mod records;

mod build;

mod store;
mod write;

mod edge;
mod options;
#[cfg(test)]
mod tests;
