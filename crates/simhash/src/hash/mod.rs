//! Hashes of features. Their output never changes, since every stored fingerprint depends on it.

mod digest;
mod fnv1;
mod lookup3;
mod python2;
mod times33;

use std::fmt;
use std::str::FromStr;

use hamdex_fingerprint::Fingerprint;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::error::RecipeError;

pub(crate) use digest::content_digest;

/// The hash of a feature, with as many bits as the fingerprint.
///
/// As text: `xxh3:SEED`, `murmur3:SEED` (seeds in decimal; `xxh3` alone means seed 0), `md5-head`,
/// `md5-tail`, `blake2b`, `fnv1`, `lookup3`, `times33:START` (`times33` alone starts from 5381), `python2`.
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
        "times33[:START]",
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
            Self::Md5Head => digest::md5(feature) >> (128 - F::BITS),
            Self::Md5Tail => digest::md5(feature),
            Self::Blake2b if F::BITS == 64 => u128::from(digest::blake2b_64(feature)),
            Self::Blake2b => digest::blake2b_128(feature),
            Self::Fnv1 => u128::from(fnv1::fnv1_64(feature)),
            Self::Lookup3 => u128::from(lookup3::hashlittle2(feature)),
            Self::Times33 { start } => times33::times33(feature, start),
            Self::Python2 => python2::python2(feature),
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
            ("times33", None) => Self::Times33 { start: times33::START },
            ("times33", Some(start)) => Self::Times33 { start: start.parse().map_err(|_| unknown())? },
            ("python2", None) => Self::Python2,
            _ => return Err(unknown()),
        })
    }
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
}
