//! Parses fingerprints in text: hexadecimal, decimal, or either.

use hamdex::{Fingerprint, ParseFingerprintError};

use crate::failure::shown;

/// The notation of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Hex,
    Decimal,
    /// Each number by itself; one of exactly 16 (32) digits is hexadecimal.
    Either,
}

impl Notation {
    /// Parses a fingerprint. Signed integers of the width are bit patterns.
    pub(crate) fn parse<F: Fingerprint>(self, text: &str) -> Result<F, ParseFingerprintError> {
        match self {
            Self::Hex => F::parse_hex(text),
            Self::Decimal => decimal(text),
            Self::Either if text.starts_with('-') => decimal(text),
            Self::Either => F::parse(text),
        }
    }

    /// Returns the error for a number that only the other notation can read, after all before it were read in
    /// this one because of their looks; `None` for any other text.
    pub(crate) fn contradiction<F: Fingerprint>(self, text: &str) -> Option<String> {
        let other = match self {
            Self::Hex => Self::Decimal,
            Self::Decimal => Self::Hex,
            Self::Either => return None,
        };
        other.parse::<F>(text).is_ok().then(|| {
            format!(
                "{} looks {}, but what comes before it was read as {}",
                shown(text),
                other.name(),
                self.name()
            )
        })
    }

    /// Returns the name of the notation in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hex => "hexadecimal",
            Self::Decimal => "decimal",
            Self::Either => "hexadecimal or decimal",
        }
    }
}

/// Parses a decimal number; a negative one is the bit pattern of a signed integer of the same width, as
/// databases without unsigned integers store fingerprints.
fn decimal<F: Fingerprint>(text: &str) -> Result<F, ParseFingerprintError> {
    let Some(magnitude) = text.strip_prefix('-') else { return F::parse_decimal(text) };
    let magnitude = F::parse_decimal(magnitude)?.to_u128();
    if magnitude > 1 << (F::BITS - 1) {
        return Err(ParseFingerprintError::TooLarge { bits: F::BITS });
    }
    Ok(F::truncate(magnitude.wrapping_neg()))
}

/// The evidence of the numbers so far for their notation.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Evidence {
    /// The position of the first certainly hexadecimal number, counted by the caller.
    hex: Option<u64>,
    /// The position of the first certainly decimal number.
    decimal: Option<u64>,
}

impl Evidence {
    /// Takes a number into account. One of exactly 16 (32) decimal digits fits both and decides nothing.
    pub(crate) fn note<F: Fingerprint>(&mut self, token: &[u8], place: u64) {
        let (is_negative, digits) = match token.strip_prefix(b"-") {
            Some(digits) => (true, digits),
            None => (false, token),
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            self.hex.get_or_insert(place);
        } else if is_negative || digits.len() != F::BYTES * 2 {
            self.decimal.get_or_insert(place);
        }
    }

    /// Returns the notation of all numbers. If nothing decides, they are hexadecimal, as programs that pad
    /// with zeros write them.
    ///
    /// # Errors
    /// The positions of a hexadecimal and of a decimal number, if there are both.
    pub(crate) fn notation(self) -> Result<Notation, (u64, u64)> {
        match (self.hex, self.decimal) {
            (Some(hex), Some(decimal)) => Err((hex, decimal)),
            (None, Some(_)) => Ok(Notation::Decimal),
            _ => Ok(Notation::Hex),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_are_bit_patterns() {
        for number in [-1i64, -5, i64::MIN, 0, i64::MAX] {
            assert_eq!(Notation::Decimal.parse(&number.to_string()), Ok(number as u64));
            assert_eq!(Notation::Decimal.parse(&number.to_string()), Ok(i128::from(number) as u128));
        }
        assert_eq!(Notation::Decimal.parse(&i128::MIN.to_string()), Ok(1u128 << 127));
        assert_eq!(Notation::Either.parse::<u64>("-5"), Ok(-5i64 as u64));
        assert!(Notation::Decimal.parse::<u64>("-9223372036854775809").is_err());
        assert!(Notation::Decimal.parse::<u64>("--1").is_err());
        assert!(Notation::Decimal.parse::<u64>("-").is_err());
        assert!(Notation::Hex.parse::<u64>("-1").is_err());
    }

    #[test]
    fn sixteen_digits_are_what_their_neighbors_are() {
        let of = |tokens: &[&str]| {
            let mut evidence = Evidence::default();
            for (place, token) in tokens.iter().enumerate() {
                evidence.note::<u64>(token.as_bytes(), place as u64 + 1);
            }
            evidence.notation()
        };
        assert_eq!(of(&["1234567890123456"]), Ok(Notation::Hex));
        assert_eq!(of(&["1234567890123456", "17"]), Ok(Notation::Decimal));
        assert_eq!(of(&["1234567890123456", "-1234567890123456"]), Ok(Notation::Decimal));
        assert_eq!(of(&["0x1f"]), Ok(Notation::Hex));
        assert_eq!(of(&["17", "0123456789abcdef"]), Err((2, 1)));
    }
}
