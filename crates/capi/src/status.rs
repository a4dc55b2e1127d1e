//! The outcome of a call: a status, and the message of a failure.

use std::any::Any;
use std::collections::TryReserveError;
use std::error::Error as StdError;
use std::io;
use std::path::Path;

use hamdex::{BuildError, Category, DesignError, SetError, chain};

/// The outcome of a call: `HAMDEX_OK`, or the kind of its failure. Later versions may have further kinds.
pub type hamdex_status = i32;

/// The call succeeded.
pub const HAMDEX_OK: hamdex_status = 0;
/// An argument or option is wrong, or contradicts another.
pub const HAMDEX_USAGE: hamdex_status = 1;
/// The data that was given cannot be taken: fingerprints of another width, ids for a set without ids.
pub const HAMDEX_INPUT: hamdex_status = 2;
/// Something has the name of the output already.
pub const HAMDEX_EXISTS: hamdex_status = 3;
/// The bytes are not hamdex's, or of a version that this library cannot read.
pub const HAMDEX_FORMAT: hamdex_status = 4;
/// Some bytes differ from the bytes written, or a file is missing.
pub const HAMDEX_DAMAGED: hamdex_status = 5;
/// The system refuses memory.
pub const HAMDEX_MEMORY: hamdex_status = 6;
/// The operating system refuses something else: see `os_code` of the error.
pub const HAMDEX_SYSTEM: hamdex_status = 7;
/// The store or set cannot be used now: it is in use, closed, busy or full.
pub const HAMDEX_UNAVAILABLE: hamdex_status = 8;
/// The output is complete and in place, and may be lost in a crash of the system.
pub const HAMDEX_NOT_DURABLE: hamdex_status = 9;
/// A callback stopped the work.
pub const HAMDEX_STOPPED: hamdex_status = 10;
/// A pointer cannot be right: it is null, misaligned, or a handle that is closed, of another type, or in use by another
/// call. Nothing was done.
pub const HAMDEX_MISUSE: hamdex_status = 11;
/// An error in the library itself. The handle of the call can only be closed.
pub const HAMDEX_INTERNAL: hamdex_status = 12;
/// A failure of another kind.
pub const HAMDEX_OTHER: hamdex_status = 13;

/// The status of a category of failures.
fn of_category(category: Category) -> hamdex_status {
    match category {
        Category::Usage => HAMDEX_USAGE,
        Category::Input => HAMDEX_INPUT,
        Category::Exists => HAMDEX_EXISTS,
        Category::Format => HAMDEX_FORMAT,
        Category::Damaged => HAMDEX_DAMAGED,
        Category::Memory => HAMDEX_MEMORY,
        Category::System => HAMDEX_SYSTEM,
        Category::Unavailable => HAMDEX_UNAVAILABLE,
        Category::NotDurable => HAMDEX_NOT_DURABLE,
        Category::Stopped => HAMDEX_STOPPED,
        _ => HAMDEX_OTHER,
    }
}

/// The failure of a call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: hamdex_status,
    pub(crate) message: String,
    /// The number of the error of the operating system; 0 if there is none.
    pub(crate) os_code: i32,
}

impl Failure {
    fn new(status: hamdex_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), os_code: 0 }
    }

    /// A pointer cannot be right.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::new(HAMDEX_MISUSE, message)
    }

    /// An option is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(HAMDEX_USAGE, message)
    }

    /// The data cannot be taken.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(HAMDEX_INPUT, message)
    }

    /// The system refuses to look at a path.
    pub(crate) fn system(path: &Path, error: &io::Error) -> Self {
        let message = format!("{}: {error}", path.display());
        Self { status: HAMDEX_SYSTEM, message, os_code: error.raw_os_error().unwrap_or_default() }
    }

    /// The caller's callback stopped the work.
    pub(crate) fn stopped() -> Self {
        Self::new(HAMDEX_STOPPED, "the callback stopped the work")
    }

    /// An earlier panic left a handle in an unknown state.
    pub(crate) fn poisoned(name: &str) -> Self {
        Self::new(HAMDEX_INTERNAL, format!("an earlier call with the {name} failed in the library; close it"))
    }

    /// The code panicked.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        Self::new(HAMDEX_INTERNAL, format!("an error in hamdex, please report it: {text}"))
    }

    fn of(status: hamdex_status, error: &(dyn StdError + 'static)) -> Self {
        Self { status, message: chain(error), os_code: os_code(error) }
    }
}

/// The number of the error of the operating system behind an error.
fn os_code(error: &(dyn StdError + 'static)) -> i32 {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return number;
        }
        cause = error.source();
    }
    0
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        Self::of(of_category(error.category()), &error)
    }
}

impl From<hamdex_store::Error> for Failure {
    fn from(error: hamdex_store::Error) -> Self {
        Self::of(of_category(error.category()), &error)
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::of(of_category(error.category()), &error)
    }
}

impl From<DesignError> for Failure {
    fn from(error: DesignError) -> Self {
        Self::of(HAMDEX_USAGE, &error)
    }
}

impl From<TryReserveError> for Failure {
    fn from(error: TryReserveError) -> Self {
        Self::new(HAMDEX_MEMORY, format!("out of memory for results: {error}"))
    }
}
