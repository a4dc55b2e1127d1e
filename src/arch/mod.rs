//! Everything that depends on the instruction set, behind one portable interface.
//!
//! Code that gains from wider instructions is a [`Kernel`]: written once, over the operations of
//! [`Instructions`], and compiled once for each instruction set. [`run`] takes the best that this
//! processor has.
//!
//! Architecture invariant: no other module names an instruction set, and nothing here changes a
//! result: a path taken on one machine gives what the portable path gives on any other.

mod portable;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions whose presence a token proves, which only detection makes")]
mod x86_64;

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

pub(crate) use portable::{BYTES, Fields, LANES};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::fallback::{BitGather, prefetch, run};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{BitGather, prefetch, run};

/// Operations that differ between instruction sets. All implementations return the same as [`Portable`].
pub(crate) trait Instructions: Copy {
    /// Returns the place, from the least significant bit, of the set bit of that rank; 64 if there are fewer.
    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        portable::select(word, rank)
    }

    /// Returns the place of the clear bit of that rank in 64 bytes, least significant bit first; how many clear
    /// bits there are, if fewer.
    #[inline(always)]
    fn select_zero(self, bytes: &[u8; 64], rank: u32) -> Result<u32, u32> {
        portable::select_zero(|word, rank| self.select(word, rank), bytes, rank)
    }

    /// Returns the places of the clear bits of two ranks: see [`Self::select_zero`].
    #[inline(always)]
    fn select_zeros(self, bytes: &[u8; 64], ranks: [u32; 2]) -> [Result<u32, u32>; 2] {
        [self.select_zero(bytes, ranks[0]), self.select_zero(bytes, ranks[1])]
    }

    /// Writes `base` plus the place of each set bit to the front of `places`, ascending. What lies
    /// behind them is left in no particular state.
    #[inline(always)]
    fn places_of_ones(self, word: u64, base: u16, places: &mut [u16; 64]) {
        portable::places_of_ones(word, base, places);
    }

    /// Eight values: of each the low bits are a field, of eight in a row (see [`Fields`]), and the others
    /// the number `first` plus its place, less the number of places before it in `places`; all modulo 2^64.
    ///
    /// # Panics
    /// When a field lies outside the bytes.
    #[inline(always)]
    fn join(self, first: u64, places: &[u16; LANES], fields: Fields<'_>) -> [u64; LANES] {
        portable::join(first, places, fields)
    }

    /// Returns a bit mask of the fields, of the first `count` of eight in a row, that differ from `value` in at
    /// most `distance` bits; the first field has the lowest bit.
    ///
    /// # Panics
    /// When a field, of the first `count`, lies outside the bytes.
    #[inline(always)]
    fn near_fields(self, fields: Fields<'_>, count: usize, value: u64, distance: u32) -> u32 {
        portable::near_fields(fields, count, value, distance)
    }

    /// Writes eight fingerprints, each given by the position `hs` of the first bit in which it differs from
    /// the one before (the first of them from `before`), and by the bits after it: its suffix. The
    /// suffixes are bit strings, most significant bit first, that lie one before the other, the first one
    /// up to bit `end` of `bytes`. Returns whether the bit `h` of each was clear in the one before.
    /// `hs` are below 64, and the suffixes lie inside `bytes`.
    #[inline(always)]
    fn follow(
        self,
        bytes: &[u8],
        end: usize,
        hs: &[u8; LANES],
        before: u64,
        values: &mut [u64; LANES],
    ) -> bool {
        portable::follow(bytes, end, hs, before, values)
    }

    /// Returns a bit mask of the bytes equal to `byte`; the first has the lowest bit.
    #[inline(always)]
    fn equal_bytes(self, bytes: &[u8; BYTES], byte: u8) -> u64 {
        portable::equal_bytes(bytes, byte)
    }

    /// Returns the sum of some bytes.
    #[inline(always)]
    fn sum_of_bytes(self, bytes: &[u8]) -> usize {
        portable::sum_of_bytes(bytes)
    }

    /// Returns a bit mask of the words, of eight, that have all bits of their mask; the first has the lowest bit. A
    /// word is the eight bytes from an offset on, least significant first.
    ///
    /// # Panics
    /// When a word lies outside the bytes.
    #[inline(always)]
    fn have_bits(self, bytes: &[u8], offsets: &[u64; LANES], masks: &[u64; LANES]) -> u32 {
        portable::have_bits(bytes, offsets, masks)
    }

    /// Returns a bit mask of the values, of eight, that differ from `value` in at most `distance` bits; the
    /// first has the lowest bit.
    #[inline(always)]
    fn near_values(self, values: &[u64; LANES], value: u64, distance: u32) -> u32 {
        portable::near_values(values, value, distance)
    }
}

/// Something to be done with the best instructions there are.
///
/// `run`, and what it calls in its loops, should be `#[inline(always)]`: only what becomes part of the
/// function for an instruction set is compiled for it.
pub(crate) trait Kernel {
    type Output;

    fn run(self, instructions: impl Instructions) -> Self::Output;
}

/// The operations in plain code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Portable;

impl Instructions for Portable {}

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
    prefetch(values, number);
}

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
fn may_use(level: Level) -> bool {
    level as u8 <= LIMIT.load(Ordering::Relaxed)
}

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

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
