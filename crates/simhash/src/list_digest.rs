//! Digests of word lists.

use std::fmt;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};

/// The digest of a word list: BLAKE2b of 16 bytes over its entries in byte order, so neither the order of
/// the file's lines nor its line ends matter. As text: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListDigest(pub(crate) u128);

impl fmt::Display for ListDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl ListDigest {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // One spelling only, so that equal recipes have equal texts.
        let plain = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if plain { u128::from_str_radix(text, 16).ok().map(Self) } else { None }
    }
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
    fn text_is_read_back_in_one_spelling() {
        let digest = ListDigest(0xab);
        assert_eq!(ListDigest::parse(&digest.to_string()), Some(digest));
        for wrong in ["", "ab", "000000000000000000000000000000AB", "+00000000000000000000000000000ab"] {
            assert_eq!(ListDigest::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn lengths_are_part_of_the_digest() {
        let digest = |lines: &[&'static str]| content_digest(lines.iter().map(|line| line.as_bytes()));
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]), digest(&["ab", "c"]));
    }
}
