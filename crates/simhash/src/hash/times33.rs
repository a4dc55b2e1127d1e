//! Daniel J. Bernstein's hash: multiply by 33, then add the byte.

/// The start by which the hash is best known; other programs start from 0.
pub(super) const START: u64 = 5381;

/// The hash modulo 2^128; its low bits are the hash modulo 2^64.
pub(super) fn times33(bytes: &[u8], start: u64) -> u128 {
    bytes.iter().fold(start.into(), |hash: u128, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_decides() {
        assert_eq!(times33(b"", 0), 0);
        assert_eq!(times33(b"ab", 0), 97 * 33 + 98);
        assert_eq!(times33(b"ab", START), (5381 * 33 + 97) * 33 + 98);
        // In 32 bits, the published value for this word.
        assert_eq!(times33(b"hello", START) as u32, 0x0f92_3099);
    }
}
