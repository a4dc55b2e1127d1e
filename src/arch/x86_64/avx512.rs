//! AVX-512 as of Ice Lake and Zen 4: eight words at a time, with counting of bits, gathering, and
//! compression of bytes.

use std::arch::x86_64::*;

use crate::arch::x86_64::Avx2;
use crate::arch::{Fields, Instructions, Kernel, LANES, portable};

/// Proof that this processor has these instructions; only [`Avx512::detect`] makes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        if std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl")
            && std::arch::is_x86_feature_detected!("avx512vbmi2")
            && std::arch::is_x86_feature_detected!("avx512vpopcntdq")
        {
            Avx2::detect().map(Self)
        } else {
            None
        }
    }

    /// Runs a kernel compiled for these instructions.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: `self` exists, so `detect` has seen all these features.
        unsafe { run(self, kernel) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512vpopcntdq")]
fn run<K: Kernel>(instructions: Avx512, kernel: K) -> K::Output {
    kernel.run(instructions)
}

/// The numbers of the bytes of a vector.
const PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        places[place] = place as u8;
        place += 1;
    }
    places
};

impl Instructions for Avx512 {
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        self.0.select(word, rank)
    }

    #[inline(always)]
    fn places_of_ones(self, word: u64, base: u16, places: &mut [u16; 64]) {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the loads read 64 bytes of
        // `PLACES`, the stores write 64 bytes each to the two halves of `places`.
        unsafe {
            let all = _mm512_loadu_si512(PLACES.as_ptr().cast());
            let ones = _mm512_maskz_compress_epi8(word, all);
            let base = _mm512_set1_epi16(base as i16);
            let low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(ones));
            let high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(ones));
            let out = places.as_mut_ptr();
            _mm512_storeu_si512(out.cast(), _mm512_add_epi16(low, base));
            _mm512_storeu_si512(out.add(32).cast(), _mm512_add_epi16(high, base));
        }
    }

    #[inline(always)]
    fn fields(self, fields: Fields<'_>) -> [u64; LANES] {
        // SAFETY: `self` exists, so `detect` has seen all the features used.
        unsafe {
            let tops = tops_of_fields(fields, LANES);
            let values = _mm512_srl_epi64(tops, _mm_cvtsi32_si128(64 - fields.bits as i32));
            std::mem::transmute(values)
        }
    }

    #[inline(always)]
    fn near_fields(self, fields: Fields<'_>, count: usize, value: u64, distance: u32) -> u32 {
        // SAFETY: `self` exists, so `detect` has seen all the features used.
        unsafe {
            let tops = tops_of_fields(fields, count);
            let value = _mm512_set1_epi64((value << (64 - fields.bits)) as i64);
            let mask = _mm512_set1_epi64((u64::MAX << (64 - fields.bits)) as i64);
            let difference = _mm512_and_si512(_mm512_xor_si512(tops, value), mask);
            let errors = _mm512_popcnt_epi64(difference);
            let near = _mm512_cmple_epu64_mask(errors, _mm512_set1_epi64(i64::from(distance)));
            u32::from(near & lanes(count))
        }
    }

    #[inline(always)]
    fn follow(
        self,
        bytes: &[u8],
        end: usize,
        hs: &[u8; LANES],
        before: u64,
        values: &mut [u64; LANES],
    ) -> bool {
        // SAFETY: `self` exists, so `detect` has seen all the features used. The gather reads the eight
        // bytes from the one in which each suffix starts, none of which lies outside `bytes`: as checked,
        // the last of them do not, nor, as all start behind bit 0, the first. All other loads and stores
        // are those of arrays of eight words.
        unsafe {
            let wide = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(i64::from_le_bytes(*hs)));
            let lengths = _mm512_sub_epi64(_mm512_set1_epi64(63), wide);
            let none = _mm512_setzero_si512();
            let two = _mm512_add_epi64(lengths, _mm512_alignr_epi64::<7>(lengths, none));
            let four = _mm512_add_epi64(two, _mm512_alignr_epi64::<6>(two, none));
            let sums = _mm512_add_epi64(four, _mm512_alignr_epi64::<4>(four, none));
            let starts = _mm512_sub_epi64(_mm512_set1_epi64(end as i64), sums);
            let at = _mm512_srli_epi64::<3>(starts);
            // Seven bits of a word may lie before a suffix; so a longer one takes more than a word. Below
            // bit 0, or beyond the bytes, it is for the plain code to complain.
            let fits = _mm512_cmple_epu64_mask(lengths, _mm512_set1_epi64(57))
                & _mm512_cmple_epu64_mask(at, _mm512_set1_epi64(bytes.len() as i64 - 8));
            if fits != 0xff || bytes.len() < 8 {
                return portable::follow(bytes, end, hs, before, values);
            }
            let words = _mm512_i64gather_epi64::<1>(at, bytes.as_ptr().cast());
            let reverse = _mm512_set4_epi32(0x0809_0a0b, 0x0c0d_0e0f, 0x0001_0203, 0x0405_0607);
            let words = _mm512_shuffle_epi8(words, reverse);
            let tops = _mm512_sllv_epi64(words, _mm512_and_si512(starts, _mm512_set1_epi64(7)));
            let suffixes = _mm512_srlv_epi64(tops, _mm512_add_epi64(wide, _mm512_set1_epi64(1)));
            let first_bits = _mm512_srlv_epi64(_mm512_set1_epi64(i64::MIN), wide);
            let kept = _mm512_srlv_epi64(_mm512_set1_epi64(-1), wide);
            let parts: [u64; LANES] = std::mem::transmute(_mm512_or_si512(suffixes, first_bits));
            let kept: [u64; LANES] = std::mem::transmute(kept);
            let mut value = before;
            for lane in 0..LANES {
                value = (value & !kept[lane]) | parts[lane];
                values[lane] = value;
            }
            let all = _mm512_loadu_si512(values.as_ptr().cast());
            let before = _mm512_alignr_epi64::<7>(all, _mm512_set1_epi64(before as i64));
            _mm512_test_epi64_mask(before, first_bits) == 0
        }
    }

    #[inline(always)]
    fn equal_bytes(self, bytes: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the load reads the 64 bytes.
        unsafe {
            let bytes = _mm512_loadu_si512(bytes.as_ptr().cast());
            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8))
        }
    }

    #[inline(always)]
    fn near_values(self, values: &[u64; LANES], value: u64, distance: u32) -> u32 {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the load reads the eight
        // values.
        unsafe {
            let values = _mm512_loadu_si512(values.as_ptr().cast());
            let errors = _mm512_popcnt_epi64(_mm512_xor_si512(values, _mm512_set1_epi64(value as i64)));
            u32::from(_mm512_cmple_epu64_mask(errors, _mm512_set1_epi64(i64::from(distance))))
        }
    }
}

/// The first `count` lanes, at most eight.
#[inline(always)]
fn lanes(count: usize) -> __mmask8 {
    (0xff_u32 >> (LANES - count.min(LANES))) as __mmask8
}

/// The first `count` fields, each at the top of its lane, with whatever comes before it below.
///
/// # Safety
/// The processor must have the features of [`Avx512`].
#[inline(always)]
unsafe fn tops_of_fields(fields: Fields<'_>, count: usize) -> __m512i {
    let count = count.min(LANES);
    let bits = fields.bits as usize;
    let last_end = fields.first_end + count.saturating_sub(1) * bits;
    // Each lane reads the eight bytes that end with its field's last one: none before the start, none
    // behind the end. (With no lanes nothing is read.)
    assert!(count == 0 || fields.first_end >= 64 && last_end.div_ceil(8) <= fields.bytes.len());
    // SAFETY: the features are the caller's part; the lanes of the mask read inside `fields.bytes`, as
    // asserted, and no other lane reads at all.
    unsafe {
        let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
        let steps = _mm512_mullo_epi32(numbers, _mm512_set1_epi64(bits as i64));
        let ends = _mm512_add_epi64(steps, _mm512_set1_epi64(fields.first_end as i64));
        let last_bytes = _mm512_srli_epi64::<3>(_mm512_add_epi64(ends, _mm512_set1_epi64(7)));
        let shifts = _mm512_sub_epi64(_mm512_slli_epi64::<3>(last_bytes), ends);
        let offsets = _mm512_sub_epi64(last_bytes, _mm512_set1_epi64(8));
        let base = fields.bytes.as_ptr().cast();
        let words = _mm512_mask_i64gather_epi64::<1>(_mm512_setzero_si512(), lanes(count), offsets, base);
        _mm512_sllv_epi64(words, shifts)
    }
}
