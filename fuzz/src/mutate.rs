//! Changes of inputs, the same in every run: what a machine without a coverage-guided fuzzer has.

use crate::common::Numbers;

/// Bytes and numbers at which readers go wrong.
const BYTES: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0xff, b'\n', b'"'];

/// Changes an input in one to eight places; `other` gives parts to splice in.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(8) {
        if input.is_empty() {
            input.push(numbers.word() as u8);
            continue;
        }
        let at = numbers.below(input.len() as u64) as usize;
        match numbers.below(9) {
            0 => input[at] ^= 1 << numbers.below(8),
            1 => input[at] = numbers.word() as u8,
            2 => input[at] = BYTES[numbers.below(BYTES.len() as u64) as usize],
            3 => input[at] = input[at].wrapping_add(1),
            4 => input[at] = input[at].wrapping_sub(1),
            5 => drop(input.drain(at..range(at, input.len(), numbers))),
            6 => input.insert(at, numbers.word() as u8),
            7 => {
                let part = input[at..range(at, input.len(), numbers)].to_vec();
                let to = numbers.below(input.len() as u64) as usize;
                input.splice(to..to, part);
            }
            _ if !other.is_empty() => {
                let from = numbers.below(other.len() as u64) as usize;
                let part = &other[from..range(from, other.len(), numbers)];
                let end = (at + part.len()).min(input.len());
                input.splice(at..end, part.iter().copied());
            }
            _ => {}
        }
    }
}

/// The end of a part that begins at a place: mostly a short one.
fn range(start: usize, length: usize, numbers: &mut Numbers) -> usize {
    let longest = (length - start) as u64;
    let most = if numbers.below(4) == 0 { longest } else { longest.min(16) };
    start + 1 + numbers.below(most) as usize
}
