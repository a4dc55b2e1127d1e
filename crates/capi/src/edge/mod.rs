//! The edge to C: the only unsafe code, except the declarations of exported functions, each of which creates a
//! [`Caller`], and for the implementations of `Versioned`.
//!
//! - [`caller`]: the arguments of a call, and the panics of its work
//! - [`handle`]: objects that C holds
//! - [`error_object`]: the error object of a failed call
//! - [`callback`]: functions that C gave
#![expect(unsafe_code, reason = "pointers from C, whose validity only the caller can promise")]

mod callback;
mod caller;
mod error_object;
mod handle;

pub(crate) use callback::{PairsReceiver, Reporter};
pub use callback::{hamdex_on_pairs, hamdex_progress};
pub(crate) use caller::{Caller, Versioned};
pub(crate) use error_object::Message;
pub use error_object::hamdex_error;
pub(crate) use handle::{Kind, Pool, Shell};
