//! Levels of processor instructions.

use std::sync::atomic::{AtomicU8, Ordering};

/// A level of instructions, which includes the levels before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Instructions of every processor.
    Portable,
    /// AVX2, and the bit counting and bit field instructions that came with it.
    Avx2,
    /// AVX-512 with what Ice Lake and Zen 4 have of it.
    Avx512,
}

/// The level not to go beyond, as a number.
static LIMIT: AtomicU8 = AtomicU8::new(Level::Avx512 as u8);

/// Limits the level, for all threads, so that tests and benches can compare one level with
/// another. No result depends on it.
pub fn limit_level(level: Level) {
    LIMIT.store(level as u8, Ordering::Relaxed);
}

/// Returns whether a level may be used if the processor has it. Unused if only the portable level exists.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn may_use(level: Level) -> bool {
    level as u8 <= LIMIT.load(Ordering::Relaxed)
}
