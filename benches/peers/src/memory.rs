//! How many bytes something in memory holds: counted where they are handed out, not guessed.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that something holds.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// On the heap, as they were asked for.
    pub heap: u64,
    /// By which the memory of the process has grown, with what the allocator adds and cannot give back;
    /// `None` where the system does not tell.
    pub resident: Option<u64>,
}

/// What `make` makes, and the bytes that live on with it.
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, Held) {
    let before = (ALLOCATOR.allocated(), resident());
    let made = make();
    let heap = ALLOCATOR.allocated().saturating_sub(before.0) as u64;
    let resident = resident().zip(before.1).map(|(after, before)| after.saturating_sub(before));
    (made, Held { heap, resident })
}

/// Bytes of memory that the process has, as Linux tells it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
