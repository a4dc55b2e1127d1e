//! x86-64: kernels by AVX2 and AVX-512, bit gathering by BMI2, prefetching by SSE.

mod avx2;
mod avx512;
mod processor;

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _pdep_u64, _pext_u64};

use crate::arch::instructions::{Kernel, Portable};
use crate::arch::level::{Level, may_use};
pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;
use processor::gathers_bits_fast;

/// Runs a kernel with the best instructions of this processor, within the limit.
#[inline]
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    if let Some(instructions) = Avx512::detect().filter(|_| may_use(Level::Avx512)) {
        instructions.run(kernel)
    } else if let Some(instructions) = Avx2::detect().filter(|_| may_use(Level::Avx2)) {
        instructions.run(kernel)
    } else {
        kernel.run(Portable)
    }
}

/// Proof that this processor has BMI2, and runs it fast; only [`BitGather::detect`] makes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitGather(());

impl BitGather {
    /// Returns the proof if the processor has `pext` and `pdep` in hardware, not as loops in microcode.
    pub(crate) fn detect() -> Option<Self> {
        (std::arch::is_x86_feature_detected!("bmi2") && gathers_bits_fast()).then_some(Self(()))
    }

    /// Returns the bits of `value` under `mask`, gathered at the low end, order kept.
    #[inline]
    pub(crate) fn gather(self, value: u64, mask: u64) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen BMI2.
        unsafe { pext(value, mask) }
    }

    /// Returns the low bits of `value`, scattered to the places of `mask`, order kept.
    #[inline]
    pub(crate) fn scatter(self, value: u64, mask: u64) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen BMI2.
        unsafe { pdep(value, mask) }
    }
}

#[target_feature(enable = "bmi2")]
fn pext(value: u64, mask: u64) -> u64 {
    _pext_u64(value, mask)
}

#[target_feature(enable = "bmi2")]
fn pdep(value: u64, mask: u64) -> u64 {
    _pdep_u64(value, mask)
}

/// Prefetches the cache line in which `values[number]` begins; does nothing if there is no such value.
#[inline]
pub(crate) fn prefetch<T>(values: &[T], number: usize) {
    if let Some(value) = values.get(number) {
        // SAFETY: SSE is part of x86-64, and the address lies inside `values`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast::<i8>()) };
    }
}
