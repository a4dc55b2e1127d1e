//! Digits: the leading bits of values in the order of a lead.

use hamdex_fingerprint::Fingerprint;

/// The first `bits` bits.
#[inline]
pub(super) fn digit<F: Fingerprint>(value: F, bits: u32) -> usize {
    if bits == 0 { 0 } else { (value >> (F::BITS - bits)).to_u128() as usize }
}

/// Sorts by a digit below `digits`; equal digits keep their order. `starts` gets where the values of each digit start;
/// one more for the end.
pub(super) fn sort<F: Fingerprint>(
    values: &[F],
    digits: usize,
    digit: impl Fn(F) -> usize,
    sorted: &mut Vec<F>,
    starts: &mut Vec<u32>,
) {
    // While values are put in place, starts[d + 1] is where the next one of digit d goes: in the end,
    // where those of digit d end.
    starts.clear();
    starts.resize(digits + 2, 0);
    for &value in values {
        starts[digit(value) + 2] += 1;
    }
    for at in 2..starts.len() {
        starts[at] += starts[at - 1];
    }
    // Each is written to.
    sorted.resize(values.len(), F::ZERO);
    for &value in values {
        let next = &mut starts[digit(value) + 1];
        sorted[*next as usize] = value;
        *next += 1;
    }
    starts.pop();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_keeps_what_is_equal_in_order() {
        let (mut sorted, mut starts) = (Vec::new(), Vec::new());
        sort(&[0x31u64, 0x10, 0x32, 0x00, 0x11], 5, |value| (value >> 4) as usize, &mut sorted, &mut starts);
        assert_eq!(sorted, [0x00, 0x10, 0x11, 0x31, 0x32]);
        assert_eq!(starts, [0, 1, 3, 3, 5, 5]);
    }
}
