//! The error object that C reads.

use std::ffi::c_char;
use std::ptr;

use super::handle::{Kind, Pool, Shell};
use crate::failure::Failure;
use crate::status::hamdex_status;

/// The failure of a call. The library writes it, and `hamdex_error_free` frees it.
#[repr(C)]
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

impl Default for hamdex_error {
    fn default() -> Self {
        Self { status: 0, os_code: 0, message: ptr::null(), message_length: 0 }
    }
}

/// The message of an error, which C reads through the structure.
pub(crate) struct Message {
    _text: Vec<u8>,
}

static ERRORS: Pool<Message> = Pool::new();

impl Kind for Message {
    const MAGIC: u64 = 0x6861_6d64_6578_2045;
    const NAME: &'static str = "error";
    type Public = hamdex_error;

    fn pool() -> &'static Pool<Self> {
        &ERRORS
    }
}

/// Makes the object that C reads.
pub(crate) fn export(failure: Failure) -> *mut hamdex_error {
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
