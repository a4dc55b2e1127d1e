//! How many bytes something in memory holds: counted where they are handed out, not guessed.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What `make` makes, and the bytes on the heap that live on with it.
///
/// What the allocator itself adds to each piece is not counted, which flatters an index of many small
/// pieces, as mih-rs is.
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATOR.allocated();
    let made = make();
    (made, ALLOCATOR.allocated().saturating_sub(before) as u64)
}
