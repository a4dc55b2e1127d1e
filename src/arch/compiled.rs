//! Kernels of other crates.

use crate::arch::{self, Instructions, Kernel, run};

/// Work that gains from wider instructions without naming any: it is compiled once for each instruction set, with
/// everything that is inlined into it.
pub trait Compiled {
    /// The result.
    type Output;

    /// Does the work. Implementations are `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

struct AsKernel<W>(W);

impl<W: Compiled> Kernel for AsKernel<W> {
    type Output = W::Output;

    #[inline(always)]
    fn run(self, _: impl Instructions) -> Self::Output {
        self.0.run()
    }
}

/// Does work with the best instructions of this processor.
#[inline]
pub fn run_compiled<W: Compiled>(work: W) -> W::Output {
    run(AsKernel(work))
}

/// Prefetches the cache line in which `values[number]` begins; does nothing if there is no such value.
#[inline]
pub fn prefetch_value<T>(values: &[T], number: usize) {
    arch::prefetch(values, number);
}
