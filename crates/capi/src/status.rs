//! The outcome of a call.

use hamdex::Category;

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
pub(crate) fn of_category(category: Category) -> hamdex_status {
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
