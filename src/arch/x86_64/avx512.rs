//! AVX-512 as of Ice Lake and Zen 4: eight words at a time, with counting of bits, gathering, and
//! compression of bytes.

use std::arch::x86_64::*;

use crate::arch::portable::{self, BYTES, Fields, LANES};
use crate::arch::x86_64::avx2::Avx2;
use crate::arch::{Instructions, Kernel};

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
            && std::arch::is_x86_feature_detected!("avx512vbmi")
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
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq")]
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
        // No processor with AVX-512 has it in microcode.
        self.0.select_by_scatter(word, rank)
    }

    #[inline(always)]
    fn select_zero(self, bytes: &[u8; 64], rank: u32) -> Result<u32, u32> {
        Zeros::of(self, bytes).select(self, rank)
    }

    #[inline(always)]
    fn select_zeros(self, bytes: &[u8; 64], ranks: [u32; 2]) -> [Result<u32, u32>; 2] {
        let zeros = Zeros::of(self, bytes);
        // No closure: its code would not be compiled for these instructions.
        [zeros.select(self, ranks[0]), zeros.select(self, ranks[1])]
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
    fn join(self, first: u64, places: &[u16; LANES], fields: Fields<'_>) -> [u64; LANES] {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the load reads the eight
        // places.
        unsafe {
            let lows = _mm512_and_si512(gather_fields(fields, LANES), mask_of(fields));
            let places = _mm512_cvtepu16_epi64(_mm_loadu_si128(places.as_ptr().cast()));
            let before =
                _mm512_sub_epi64(_mm512_set1_epi64(first as i64), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
            let uppers = _mm512_add_epi64(before, places);
            let uppers = _mm512_sll_epi64(uppers, _mm_cvtsi32_si128(fields.bits as i32));
            std::mem::transmute(_mm512_or_si512(uppers, lows))
        }
    }

    #[inline(always)]
    fn near_fields(self, fields: Fields<'_>, count: usize, value: u64, distance: u32) -> u32 {
        // SAFETY: `self` exists, so `detect` has seen all the features used.
        unsafe {
            let value = _mm512_set1_epi64(value as i64);
            let difference = _mm512_xor_si512(gather_fields(fields, count), value);
            let difference = _mm512_and_si512(difference, mask_of(fields));
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
        // All eight take 57 bytes at most, if none is longer than a load at a whole byte has all of.
        let end_byte = end.div_ceil(8);
        if bytes.len() < 64 || end_byte > bytes.len() {
            return portable::follow(bytes, end, hs, before, values);
        }
        let base = end_byte.saturating_sub(64);
        // SAFETY: `self` exists, so `detect` has seen all the features used. The first load reads the eight
        // of `hs`, the second one the 64 bytes from `base` on, the last of which is inside `bytes`, as
        // checked; the store writes the eight of `values`.
        unsafe {
            let hs_wide = _mm512_cvtepu8_epi64(_mm_loadl_epi64(hs.as_ptr().cast()));
            let lengths = _mm512_sub_epi64(_mm512_set1_epi64(63), hs_wide);
            let starts = _mm512_sub_epi64(_mm512_set1_epi64(end as i64), sums(lengths));
            let fits = _mm512_cmple_epu64_mask(lengths, _mm512_set1_epi64(i64::from(Fields::MAX_BITS)))
                & _mm512_cmpge_epi64_mask(starts, _mm512_setzero_si512());
            if fits != 0xff {
                return portable::follow(bytes, end, hs, before, values);
            }
            let near = _mm512_loadu_si512(bytes.as_ptr().add(base).cast());
            // The first byte becomes the most significant one.
            let backwards = _mm512_set1_epi64(0x0001_0203_0405_0607);
            let offsets = _mm512_sub_epi64(_mm512_srli_epi64::<3>(starts), _mm512_set1_epi64(base as i64));
            let words = _mm512_permutexvar_epi8(_mm512_add_epi8(spread(offsets), backwards), near);
            let tops = _mm512_sllv_epi64(words, _mm512_and_si512(starts, _mm512_set1_epi64(7)));
            let suffixes = _mm512_srlv_epi64(tops, _mm512_add_epi64(hs_wide, _mm512_set1_epi64(1)));
            let first_bits = _mm512_srlv_epi64(_mm512_set1_epi64(i64::MIN), hs_wide);

            // Each value is (the one before & kept) | own. Two such steps in a row are one of the same
            // form: so after three doublings, each lane's leads from `before` to its value.
            let all = _mm512_set1_epi64(-1);
            let none = _mm512_setzero_si512();
            let mut kept = _mm512_andnot_si512(_mm512_srlv_epi64(all, hs_wide), all);
            let mut own = _mm512_or_si512(suffixes, first_bits);
            macro_rules! double {
                ($lanes:literal) => {
                    let own_before = _mm512_alignr_epi64::<{ 8 - $lanes }>(own, none);
                    let kept_before = _mm512_alignr_epi64::<{ 8 - $lanes }>(kept, all);
                    own = _mm512_or_si512(own, _mm512_and_si512(own_before, kept));
                    kept = _mm512_and_si512(kept, kept_before);
                };
            }
            double!(1);
            double!(2);
            double!(4);
            let before = _mm512_set1_epi64(before as i64);
            let all_values = _mm512_or_si512(own, _mm512_and_si512(before, kept));
            _mm512_storeu_si512(values.as_mut_ptr().cast(), all_values);
            _mm512_test_epi64_mask(_mm512_alignr_epi64::<7>(all_values, before), first_bits) == 0
        }
    }

    #[inline(always)]
    fn equal_bytes(self, bytes: &[u8; BYTES], byte: u8) -> u64 {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the load reads `bytes`.
        unsafe {
            _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes.as_ptr().cast()), _mm512_set1_epi8(byte as i8))
        }
    }

    #[inline(always)]
    fn sum_of_bytes(self, bytes: &[u8]) -> usize {
        // SAFETY: `self` exists, so `detect` has seen all the features used; each load reads a chunk of `bytes`.
        unsafe {
            let sums = bytes.chunks(BYTES).fold(_mm512_setzero_si512(), |sums, chunk| {
                let inside = u64::MAX >> (BYTES - chunk.len());
                let chunk = _mm512_maskz_loadu_epi8(inside, chunk.as_ptr().cast());
                _mm512_add_epi64(sums, _mm512_sad_epu8(chunk, _mm512_setzero_si512()))
            });
            _mm512_reduce_add_epi64(sums) as usize
        }
    }

    #[inline(always)]
    fn have_bits(self, bytes: &[u8], offsets: &[u64; LANES], masks: &[u64; LANES]) -> u32 {
        // SAFETY: `self` exists, so `detect` has seen all the features used; the loads read the eight offsets and
        // the eight masks, and the gather reads only words that lie inside `bytes`, as checked.
        unsafe {
            let offsets = _mm512_loadu_si512(offsets.as_ptr().cast());
            let end = bytes.len().saturating_sub(8) as i64;
            let is_inside = _mm512_cmple_epu64_mask(offsets, _mm512_set1_epi64(end));
            assert!(bytes.len() >= 8 && is_inside == 0xff, "a word lies outside the bytes");
            let masks = _mm512_loadu_si512(masks.as_ptr().cast());
            let words = _mm512_i64gather_epi64::<1>(offsets, bytes.as_ptr().cast());
            u32::from(_mm512_cmpeq_epi64_mask(_mm512_and_si512(words, masks), masks))
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

/// Returns the first `count` lanes, at most eight.
#[inline(always)]
fn lanes(count: usize) -> __mmask8 {
    (0xff_u32 >> (LANES - count.min(LANES))) as __mmask8
}

/// In each byte of a lane the lane's lowest byte.
///
/// # Safety
/// The processor must have the features of [`Avx512`].
#[inline(always)]
unsafe fn spread(lanes: __m512i) -> __m512i {
    const SECOND: i64 = 0x0808_0808_0808_0808;
    // SAFETY: the features are the caller's part.
    unsafe { _mm512_shuffle_epi8(lanes, _mm512_set_epi64(SECOND, 0, SECOND, 0, SECOND, 0, SECOND, 0)) }
}

/// The lowest bits of each lane, as many as a field has.
///
/// # Safety
/// The processor must have the features of [`Avx512`].
#[inline(always)]
unsafe fn mask_of(fields: Fields<'_>) -> __m512i {
    // SAFETY: the features are the caller's part.
    unsafe { _mm512_set1_epi64((u64::MAX >> (64 - fields.bits)) as i64) }
}

/// The first `count` fields, one in each lane, with the bits after it above.
///
/// # Safety
/// The processor must have the features of [`Avx512`].
#[inline(always)]
unsafe fn gather_fields(fields: Fields<'_>, count: usize) -> __m512i {
    let Fields { bytes, phase, bits } = fields;
    assert!(phase as usize + count.min(LANES) * bits as usize <= bytes.len() * 8);
    // SAFETY: the features are the caller's part; the load reads no byte but those of `bytes`.
    unsafe {
        // All eight take at most 57 bytes.
        let inside = !u64::MAX.unbounded_shl(bytes.len().min(64) as u32);
        let bytes = _mm512_maskz_loadu_epi8(inside, bytes.as_ptr().cast());
        let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
        let steps = _mm512_mul_epu32(numbers, _mm512_set1_epi64(i64::from(bits)));
        let starts = _mm512_add_epi64(steps, _mm512_set1_epi64(i64::from(phase)));
        // In each lane the numbers of eight bytes, from the one on in which its field starts.
        let following = _mm512_set1_epi64(0x0706_0504_0302_0100);
        let numbers = _mm512_add_epi8(spread(_mm512_srli_epi64::<3>(starts)), following);
        let words = _mm512_permutexvar_epi8(numbers, bytes);
        _mm512_srlv_epi64(words, _mm512_and_si512(starts, _mm512_set1_epi64(7)))
    }
}

/// The clear bits of 64 bytes, counted.
#[derive(Clone, Copy)]
struct Zeros<'a> {
    bytes: &'a [u8; 64],
    /// Zeros of each word, and zeros up to its end.
    of_each: __m512i,
    sums: __m512i,
}

impl<'a> Zeros<'a> {
    #[inline(always)]
    fn of(_: Avx512, bytes: &'a [u8; 64]) -> Self {
        // SAFETY: an `Avx512` exists, so `detect` has seen all the features used; the load reads the 64 bytes.
        unsafe {
            let words = _mm512_loadu_si512(bytes.as_ptr().cast());
            let of_each = _mm512_popcnt_epi64(_mm512_xor_si512(words, _mm512_set1_epi64(-1)));
            Self { bytes, of_each, sums: sums(of_each) }
        }
    }

    /// Returns the place of the clear bit of that rank; how many there are, if fewer.
    #[inline(always)]
    fn select(self, instructions: Avx512, rank: u32) -> Result<u32, u32> {
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
unsafe fn sums(lanes: __m512i) -> __m512i {
    // SAFETY: the features are the caller's part.
    unsafe {
        let none = _mm512_setzero_si512();
        let two = _mm512_add_epi64(lanes, _mm512_alignr_epi64::<7>(lanes, none));
        let four = _mm512_add_epi64(two, _mm512_alignr_epi64::<6>(two, none));
        _mm512_add_epi64(four, _mm512_alignr_epi64::<4>(four, none))
    }
}
