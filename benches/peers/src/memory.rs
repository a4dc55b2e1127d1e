//! The memory held by a value, counted by the allocator.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Bytes that a value holds.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// On the heap, as requested from the allocator.
    pub heap: u64,
    /// Growth of the memory of the process, including what the allocator adds and cannot return;
    /// `None` if the system does not report it.
    pub resident: Option<u64>,
}

/// Returns what `make` returns, and the bytes that it holds.
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, Held) {
    let before = (ALLOCATOR.allocated(), resident());
    let made = make();
    let heap = ALLOCATOR.allocated().saturating_sub(before.0) as u64;
    let resident = resident().zip(before.1).map(|(after, before)| after.saturating_sub(before));
    (made, Held { heap, resident })
}

/// Resident bytes of the process, as Linux reports them.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
