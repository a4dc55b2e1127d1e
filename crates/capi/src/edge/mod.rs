//! The edge to C: the only unsafe code, except the declarations of exported functions, each of which creates a
//! [`Caller`], and for the implementations of `Versioned`.
//!
//! - [`caller`]: the arguments of a call, and the panics of its work
//! - [`handle`]: objects that C holds
//!
//! This file has the error object of a failed call, and the functions that C gave, with their contexts.
#![expect(unsafe_code, reason = "pointers from C, whose validity only the caller can promise")]

mod caller;
mod handle;

use std::ffi::{c_char, c_int, c_void};

pub(crate) use caller::{Caller, Versioned};
pub(crate) use handle::{Kind, Pool, Shell, kind};

use crate::status::{Failure, hamdex_status};
use hamdex::{Cancellation, Progress, Report};

/// The failure of a call. The library writes it, and `hamdex_error_free` frees it.
#[repr(C)]
#[derive(Default)]
pub struct hamdex_error {
    /// The kind, as the function returned it.
    pub status: hamdex_status,
    /// The number of the error of the operating system (`errno`, or that of Windows); 0 if there is none.
    pub os_code: i32,
    /// The cause, and often the remedy: one line in UTF-8 with a zero byte behind it.
    pub message: *const c_char,
    /// Its length, in bytes, without the zero byte.
    pub message_length: u64,
}

/// The message of an error, which C reads through the structure.
pub(crate) struct Message {
    _text: Vec<u8>,
}

kind!(Message, hamdex_error, "error", b"hamdex E");

/// Makes the object that C reads.
fn export(failure: Failure) -> *mut hamdex_error {
    let mut message = failure.message.into_bytes();
    // Callers in C see the message up to the first zero byte.
    message.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b'?');
    let message_length = message.len() as u64;
    message.push(0);
    let public = hamdex_error {
        status: failure.status,
        os_code: failure.os_code,
        message: message.as_ptr().cast(),
        message_length,
    };
    let shell = Shell::new(Message { _text: message });
    shell.publish(public);
    shell.as_c()
}

/// Receives the progress of long work: units done, and how many there are, or 0 if that is unknown. Any thread may call
/// it, several at a time. It returns 0 to go on; anything else stops the work, which then fails with `HAMDEX_STOPPED`.
/// It must not throw, and must not close what the work uses.
pub type hamdex_progress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64) -> c_int>;

/// Receives `count` pairs of near fingerprints: fingerprint i of `left` and of `right` are `distances[i]` bits apart.
/// The arrays are the library's, and gone when it returns. It returns 0 to go on; anything else stops the work, which
/// then fails with `HAMDEX_STOPPED`. It is called by the thread that asked for the pairs. It must not throw.
pub type hamdex_on_pairs = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        left: *const u8,
        right: *const u8,
        distances: *const u32,
        count: u64,
    ) -> c_int,
>;

/// A progress callback and its context.
#[derive(Clone, Copy)]
pub(crate) struct Reporter {
    function: unsafe extern "C" fn(*mut c_void, u64, u64) -> c_int,
    context: *mut c_void,
}

// SAFETY: the contract of `hamdex_progress` is that any thread may call it with the context.
unsafe impl Send for Reporter {}
// SAFETY: as above.
unsafe impl Sync for Reporter {}

impl Reporter {
    /// # Safety
    /// The function keeps the contract of `hamdex_progress` as long as the reporter is used.
    pub(crate) unsafe fn new(function: hamdex_progress, context: *mut c_void) -> Option<Self> {
        function.map(|function| Self { function, context })
    }

    /// Returns a report for one piece of work, which the callback cancels.
    pub(crate) fn report(self) -> Report {
        let cancellation = Cancellation::new();
        Report::new().cancellation(cancellation.clone()).progress(move |progress| {
            if !self.goes_on(progress) {
                cancellation.cancel();
            }
        })
    }

    /// Calls the function. Returns whether the work may go on.
    fn goes_on(self, progress: Progress) -> bool {
        // SAFETY: the caller of the function that made the reporter promised it.
        unsafe { (self.function)(self.context, progress.done, progress.total.unwrap_or(0)) == 0 }
    }
}

/// A callback for pairs and its context. It stays in the thread of the call.
pub(crate) struct PairsReceiver {
    function: unsafe extern "C" fn(*mut c_void, *const u8, *const u8, *const u32, u64) -> c_int,
    context: *mut c_void,
}

impl PairsReceiver {
    /// # Safety
    /// The function keeps the contract of `hamdex_on_pairs` as long as the receiver is used.
    pub(crate) unsafe fn new(function: hamdex_on_pairs, context: *mut c_void) -> Option<Self> {
        function.map(|function| Self { function, context })
    }

    /// Passes pairs on: as many bytes on each side as the distances have fingerprints.
    pub(crate) fn receive(&self, left: &[u8], right: &[u8], distances: &[u32]) -> Result<(), Failure> {
        let (left, right, count) = (left.as_ptr(), right.as_ptr(), distances.len() as u64);
        // SAFETY: the caller of the function that made the receiver promised it; the arrays live until it returns.
        let answer = unsafe { (self.function)(self.context, left, right, distances.as_ptr(), count) };
        if answer == 0 { Ok(()) } else { Err(Failure::stopped()) }
    }
}
