//! Digits: the leading bits of values in the order of a lead.

use hamdex_fingerprint::Fingerprint;

/// Returns the first `bits` bits.
#[inline]
pub(super) fn digit<F: Fingerprint>(value: F, bits: u32) -> usize {
    if bits == 0 { 0 } else { (value >> (F::BITS - bits)).to_u128() as usize }
}

/// Sorts by a digit below `digits`; equal digits keep their order. `starts` receives the start of the values of
/// each digit; one more for the end.
pub(super) fn sort<F: Fingerprint>(
    values: &[F],
    digits: usize,
    digit: impl Fn(F) -> usize,
    sorted: &mut Vec<F>,
    starts: &mut Vec<u32>,
) {
    // While values are placed, starts[d + 1] is the position of the next one of digit d: finally, the end of
    // digit d.
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
