//! The C library of hamdex: `include/hamdex.h` is written from these sources, and is its documentation.
//!
//! - `edge/`: all `unsafe` code: arguments and handles from C, and panics, which go no further
//! - `status`: how a call fails
//! - `options`, `records`, `matches`, `similar`: data in, and data out
//! - `set`, `search`, `batch`: queries, and look-ups of ids and names
//! - `store`, `write`, `build`: what changes a set, or makes one
//!
//! This file has the functions of no object: versions, and the end of an error. Every exported function makes a `Caller`
//! and does its work in `Caller::run`.

// Names and types are those of the header.
#![allow(non_camel_case_types, unreachable_pub, reason = "they are public in C, under these names")]

// In the order of the header, which begins with the functions below.
mod status;

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

use std::ffi::c_char;
use std::ptr;

use crate::edge::{Caller, Message, hamdex_error};
use crate::status::hamdex_status;

/// The version of the functions and structures of this header. It grows when a function is removed, or a function
/// or structure changes so that earlier programs no longer fit; not for new functions, and new fields at the end of a
/// structure with a `size`.
pub const HAMDEX_ABI_VERSION: u32 = 2;

/// The version of the library, with a zero byte behind it.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// Returns the version of the interface of the library that was loaded. A program that was compiled with another
/// `HAMDEX_ABI_VERSION` must not use it.
///
/// Threads: any, at any time.
#[expect(unsafe_code, reason = "it is exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn hamdex_abi_version() -> u32 {
    HAMDEX_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0": text in UTF-8 with a zero byte behind it, which is never freed.
///
/// Threads: any, at any time.
#[expect(unsafe_code, reason = "it is exported to C")]
#[unsafe(no_mangle)]
pub extern "C" fn hamdex_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Frees an error. Null is allowed.
///
/// Threads: any. No other call may use the error meanwhile.
///
/// Errors: `HAMDEX_MISUSE` if it is not an error, or was freed already.
#[expect(
    unsafe_code,
    clippy::missing_safety_doc,
    reason = "it is exported to C, whose rules are those of the header"
)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_error_free(error: *mut hamdex_error) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    unsafe { Caller::new(ptr::null_mut()) }.run(|caller| caller.close::<Message>(error).map(drop))
}
