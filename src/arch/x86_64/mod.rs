//! x86-64: kernels by AVX2 and AVX-512, bit gathering by BMI2, prefetching by SSE.

mod avx2;
mod avx512;

use std::arch::x86_64::{__cpuid, _MM_HINT_T0, _mm_prefetch, _pdep_u64, _pext_u64};
use std::sync::LazyLock;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;

use crate::arch::{Kernel, Level, Portable, may_use};

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

/// Returns whether `pext` and `pdep`, if present, take a few cycles: everywhere but on [`is_microcoded`]
/// processors.
fn gathers_bits_fast() -> bool {
    // The instruction that identifies a processor takes microseconds on virtual machines.
    static FAST: LazyLock<bool> = LazyLock::new(|| {
        #[allow(unused_unsafe, reason = "safe in later versions of the language")]
        // SAFETY: every x86-64 processor has this instruction, and these two leaves.
        let (identity, version) = unsafe { (__cpuid(0), __cpuid(1)) };
        let vendor = [identity.ebx, identity.edx, identity.ecx].map(u32::to_le_bytes);
        !is_microcoded(vendor.as_flattened(), family(version.eax))
    });
    *FAST
}

/// Returns the family of a processor, from what the instruction returns in `eax` for leaf 1.
fn family(version: u32) -> u32 {
    let (base, extended) = (version >> 8 & 0xf, version >> 20 & 0xff);
    if base == 0xf { base + extended } else { base }
}

/// Returns whether a processor runs `pext` and `pdep` as a microcode loop of up to hundreds of cycles: AMD
/// before Zen 3 (family 19h), and Hygon, which is Zen 1.
fn is_microcoded(vendor: &[u8], family: u32) -> bool {
    match vendor {
        b"AuthenticAMD" => family < 0x19,
        b"HygonGenuine" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_read_as_the_manuals_say() {
        // Zen 1, Zen 2, Zen 3, Zen 5; Excavator; Sapphire Rapids.
        let versions = [0x0080_0f11, 0x0087_0f10, 0x00a2_0f12, 0x00b4_0f40, 0x0066_0f01, 0x000c_06f8];
        assert_eq!(versions.map(family), [0x17, 0x17, 0x19, 0x1a, 0x15, 0x6]);
    }

    #[test]
    fn gathering_bits_is_slow_on_amd_before_zen_3_and_on_hygon_alone() {
        for (vendor, family, expected) in [
            (b"AuthenticAMD", 0x15, true),
            (b"AuthenticAMD", 0x17, true),
            (b"HygonGenuine", 0x18, true),
            (b"AuthenticAMD", 0x19, false),
            (b"AuthenticAMD", 0x1a, false),
            (b"GenuineIntel", 0x6, false),
            (b"CentaurHauls", 0x7, false),
        ] {
            assert_eq!(is_microcoded(vendor, family), expected, "{family:x}");
        }
    }
}
