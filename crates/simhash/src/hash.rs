//! Hashes of features. Their output never changes, since every stored fingerprint depends on it.

use std::fmt;
use std::str::FromStr;

use blake2::Blake2b;
use blake2::digest::consts::{U8, U16};
use md5::{Digest, Md5};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::RecipeError;
use hamdex_fingerprint::Fingerprint;

/// The hash of a feature, with as many bits as the fingerprint.
///
/// As text: `xxh3:SEED`, `murmur3:SEED` (seeds in decimal; `xxh3` alone means seed 0), `md5-head`,
/// `md5-tail`, `blake2b`, `fnv1`, `lookup3`, `times33:TIMES33_START` (`times33` alone starts from 5381), `python2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hash {
    /// XXH3: its 64-bit form for 64 bits, its 128-bit form for 128.
    Xxh3 {
        /// The seed.
        seed: u64,
    },
    /// `MurmurHash3_x64_128`; 64 bits are the first of its two halves.
    Murmur3 {
        /// The seed.
        seed: u32,
    },
    /// The first bytes of the MD5 digest, big-endian: seomoz.
    Md5Head,
    /// The last bytes of the MD5 digest, big-endian: PyPI simhash.
    Md5Tail,
    /// BLAKE2b with a digest of the fingerprint's length (8 or 16 bytes), big-endian: trafilatura.
    Blake2b,
    /// FNV-1 of 64 bits, multiply first (not FNV-1a): mfonda. 64 bits only.
    Fnv1,
    /// Bob Jenkins' lookup3 `hashlittle2`, both seeds 0, `c << 32 | b`: yanyiwu. 64 bits only.
    Lookup3,
    /// Bernstein's hash, x = 33·x + byte, modulo 2 to the number of bits. Short features leave the high bits alone.
    Times33 {
        /// The first x: 5381 or 0 in most programs.
        start: u64,
    },
    /// The hash of strings of Python 2, modulo 2 to the number of bits: x = 128 times the first character, then x =
    /// 1000003·x xor each character, at last xor the number of characters; 0 for none.
    Python2,
}

impl Hash {
    /// The names that [`FromStr`] accepts.
    pub const NAMES: [&'static str; 9] = [
        "xxh3[:SEED]",
        "murmur3[:SEED]",
        "md5-head",
        "md5-tail",
        "blake2b",
        "fnv1",
        "lookup3",
        "times33[:TIMES33_START]",
        "python2",
    ];

    /// Returns whether this hash has a form for fingerprints of `bits` bits.
    pub(crate) fn has_width(self, bits: u32) -> bool {
        match self {
            Self::Fnv1 | Self::Lookup3 => bits == 64,
            Self::Xxh3 { .. }
            | Self::Murmur3 { .. }
            | Self::Md5Head
            | Self::Md5Tail
            | Self::Blake2b
            | Self::Times33 { .. }
            | Self::Python2 => bits == 64 || bits == 128,
        }
    }

    /// Returns the hash of `feature`. A hash without a 128-bit form is zero-extended; a recipe that would
    /// need such a form is refused when it is read or used.
    ///
    /// ```
    /// use hamdex_simhash::recipe::Hash;
    ///
    /// assert_eq!(Hash::Fnv1.of::<u64>(b"a"), 0xaf63bd4c8601b7be);
    /// ```
    #[inline]
    #[must_use]
    pub fn of<F: Fingerprint>(self, feature: &[u8]) -> F {
        F::truncate(match self {
            Self::Xxh3 { seed } if F::BITS == 64 => u128::from(xxh3_64_with_seed(feature, seed)),
            Self::Xxh3 { seed } => xxh3_128_with_seed(feature, seed),
            Self::Murmur3 { seed } => murmur3::murmur3_x64_128(&mut &*feature, seed)
                .expect("reading from a slice of bytes cannot fail"),
            Self::Md5Head => md5(feature) >> (128 - F::BITS),
            Self::Md5Tail => md5(feature),
            Self::Blake2b if F::BITS == 64 => u128::from(blake2b_64(feature)),
            Self::Blake2b => blake2b_128(feature),
            Self::Fnv1 => u128::from(fnv1_64(feature)),
            Self::Lookup3 => u128::from(hashlittle2(feature)),
            Self::Times33 { start } => times33(feature, start),
            Self::Python2 => python2(feature),
        })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xxh3 { seed } => write!(f, "xxh3:{seed}"),
            Self::Murmur3 { seed } => write!(f, "murmur3:{seed}"),
            Self::Md5Head => f.write_str("md5-head"),
            Self::Md5Tail => f.write_str("md5-tail"),
            Self::Blake2b => f.write_str("blake2b"),
            Self::Fnv1 => f.write_str("fnv1"),
            Self::Lookup3 => f.write_str("lookup3"),
            Self::Times33 { start } => write!(f, "times33:{start}"),
            Self::Python2 => f.write_str("python2"),
        }
    }
}

impl FromStr for Hash {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let unknown = || RecipeError::value("hash", text, &Self::NAMES);
        let (name, seed) = text.split_once(':').map_or((text, None), |(name, seed)| (name, Some(seed)));
        Ok(match (name, seed) {
            ("xxh3", seed) => Self::Xxh3 { seed: seed.unwrap_or("0").parse().map_err(|_| unknown())? },
            ("murmur3", seed) => Self::Murmur3 { seed: seed.unwrap_or("0").parse().map_err(|_| unknown())? },
            ("md5-head", None) => Self::Md5Head,
            ("md5-tail", None) => Self::Md5Tail,
            ("blake2b", None) => Self::Blake2b,
            ("fnv1", None) => Self::Fnv1,
            ("lookup3", None) => Self::Lookup3,
            ("times33", None) => Self::Times33 { start: TIMES33_START },
            ("times33", Some(start)) => Self::Times33 { start: start.parse().map_err(|_| unknown())? },
            ("python2", None) => Self::Python2,
            _ => return Err(unknown()),
        })
    }
}

/// Bob Jenkins' lookup3 (2006, public domain) in its two-word form `hashlittle2`, with both seeds 0 and its second result
/// in the low half: `c << 32 | b`.
///
/// Written from the description of the function: three 32-bit words of state, twelve bytes mixed in at a time, the last
/// one to twelve bytes followed by a final mix. No available crate has the two-word form.
fn hashlittle2(bytes: &[u8]) -> u64 {
    let (c, b) = seeded(bytes, 0, 0);
    u64::from(c) << 32 | u64::from(b)
}

/// The two results (primary `c`, secondary `b`) for two seeds: the primary one enters all three words,
/// the secondary one `c` alone.
fn seeded(bytes: &[u8], primary: u32, secondary: u32) -> (u32, u32) {
    // The length enters modulo 2^32, as in the 32-bit arithmetic of the original.
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32).wrapping_add(primary);
    let mut state = [start, start, start.wrapping_add(secondary)];
    let mut rest = bytes;
    while rest.len() > 12 {
        let (head, tail) = rest.split_at(12);
        absorb(&mut state, head);
        mix(&mut state);
        rest = tail;
    }
    if !rest.is_empty() {
        let mut last = [0; 12];
        last[..rest.len()].copy_from_slice(rest);
        absorb(&mut state, &last);
        finish(&mut state);
    }
    (state[2], state[1])
}

fn absorb(state: &mut [u32; 3], twelve: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(twelve.chunks_exact(4)) {
        *word = word.wrapping_add(u32::from_le_bytes(bytes.try_into().expect("chunks of four bytes")));
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    // Each step: subtract, xor a rotation, add; the roles of the words rotate twice.
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    *state = [a, b, c];
}

fn finish(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    *state = [a, b, c];
}

fn md5(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Md5::digest(bytes).into())
}

fn blake2b_64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(Blake2b::<U8>::digest(bytes).into())
}

fn blake2b_128(bytes: &[u8]) -> u128 {
    u128::from_be_bytes(Blake2b::<U16>::digest(bytes).into())
}

const FNV1_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV1_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1 of 64 bits (Fowler, Noll, Vo): multiply, then xor. The available crates have only FNV-1a.
fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV1_OFFSET_BASIS, |hash, &byte| hash.wrapping_mul(FNV1_PRIME) ^ u64::from(byte))
}

/// The start by which the hash is best known; other programs start from 0.
const TIMES33_START: u64 = 5381;

/// Daniel J. Bernstein's hash: multiply by 33, then add the byte. Modulo 2^128; its low bits are the hash modulo 2^64.
fn times33(bytes: &[u8], start: u64) -> u128 {
    bytes.iter().fold(start.into(), |hash: u128, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

/// The hash of strings of Python 2, as a widely copied example computes it for any number of bits. Modulo 2^128; its low
/// bits are the hash modulo 2^64. Characters are code points; bytes that are not UTF-8
/// count as U+FFFD.
fn python2(bytes: &[u8]) -> u128 {
    let text = String::from_utf8_lossy(bytes);
    let Some(first) = text.chars().next() else { return 0 };
    let code = |c: char| u128::from(u32::from(c));
    let mixed = text.chars().fold(code(first) << 7, |hash, c| hash.wrapping_mul(1_000_003) ^ code(c));
    mixed ^ text.chars().count() as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOX: &[u8] = b"The quick brown fox jumps over the lazy dog";

    #[test]
    fn md5_is_cut_at_either_end() {
        // MD5 of the empty string, RFC 1321: d41d8cd98f00b204e9800998ecf8427e.
        assert_eq!(Hash::Md5Head.of::<u64>(b""), 0xd41d8cd98f00b204);
        assert_eq!(Hash::Md5Tail.of::<u64>(b""), 0xe9800998ecf8427e);
        assert_eq!(Hash::Md5Head.of::<u128>(b""), 0xd41d8cd98f00b204e9800998ecf8427e);
    }

    #[test]
    fn murmur3_gives_its_first_half() {
        // A widely used test vector of MurmurHash3_x64_128: h1 and h2, printed in this order.
        assert_eq!(Hash::Murmur3 { seed: 0 }.of::<u64>(FOX), 0xe34bbc7bbc071b6c);
        assert_eq!(Hash::Murmur3 { seed: 0 }.of::<u128>(FOX), 0x7a433ca9c49a9347_e34bbc7bbc071b6c);
    }

    #[test]
    fn xxh3_has_both_widths() {
        // XXH3 of no bytes with seed 0, from the specification's sanity checks.
        assert_eq!(Hash::Xxh3 { seed: 0 }.of::<u64>(b""), 0x2d06800538d394c2);
        assert_eq!(Hash::Xxh3 { seed: 0 }.of::<u128>(b""), 0x99aa06d3014798d8_6001c324468d497f);
    }

    #[test]
    fn names_are_read_back() {
        let all = [
            Hash::Xxh3 { seed: 42 },
            Hash::Murmur3 { seed: 7 },
            Hash::Md5Head,
            Hash::Md5Tail,
            Hash::Blake2b,
            Hash::Fnv1,
            Hash::Lookup3,
            Hash::Times33 { start: 0 },
            Hash::Python2,
        ];
        assert_eq!(all.len(), Hash::NAMES.len());
        for hash in all {
            assert_eq!(hash.to_string().parse(), Ok(hash));
        }
        for wrong in [
            "",
            "xxh3:",
            "xxh3:-1",
            "xxh3:x",
            "md5",
            "fnv1:0",
            "times33:-1",
            "python2:0",
            "murmur3:4294967296",
        ] {
            assert!(wrong.parse::<Hash>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn published_vectors_hold() {
        // The self-test printed in lookup3.c itself.
        let gettysburg = b"Four score and seven years ago";
        assert_eq!(seeded(b"", 0, 0), (0xdeadbeef, 0xdeadbeef));
        assert_eq!(seeded(b"", 0, 0xdeadbeef), (0xbd5b7dde, 0xdeadbeef));
        assert_eq!(seeded(b"", 0xdeadbeef, 0xdeadbeef), (0x9c093ccd, 0xbd5b7dde));
        assert_eq!(seeded(gettysburg, 0, 0), (0x17770551, 0xce7226e6));
        assert_eq!(seeded(gettysburg, 0, 1), (0xe3607cae, 0xbd371de4));
        assert_eq!(seeded(gettysburg, 1, 0), (0xcd628161, 0x6cbea4b3));
    }

    #[test]
    fn the_primary_result_is_the_high_half() {
        assert_eq!(hashlittle2(b"Four score and seven years ago"), 0x17770551_ce7226e6);
    }

    #[test]
    fn the_vectors_of_fnv1_hold() {
        // From the test suite that the authors publish (test_fnv.c).
        assert_eq!(fnv1_64(b""), 0xcbf29ce484222325);
        assert_eq!(fnv1_64(b"a"), 0xaf63bd4c8601b7be);
        assert_eq!(fnv1_64(b"foobar"), 0x340d8765a4dda9c2);
    }

    #[test]
    fn the_start_decides() {
        assert_eq!(times33(b"", 0), 0);
        assert_eq!(times33(b"ab", 0), 97 * 33 + 98);
        assert_eq!(times33(b"ab", TIMES33_START), (5381 * 33 + 97) * 33 + 98);
        // In 32 bits, the published value for this word.
        assert_eq!(times33(b"hello", TIMES33_START) as u32, 0x0f92_3099);
    }

    #[test]
    fn characters_are_mixed_and_counted() {
        assert_eq!(python2(b""), 0);
        let a = u128::from(b'a');
        assert_eq!(python2(b"a"), (((a << 7) * 1_000_003) ^ a) ^ 1);
        assert_eq!(python2("é".as_bytes()), (((0xe9 << 7) * 1_000_003) ^ 0xe9) ^ 1);
    }
}
