//! The hash of strings of Python 2, as a widely copied example computes it for any number of bits.

/// The hash modulo 2^128; its low bits are the hash modulo 2^64. Characters are code points; bytes that are not UTF-8
/// count as U+FFFD.
pub(super) fn python2(bytes: &[u8]) -> u128 {
    let text = String::from_utf8_lossy(bytes);
    let Some(first) = text.chars().next() else { return 0 };
    let code = |c: char| u128::from(u32::from(c));
    let mixed = text.chars().fold(code(first) << 7, |hash, c| hash.wrapping_mul(1_000_003) ^ code(c));
    mixed ^ text.chars().count() as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_mixed_and_counted() {
        assert_eq!(python2(b""), 0);
        let a = u128::from(b'a');
        assert_eq!(python2(b"a"), (((a << 7) * 1_000_003) ^ a) ^ 1);
        assert_eq!(python2("é".as_bytes()), (((0xe9 << 7) * 1_000_003) ^ 0xe9) ^ 1);
    }
}
