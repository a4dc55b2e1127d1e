//! The single changed byte that a checksum reveals.

/// Returns the place of the one byte of a unit, and what was added to it (exclusive or), that explain why its checksum
/// differs from the stored one by `difference`; `None` if no single byte does.
///
/// CRC-32 is linear: the checksums of two units of one length differ by a number that depends only on the
/// position and the bits of their difference. At most one change of a single byte explains a difference in
/// nearly all cases; the caller checks the result against all other facts.
pub(super) fn changed_byte(length: usize, difference: u32) -> Option<(usize, u8)> {
    let table: Vec<u32> = (0..=u8::MAX).map(effect_of_last_byte).collect();
    // The effect of each bit of the byte at `place`; one zero byte after it moves the effect on by one step.
    let mut bits: [u32; 8] = std::array::from_fn(|bit| table[1 << bit]);
    for place in (0..length).rev() {
        let mut effects = [0u32; 256];
        for change in 1..256usize {
            effects[change] = effects[change & (change - 1)] ^ bits[change.trailing_zeros() as usize];
            if effects[change] == difference {
                return Some((place, change as u8));
            }
        }
        for effect in &mut bits {
            *effect = table[(*effect & 0xff) as usize] ^ (*effect >> 8);
        }
    }
    None
}

/// By how much the checksum of a unit changes with its last byte.
fn effect_of_last_byte(change: u8) -> u32 {
    crc32fast::hash(&[change]) ^ crc32fast::hash(&[0])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_changed_byte_is_found(
            unit in prop::collection::vec(any::<u8>(), 1..4096), at: prop::sample::Index, change in 1u8..,
        ) {
            let mut changed = unit.clone();
            let at = at.index(unit.len());
            changed[at] ^= change;
            let difference = crc32fast::hash(&unit) ^ crc32fast::hash(&changed);
            prop_assert_eq!(changed_byte(unit.len(), difference), Some((at, change)));
        }
    }

    #[test]
    fn no_change_has_no_place() {
        assert_eq!(changed_byte(4096, 0), None);
        assert_eq!(changed_byte(0, 5), None);
    }
}
