//! The formats of inputs that options name, and the notations of fingerprints in text: hexadecimal, decimal, or either.

use clap::ValueEnum;
use hamdex::{Fingerprint, ParseFingerprintError};

use crate::failure::{Failure, shown};

/// The format of an input: of fingerprints, of documents, or of both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// By the name and the first bytes of each input
    #[default]
    Auto,
    /// Fingerprints, one per line: 16 (32) hexadecimal digits, or 0x and digits
    Hex,
    /// Fingerprints, one per line: a decimal number; a negative one is the bit pattern of a signed integer
    Decimal,
    /// Fingerprints: raw little-endian numbers of 8 bytes
    U64le,
    /// Fingerprints: raw little-endian numbers of 16 bytes (with --width 128)
    U128le,
    /// Fingerprints: a NumPy array of uint64 or int64 (128 bits: two columns, high word first)
    Npy,
    /// Comma-separated values, the first record naming the columns
    Csv,
    /// The same, separated by tabs
    Tsv,
    /// A Parquet file; fingerprints are numbers, texts, or binary of 8 (16) bytes, little-endian
    Parquet,
    /// An Arrow IPC file or stream: the same
    Arrow,
    /// Documents, a JSON object on each line
    Jsonl,
    /// Documents, JSON objects in an array, or one after the other
    Json,
    /// Documents, one per line: an id, a blank or tab, the text
    Lines,
    /// Documents, one per line: the text alone
    TextLines,
    /// Each input is one document, its path the id
    Text,
    /// Each input is one HTML page, its path the id; the text has no tags
    Html,
    /// Each input is one message of mail, its path the id; the text is its subject and its texts
    Eml,
    /// The messages of a mailbox, by their own ids
    Mbox,
    /// The responses of a web archive, by their addresses; HTML without its tags
    Warc,
}

impl Format {
    /// The format of lines in a notation.
    pub(crate) fn of(notation: Notation) -> Self {
        if notation == Notation::Decimal { Self::Decimal } else { Self::Hex }
    }

    /// Returns the format of two options that both can name it: `--format`, and `--documents` or `--fingerprints`.
    ///
    /// # Errors
    /// When they name different ones.
    pub(crate) fn either(self, other: Self) -> Result<Self, Failure> {
        match (self, other) {
            (format, Self::Auto) | (Self::Auto, format) => Ok(format),
            (one, other) if one == other => Ok(one),
            (one, other) => Err(Failure::Usage(format!(
                "two formats are given, {} and {}: leave one out",
                one.name(),
                other.name()
            ))),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Returns the format of documents; `None` if it is to be detected.
    ///
    /// # Errors
    /// When it is one of fingerprints alone.
    pub(crate) fn of_documents(self) -> Result<Option<hamdex_documents::Format>, Failure> {
        use hamdex_documents::Format as Given;
        Ok(Some(match self {
            Self::Auto => return Ok(None),
            Self::Lines => Given::Lines,
            Self::TextLines => Given::TextLines,
            Self::Json => Given::Json,
            Self::Jsonl => Given::Jsonl,
            Self::Csv => Given::Csv,
            Self::Tsv => Given::Tsv,
            Self::Parquet => Given::Parquet,
            Self::Arrow => Given::Arrow,
            Self::Text => Given::Text,
            Self::Html => Given::Html,
            Self::Eml => Given::Eml,
            Self::Mbox => Given::Mbox,
            Self::Warc => Given::Warc,
            Self::Hex | Self::Decimal | Self::U64le | Self::U128le | Self::Npy => {
                let name = self.name();
                return Err(Failure::Usage(format!(
                    "--format {name} is for fingerprints, and the inputs are documents"
                )));
            }
        }))
    }

    /// Fails if it is a format of documents alone.
    pub(crate) fn check_fingerprints(self) -> Result<(), Failure> {
        if self == Self::Auto || self.table().is_some() || self.of_documents().is_err() {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--format {} is for documents, and the inputs are fingerprints",
            self.name()
        )))
    }

    /// The format of a table with named columns.
    pub(crate) fn table(self) -> Option<hamdex_documents::Format> {
        let is_table = matches!(self, Self::Csv | Self::Tsv | Self::Parquet | Self::Arrow);
        self.of_documents().ok().flatten().filter(|_| is_table)
    }

    /// Returns the notation of numbers in text of this format; either, unless the format is `hex` or
    /// `decimal`.
    pub(crate) fn notation(self) -> Notation {
        match self {
            Self::Hex => Notation::Hex,
            Self::Decimal => Notation::Decimal,
            _ => Notation::Either,
        }
    }
}

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

    /// Parses a fingerprint of the command line.
    pub(crate) fn parse_argument<F: Fingerprint>(self, text: &str) -> Result<F, Failure> {
        self.parse(text).map_err(|error| Failure::Usage(format!("fingerprint {}: {error}", shown(text))))
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
