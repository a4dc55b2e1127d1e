//! Clear bits of many words, counted at once.

use std::arch::x86_64::*;

use crate::arch::fields::LANES;
use crate::arch::instructions::Instructions;
use crate::arch::x86_64::avx512::Avx512;

/// The clear bits of 64 bytes, counted.
#[derive(Clone, Copy)]
pub(super) struct Zeros<'a> {
    bytes: &'a [u8; 64],
    /// Zeros of each word, and zeros up to its end.
    of_each: __m512i,
    sums: __m512i,
}

impl<'a> Zeros<'a> {
    #[inline(always)]
    pub(super) fn of(_: Avx512, bytes: &'a [u8; 64]) -> Self {
        // SAFETY: an `Avx512` exists, so `detect` has seen all the features used; the load reads the 64 bytes.
        unsafe {
            let words = _mm512_loadu_si512(bytes.as_ptr().cast());
            let of_each = _mm512_popcnt_epi64(_mm512_xor_si512(words, _mm512_set1_epi64(-1)));
            Self { bytes, of_each, sums: sums(of_each) }
        }
    }

    /// Returns the place of the clear bit of that rank; how many there are, if fewer.
    #[inline(always)]
    pub(super) fn select(self, instructions: Avx512, rank: u32) -> Result<u32, u32> {
        let Self { bytes, of_each, sums } = self;
        // SAFETY: `instructions` exist, so `detect` has seen all the features used.
        let (all, enough, before) = unsafe {
            let enough = _mm512_cmpgt_epu64_mask(sums, _mm512_set1_epi64(i64::from(rank)));
            let before = _mm512_maskz_compress_epi64(enough, _mm512_sub_epi64(sums, of_each));
            let all = _mm512_alignr_epi64::<7>(sums, sums);
            (
                _mm_cvtsi128_si32(_mm512_castsi512_si128(all)),
                enough,
                _mm_cvtsi128_si32(_mm512_castsi512_si128(before)),
            )
        };
        if enough == 0 {
            return Err(all as u32);
        }
        let number = enough.trailing_zeros();
        let word = bytes.as_chunks().0[number as usize % LANES];
        Ok(number * u64::BITS + instructions.select(!u64::from_le_bytes(word), rank - before as u32))
    }
}

/// In each lane the sum of the lanes up to it.
///
/// # Safety
/// The processor must have the features of [`Avx512`].
#[inline(always)]
pub(super) unsafe fn sums(lanes: __m512i) -> __m512i {
    // SAFETY: the features are the caller's part.
    unsafe {
        let none = _mm512_setzero_si512();
        let two = _mm512_add_epi64(lanes, _mm512_alignr_epi64::<7>(lanes, none));
        let four = _mm512_add_epi64(two, _mm512_alignr_epi64::<6>(two, none));
        _mm512_add_epi64(four, _mm512_alignr_epi64::<4>(four, none))
    }
}
