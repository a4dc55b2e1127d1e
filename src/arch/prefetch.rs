//! Cache lines ahead of their use.

use std::ops::Range;

#[cfg(not(target_arch = "x86_64"))]
use crate::arch::fallback::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::arch::x86_64::prefetch;

/// Bytes that a prefetch brings, on most machines.
pub(crate) const LINE_BYTES: usize = 64;

/// Prefetches all cache lines of a range of bytes that begin with a line.
#[inline(always)]
pub(crate) fn prefetch_lines(bytes: &[u8], range: Range<usize>) {
    let first = range.start / LINE_BYTES * LINE_BYTES;
    for at in (first..range.end).step_by(LINE_BYTES) {
        prefetch(bytes, at);
    }
}
