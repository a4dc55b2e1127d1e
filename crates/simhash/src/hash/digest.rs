//! Cryptographic digests, as numbers.

use blake2::Blake2b;
use blake2::digest::consts::{U8, U16};
use md5::{Digest, Md5};

pub(super) fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

pub(super) fn blake2b_64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(Blake2b::<U8>::digest(bytes).into())
}

pub(super) fn blake2b_128(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Blake2b::<U16>::digest(bytes).into())
}

/// The digest that pins a word list in a recipe: BLAKE2b of 16 bytes over its canonical lines.
pub(crate) fn content_digest<'a>(lines: impl Iterator<Item = &'a [u8]>) -> u128 {
    let mut state = Blake2b::<U16>::new();
    for line in lines {
        state.update((line.len() as u64).to_le_bytes());
        state.update(line);
    }
    u128::from_be_bytes(state.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_part_of_the_digest() {
        let digest = |lines: &[&'static str]| content_digest(lines.iter().map(|line| line.as_bytes()));
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]), digest(&["ab", "c"]));
    }
}
