//! The processor's model, for instructions whose speed its feature flags do not tell.

use std::arch::x86_64::__cpuid;
use std::sync::LazyLock;

/// Returns whether `pext` and `pdep`, if present, take a few cycles: everywhere but on [`is_microcoded`]
/// processors.
pub(super) fn gathers_bits_fast() -> bool {
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
