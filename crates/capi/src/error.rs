//! Errors, freed by C.
#![expect(unsafe_code, reason = "functions that are exported to C")]

use std::ptr;

use crate::edge::{Caller, Message, hamdex_error};
use crate::status::hamdex_status;

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
