//! Parsers of option values.

use std::num::NonZeroUsize;

use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hamdex_documents::tables::Quoting;

/// Parses a number of bytes.
pub(crate) fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|_| "expected a size such as 512MiB or 2GiB".to_owned())
}

/// Returns a number of ids, or no limit for `all`.
pub(crate) fn ids_limit(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        number => number.parse().map_err(|_| "expected a number, or all".to_owned()),
    }
}

/// Returns a parser of the width of fingerprints, in bits.
pub(crate) fn width() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["64", "128"]).map(|text| if text == "128" { 128 } else { 64 })
}

/// Parses a block size in bytes.
pub(crate) fn block_bytes(text: &str) -> Result<u32, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &u32| bytes.is_power_of_two() && (512..=8192).contains(bytes));
    bytes.ok_or_else(|| "expected a power of two from 512 to 8192".to_owned())
}

/// Parses a number of words per shingle.
pub(crate) fn shingle_words(text: &str) -> Result<NonZeroUsize, String> {
    let max = hamdex_simhash::recipe::Shingle::MAX_WIDTH;
    let width = text.parse::<NonZeroUsize>().ok().filter(|width| width.get() <= max);
    width.ok_or_else(|| format!("expected a number from 1 to {max}"))
}

/// Parses a share above 0 and at most 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0 and at most 1, as in 0.8".to_owned())
}

/// Parses the character between the fields of a record.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" | b"\t" => Ok(b'\t'),
        // A quote has a meaning of its own; letters and digits are parts of fields.
        [byte] if *byte == b' ' || byte.is_ascii_punctuation() && *byte != b'"' => Ok(*byte),
        _ => Err("expected a blank, a punctuation character of ASCII, or tab".to_owned()),
    }
}

/// Returns a parser of the quoting of fields.
pub(crate) fn quoting() -> impl TypedValueParser<Value = Quoting> {
    PossibleValuesParser::new(["csv", "none"])
        .map(|text| if text == "csv" { Quoting::Csv } else { Quoting::None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character() {
        assert_eq!([";", "tab", "\\t", " ", "|"].map(delimiter), [b';', b'\t', b'\t', b' ', b'|'].map(Ok));
        for wrong in ["", "\"", "::", "a", "é", "\n"] {
            assert!(delimiter(wrong).is_err(), "{wrong}");
        }
    }
}
