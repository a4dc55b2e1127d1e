//! The units of a file that have been verified: one bit each, set from any thread.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::arch::prefetch;

/// A set of unit numbers that only grows.
///
/// Relaxed order is enough: a bit guards no data, it only saves a second check of bytes that
/// never change.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    words: Box<[AtomicU64]>,
}

impl Checked {
    /// Returns the empty set of numbers below `units`.
    pub(crate) fn new(units: usize) -> Self {
        Self { words: (0..units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() }
    }

    #[inline]
    pub(crate) fn contains(&self, unit: usize) -> bool {
        self.words[unit / 64].load(Ordering::Relaxed) & 1 << (unit % 64) != 0
    }

    /// Prefetches the memory that [`Self::contains`] reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self, unit: usize) {
        prefetch(&self.words, unit / 64);
    }

    pub(crate) fn insert(&self, unit: usize) {
        self.words[unit / 64].fetch_or(1 << (unit % 64), Ordering::Relaxed);
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_remembers_each_unit_alone() {
        let checked = Checked::new(130);
        for unit in [0, 63, 64, 129] {
            assert!(!checked.contains(unit));
            checked.insert(unit);
            assert!(checked.contains(unit));
        }
        assert_eq!((0..130).filter(|&unit| checked.contains(unit)).count(), 4);
    }
}
