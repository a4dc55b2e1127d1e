//! AVX2 and what came with it (x86-64-v3): bit fields, counting of bits, four words at a time.

use std::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _pdep_u64,
};

use crate::arch::portable::BYTES;
use crate::arch::x86_64::gathers_bits_fast;
use crate::arch::{Instructions, Kernel, portable};

/// Proof that this processor has these instructions; only [`Avx2::detect`] makes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2 {
    gathers_bits_fast: bool,
}

impl Avx2 {
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        (std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt"))
        .then(|| Self { gathers_bits_fast: gathers_bits_fast() })
    }

    /// [`Instructions::select`] by `pdep`, if that is fast.
    #[inline(always)]
    pub(super) fn select_by_scatter(self, word: u64, rank: u32) -> u32 {
        // SAFETY: `self` exists, so `detect` has seen BMI2.
        unsafe { _pdep_u64(1u64.unbounded_shl(rank), word) }.trailing_zeros()
    }

    /// Runs a kernel compiled for these instructions.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: `self` exists, so `detect` has seen all these features.
        unsafe { run(self, kernel) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run<K: Kernel>(instructions: Avx2, kernel: K) -> K::Output {
    kernel.run(instructions)
}

impl Instructions for Avx2 {
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        if self.gathers_bits_fast { self.select_by_scatter(word, rank) } else { portable::select(word, rank) }
    }

    #[inline(always)]
    fn equal_bytes(self, bytes: &[u8; BYTES], byte: u8) -> u64 {
        let mut equal = 0;
        for (number, half) in bytes.chunks_exact(32).enumerate() {
            // SAFETY: `self` exists, so `detect` has seen AVX2; the load reads the 32 bytes of `half`.
            let mask = unsafe {
                let half = _mm256_loadu_si256(half.as_ptr().cast());
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8)))
            };
            equal |= u64::from(mask as u32) << (number * 32);
        }
        equal
    }
}
