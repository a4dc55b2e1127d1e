//! Case folding.

use std::fmt;
use std::str::FromStr;

use crate::caseless;
use crate::error::RecipeError;

/// The folding of upper-case letters and of other differences in writing, before a text is cut into tokens or after it
/// was cut into shingles.
///
/// The mappings to lower case come from the standard library. Unicode does not change them for existing characters,
/// but a new version may add a lower-case partner to a letter that had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Case {
    /// `keep`: no folding.
    Keep,
    /// `lower`: the full mapping of a whole text, final sigma included: Python's `str.lower`.
    Lower,
    /// `lower-shingles`: as `lower`, but applied to each shingle after the text was cut, as in text-dedup 0.4.0. The
    /// context of a shingle has no influence (on a final sigma, say), and a letter with a lower case of two characters
    /// counts as one when the text is cut.
    LowerShingles,
    /// `simple`: one character for one, without context: Go's `bytes.ToLower`.
    Simple,
    /// `caseless`: texts that people take for equal are equal. Compatible forms become one (Unicode's NFKC: composed
    /// and decomposed accents, full-width letters, ligatures), letters are folded (the full folding, so `ß` is `ss`),
    /// characters without a shape are dropped (soft hyphens, zero-width spaces), and apostrophes become `'`.
    /// `docs/dedup.md` defines it.
    Caseless,
}

impl Case {
    /// The names that [`FromStr`] accepts.
    pub const NAMES: [&'static str; 5] = ["keep", "lower", "lower-shingles", "simple", "caseless"];

    /// The folding of texts that are compared by their shingles.
    pub(crate) const OF_SHINGLES: Self = Self::Caseless;

    /// Returns the versions of the tables that the folding depends on; none for those of the standard library.
    pub(crate) fn tables(self) -> Option<String> {
        (self == Self::Caseless).then(caseless::tables)
    }

    /// Returns a shingle as it is hashed; `buffer` holds it if it differs from `shingle`.
    #[inline]
    pub(crate) fn fold_shingle<'t>(self, shingle: &'t str, buffer: &'t mut String) -> &'t str {
        match self {
            Self::LowerShingles if shingle.is_ascii() => {
                buffer.clear();
                buffer.push_str(shingle);
                buffer.make_ascii_lowercase();
                buffer
            }
            Self::LowerShingles => {
                *buffer = shingle.to_lowercase();
                buffer
            }
            Self::Keep | Self::Lower | Self::Simple | Self::Caseless => shingle,
        }
    }

    /// Returns the text as it is before it is cut; `buffer` holds it if it differs from `text`.
    pub(crate) fn fold<'t>(self, text: &'t str, buffer: &'t mut String) -> &'t str {
        buffer.clear();
        match self {
            Self::Keep | Self::LowerShingles => return text,
            Self::Caseless => caseless::fold(text, buffer),
            _ if text.is_ascii() => {
                buffer.push_str(text);
                buffer.make_ascii_lowercase();
            }
            Self::Lower => *buffer = text.to_lowercase(),
            // Only U+0130 maps to more than one character; its simple mapping is the first of them.
            Self::Simple => buffer.extend(text.chars().map(|c| c.to_lowercase().next().unwrap_or(c))),
        }
        buffer
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keep => "keep",
            Self::Lower => "lower",
            Self::LowerShingles => "lower-shingles",
            Self::Simple => "simple",
            Self::Caseless => "caseless",
        })
    }
}

impl FromStr for Case {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "keep" => Ok(Self::Keep),
            "lower" => Ok(Self::Lower),
            "lower-shingles" => Ok(Self::LowerShingles),
            "simple" => Ok(Self::Simple),
            "caseless" => Ok(Self::Caseless),
            _ => Err(RecipeError::value("case", text, &Self::NAMES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foldings_differ() {
        let mut buffer = String::new();
        let mut fold = |case: Case, text: &str| case.fold(text, &mut buffer).to_owned();
        assert_eq!(fold(Case::Keep, "ΌΣ İ A"), "ΌΣ İ A");
        assert_eq!(fold(Case::Lower, "ΌΣ İ A"), "ός i\u{307} a");
        assert_eq!(fold(Case::Simple, "ΌΣ İ A"), "όσ i a");
        assert_eq!(fold(Case::Simple, "ABC"), "abc");
        assert_eq!(fold(Case::Simple, "\u{212a}"), "k");
        assert_eq!(fold(Case::LowerShingles, "ΌΣ İ A"), "ΌΣ İ A");
        assert_eq!(fold(Case::Caseless, "ΌΣ İ A ß’"), "όσ i\u{307} a ss'");
        let mut shingle = |text: &str| Case::LowerShingles.fold_shingle(text, &mut buffer).to_owned();
        assert_eq!([shingle("ΌΣ"), shingle("ΌΣ İ"), shingle("A b")], ["ός", "ός i\u{307}", "a b"]);
    }
}
