//! The interface of this folder on processors that have nothing special to offer.

use crate::arch::{Kernel, Portable};

/// Never made here: no instruction gathers bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BitGather {}

impl BitGather {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn gather(self, _value: u64, _mask: u64) -> u64 {
        match self {}
    }

    pub(crate) fn scatter(self, _value: u64, _mask: u64) -> u64 {
        match self {}
    }
}

/// Does nothing: a prefetch is only ever a hint.
pub(crate) fn prefetch<T>(_values: &[T], _number: usize) {}

/// Runs a kernel.
#[inline]
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Portable)
}
