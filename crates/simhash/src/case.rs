//! Case folding.

use std::fmt;
use std::str::FromStr;

use crate::error::RecipeError;

/// How upper-case letters are folded before a text is cut into tokens.
///
/// The mappings come from the standard library. Unicode does not change them for existing characters,
/// but a new version may add a lower-case partner to a letter that had none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Case {
    /// `keep`: they are not folded.
    Keep,
    /// `lower`: the full mapping of a whole text, final sigma included: Python's `str.lower`.
    Lower,
    /// `simple`: one character for one, without context: Go's `bytes.ToLower`.
    Simple,
}

impl Case {
    /// The names that [`FromStr`] accepts.
    pub const NAMES: [&'static str; 3] = ["keep", "lower", "simple"];

    /// Returns the folded text; `buffer` holds it if it differs from `text`.
    pub(crate) fn fold<'t>(self, text: &'t str, buffer: &'t mut String) -> &'t str {
        buffer.clear();
        match self {
            Self::Keep => return text,
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
            Self::Simple => "simple",
        })
    }
}

impl FromStr for Case {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "keep" => Ok(Self::Keep),
            "lower" => Ok(Self::Lower),
            "simple" => Ok(Self::Simple),
            _ => Err(RecipeError::value("case", text, &Self::NAMES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_ways_differ_where_they_should() {
        let mut buffer = String::new();
        let mut fold = |case: Case, text: &str| case.fold(text, &mut buffer).to_owned();
        assert_eq!(fold(Case::Keep, "ΌΣ İ A"), "ΌΣ İ A");
        assert_eq!(fold(Case::Lower, "ΌΣ İ A"), "ός i\u{307} a");
        assert_eq!(fold(Case::Simple, "ΌΣ İ A"), "όσ i a");
        assert_eq!(fold(Case::Simple, "ABC"), "abc");
        assert_eq!(fold(Case::Simple, "\u{212a}"), "k");
    }
}
