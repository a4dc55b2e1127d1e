//! Fingerprints of 64 and 128 bits behind one sealed trait.
//!
//! A fingerprint is a plain unsigned integer. Bit positions count from the most significant
//! bit, from 0, as in §3.1.3 of Manku, Jain and Das Sarma (WWW 2007), so that "the first `p` bits"
//! is also "the prefix of a sorted table".

use std::fmt;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, BitXorAssign, Not, Shl, Shr};

use byteorder::{ByteOrder, LittleEndian};

/// A fingerprint: `u64` or `u128`. The trait is sealed: the file format has only these two widths.
///
/// ```
/// use hamdex_fingerprint::Fingerprint;
///
/// let a = u64::parse("0x00000000000000ff")?;
/// assert_eq!(a.distance(0xf0), 4);
/// assert_eq!(a.hex().to_string(), "00000000000000ff");
/// # Ok::<(), hamdex_fingerprint::ParseFingerprintError>(())
/// ```
pub trait Fingerprint:
    Machinery
    + Copy
    + Ord
    + Hash
    + Default
    + fmt::Debug
    + fmt::Display
    + fmt::LowerHex
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitXorAssign
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// Width in bits: 64 or 128.
    const BITS: u32;
    /// Width in bytes: 8 or 16.
    const BYTES: usize;
    /// All bits clear.
    const ZERO: Self;
    /// All bits set.
    const ONES: Self;

    /// The Hamming distance: the number of bits in which the two differ, 0 to [`Self::BITS`].
    #[inline]
    fn distance(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }

    /// The number of bits that are set.
    fn count_ones(self) -> u32;

    /// The number as 128 bits, zero-extended.
    fn to_u128(self) -> u128;

    /// The low [`Self::BITS`] bits of a number.
    fn truncate(value: u128) -> Self;

    /// The first `bits` bits set, the others clear. `bits` beyond the width counts as the width.
    #[inline]
    fn prefix_mask(bits: u32) -> Self {
        if bits == 0 { Self::ZERO } else { Self::ONES << Self::BITS.saturating_sub(bits) }
    }

    /// The number with only the bit at `position` set, counted from the most significant bit.
    ///
    /// # Panics
    /// In debug builds, when `position` is not below the width.
    #[inline]
    fn bit(position: u32) -> Self {
        Self::truncate(1) << (Self::BITS - 1 - position)
    }

    /// The position of the first bit in which the two differ, counted from the most significant bit;
    /// the width in bits if they are equal.
    #[inline]
    fn first_difference(self, other: Self) -> u32 {
        Machinery::leading_zeros(self ^ other)
    }

    /// The fingerprint as text: 16 or 32 lower-case hexadecimal digits.
    fn hex(self) -> Hex<Self> {
        Hex(self)
    }

    /// Parses exactly 16 (or 32) hexadecimal digits; or `0x` and at least one digit; or a decimal
    /// number. Exactly 16 (32) digits without a prefix are always hexadecimal.
    ///
    /// # Errors
    /// When the text is none of these, or the number needs more bits than the width has.
    fn parse(text: &str) -> Result<Self, ParseFingerprintError> {
        if is_bare_hex(text, Self::BITS) || has_hex_prefix(text) {
            Self::parse_hex(text)
        } else {
            Self::parse_decimal(text)
        }
    }

    /// Parses exactly 16 (or 32) hexadecimal digits, or `0x` and at least one digit.
    ///
    /// # Errors
    /// When the text is neither, or the number needs more bits than the width has.
    fn parse_hex(text: &str) -> Result<Self, ParseFingerprintError> {
        let digits = if has_hex_prefix(text) { &text[2..] } else { text };
        let plain = digits.bytes().all(|b| b.is_ascii_hexdigit()) && !digits.is_empty();
        if !plain || (!has_hex_prefix(text) && !is_bare_hex(text, Self::BITS)) {
            return Err(ParseFingerprintError::NotHex { bits: Self::BITS });
        }
        fitting(u128::from_str_radix(digits, 16).ok())
    }

    /// Parses a decimal number.
    ///
    /// # Errors
    /// When the text has anything but digits or is empty, or the number needs more bits than the width has.
    fn parse_decimal(text: &str) -> Result<Self, ParseFingerprintError> {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ParseFingerprintError::NotDecimal { bits: Self::BITS });
        }
        fitting(text.parse().ok())
    }
}

fn has_hex_prefix(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

fn is_bare_hex(text: &str, bits: u32) -> bool {
    text.len() == bits as usize / 4 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns a number as a fingerprint; `None` is one of more than 128 bits.
fn fitting<F: Fingerprint>(number: Option<u128>) -> Result<F, ParseFingerprintError> {
    let fits = number.filter(|&number| F::truncate(number).to_u128() == number);
    fits.map(F::truncate).ok_or(ParseFingerprintError::TooLarge { bits: F::BITS })
}

mod sealed {
    /// A supertrait that no other crate can name.
    pub trait Sealed {}
}

/// The operations of [`Fingerprint`] as numbers and bytes, for the crates of this project only. They may change in any
/// release. No other crate can implement this trait, which seals `Fingerprint` too.
#[doc(hidden)]
pub trait Machinery: Sized + sealed::Sealed {
    /// The number of clear bits before the first set one; the width for zero.
    fn leading_zeros(self) -> u32;

    /// The number of clear bits after the last set one; the width for zero.
    fn trailing_zeros(self) -> u32;

    /// The bits moved `by` places towards the most significant end, wrapping around.
    fn rotate_left(self, by: u32) -> Self;

    /// The bits moved `by` places towards the least significant end, wrapping around.
    fn rotate_right(self, by: u32) -> Self;

    /// The difference of the two as numbers, modulo 2^width.
    fn minus(self, other: Self) -> Self;

    /// Reads a little-endian number of the width from the start of `bytes`.
    ///
    /// # Panics
    /// When `bytes` is shorter than the width.
    fn read_le(bytes: &[u8]) -> Self;

    /// Writes the number, little-endian, to the start of `bytes`.
    ///
    /// # Panics
    /// When `bytes` is shorter than the width.
    fn write_le(self, bytes: &mut [u8]);

    /// The same numbers as words of 64 bits; `None` if they are wider.
    fn as_words(values: &mut [Self]) -> Option<&mut [u64]>;
}

macro_rules! impl_fingerprint {
    ($type:ty, $read:path, $write:path, $as_words:expr) => {
        impl Fingerprint for $type {
            const BITS: u32 = <$type>::BITS;
            const BYTES: usize = size_of::<$type>();
            const ZERO: Self = 0;
            const ONES: Self = <$type>::MAX;

            #[inline]
            fn count_ones(self) -> u32 {
                <$type>::count_ones(self)
            }
            #[inline]
            fn to_u128(self) -> u128 {
                u128::from(self)
            }
            #[inline]
            fn truncate(value: u128) -> Self {
                value as Self
            }
        }

        impl sealed::Sealed for $type {}

        impl Machinery for $type {
            #[inline]
            fn leading_zeros(self) -> u32 {
                <$type>::leading_zeros(self)
            }
            #[inline]
            fn trailing_zeros(self) -> u32 {
                <$type>::trailing_zeros(self)
            }
            #[inline]
            fn rotate_left(self, by: u32) -> Self {
                <$type>::rotate_left(self, by)
            }
            #[inline]
            fn rotate_right(self, by: u32) -> Self {
                <$type>::rotate_right(self, by)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn read_le(bytes: &[u8]) -> Self {
                $read(bytes)
            }
            #[inline]
            fn write_le(self, bytes: &mut [u8]) {
                $write(bytes, self);
            }
            #[inline]
            fn as_words(values: &mut [Self]) -> Option<&mut [u64]> {
                $as_words(values)
            }
        }
    };
}

impl_fingerprint!(u64, LittleEndian::read_u64, LittleEndian::write_u64, Some);
impl_fingerprint!(u128, LittleEndian::read_u128, LittleEndian::write_u128, |_| None);

/// Displays a fingerprint as 16 or 32 lower-case hexadecimal digits; made by [`Fingerprint::hex`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hex<F>(F);

impl<F: Fingerprint> fmt::Display for Hex<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0width$x}", self.0, width = F::BYTES * 2)
    }
}

impl<F: Fingerprint> fmt::Debug for Hex<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseFingerprintError {
    /// Not a hexadecimal fingerprint of this width.
    #[error("expected {} hexadecimal digits, or 0x and at least one", bits / 4)]
    NotHex {
        /// The expected width, in bits.
        bits: u32,
    },
    /// Neither hexadecimal of the right length nor decimal.
    #[error("expected {} hexadecimal digits, 0x and hexadecimal digits, or a decimal number", bits / 4)]
    NotDecimal {
        /// The expected width, in bits.
        bits: u32,
    },
    /// A number that the width cannot hold.
    #[error("the number does not fit into {bits} bits")]
    TooLarge {
        /// The expected width, in bits.
        bits: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_masks_cover_both_ends() {
        assert_eq!(u64::prefix_mask(0), 0);
        assert_eq!(u64::prefix_mask(1), 1 << 63);
        assert_eq!(u64::prefix_mask(64), u64::MAX);
        assert_eq!(u128::prefix_mask(64), u128::from(u64::MAX) << 64);
        assert_eq!(u128::prefix_mask(200), u128::MAX);
    }

    #[test]
    fn text_is_read_back() {
        for value in [0u64, 1, 0x8000_0000_0000_0000, u64::MAX] {
            assert_eq!(u64::parse(&value.hex().to_string()), Ok(value));
            assert_eq!(u64::parse(&format!("0x{value:x}")), Ok(value));
            assert_eq!(u64::parse_decimal(&value.to_string()), Ok(value));
        }
        assert_eq!(u128::parse(&u128::MAX.hex().to_string()), Ok(u128::MAX));
        assert_eq!(u128::parse_decimal(&u128::MAX.to_string()), Ok(u128::MAX));
    }

    #[test]
    fn sixteen_bare_digits_are_hexadecimal() {
        assert_eq!(u64::parse("0000000000000010"), Ok(16));
        assert_eq!(u64::parse("10"), Ok(10));
    }

    #[test]
    fn malformed_text_is_refused() {
        let not_decimal = ParseFingerprintError::NotDecimal { bits: 64 };
        let too_large = ParseFingerprintError::TooLarge { bits: 64 };
        for text in ["", "-1", "+1", "xyz", "NaN", "1.5", "00000000000000fg", "1 "] {
            assert_eq!(u64::parse(text), Err(not_decimal), "{text:?}");
        }
        for text in ["0x", "0xg", "0x+1"] {
            assert_eq!(u64::parse(text), Err(ParseFingerprintError::NotHex { bits: 64 }), "{text:?}");
        }
        assert_eq!(u64::parse("18446744073709551616"), Err(too_large));
        assert_eq!(u64::parse("0x10000000000000000"), Err(too_large));
        assert_eq!(u64::parse("0x0000000000000000000001"), Ok(1));
        assert_eq!(u64::parse("999999999999999999999999999999999999999999"), Err(too_large));
    }
}
