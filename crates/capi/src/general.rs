//! Functions that belong to no set, store or other object: versions of the library and of its interface, and the end of
//! an error.
#![expect(unsafe_code, reason = "functions that are exported to C")]

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
#[unsafe(no_mangle)]
pub extern "C" fn hamdex_abi_version() -> u32 {
    HAMDEX_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0": text in UTF-8 with a zero byte behind it, which is never freed.
///
/// Threads: any, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn hamdex_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Frees an error. Null is allowed.
///
/// Threads: any. No other call may use the error meanwhile.
///
/// Errors: `HAMDEX_MISUSE` if it is not an error, or was freed already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hamdex_error_free(error: *mut hamdex_error) -> hamdex_status {
    // SAFETY: the caller keeps the contract of the header.
    let caller = unsafe { Caller::new(ptr::null_mut()) };
    caller.run(|caller| caller.close::<Message>(error).map(drop))
}
