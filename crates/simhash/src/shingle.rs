//! Joined tokens, and the shingles cut from them.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use crate::RecipeError;

/// The shingle that is a feature: a number of consecutive words or characters.
///
/// As text `words:N` or `chars:N`. A text of fewer than N has one shingle, all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shingle {
    /// This many consecutive tokens; with `words:1` each token is a feature.
    Words(NonZeroUsize),
    /// This many consecutive characters (code points) of the joined tokens.
    Chars(NonZeroUsize),
}

impl Shingle {
    /// The greatest width, in words or characters.
    pub const MAX_WIDTH: usize = 64;
}

impl fmt::Display for Shingle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(width) => write!(f, "words:{width}"),
            Self::Chars(width) => write!(f, "chars:{width}"),
        }
    }
}

impl FromStr for Shingle {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let unknown = || RecipeError::value("shingle", text, &["words:N", "chars:N (N from 1 to 64)"]);
        let (unit, width) = text.split_once(':').ok_or_else(unknown)?;
        let width: NonZeroUsize = width.parse().map_err(|_| unknown())?;
        match unit {
            _ if width.get() > Self::MAX_WIDTH => Err(unknown()),
            "words" => Ok(Self::Words(width)),
            "chars" => Ok(Self::Chars(width)),
            _ => Err(unknown()),
        }
    }
}

/// Tokens joined by a separator, so that a shingle of any width is a slice.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    text: String,
    spans: Vec<Range<usize>>,
}

impl Tokens {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    pub(crate) fn push(&mut self, token: &str, separator: &str) {
        if !self.spans.is_empty() {
            self.text.push_str(separator);
        }
        let start = self.text.len();
        self.text.push_str(token);
        self.spans.push(start..self.text.len());
    }

    pub(crate) fn count(&self) -> usize {
        self.spans.len()
    }

    /// Calls `feature` with every shingle, in order.
    #[inline]
    pub(crate) fn shingles<'t>(&'t self, shingle: Shingle, mut feature: impl FnMut(&'t str)) {
        match shingle {
            Shingle::Words(width) => {
                let width = width.get().min(self.spans.len());
                if width > 0 {
                    let (firsts, lasts) = (&self.spans, &self.spans[width - 1..]);
                    for (first, last) in firsts.iter().zip(lasts) {
                        feature(&self.text[first.start..last.end]);
                    }
                }
            }
            Shingle::Chars(width) => {
                let starts = self.text.char_indices().map(|(start, _)| start);
                let mut ends = starts.clone().chain([self.text.len()]).skip(width.get()).peekable();
                if ends.peek().is_none() && !self.text.is_empty() {
                    feature(&self.text);
                }
                for (start, end) in starts.zip(ends) {
                    feature(&self.text[start..end]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shingles(words: &[&str], shingle: &str, separator: &str) -> Vec<String> {
        let mut tokens = Tokens::default();
        words.iter().for_each(|word| tokens.push(word, separator));
        let mut all = Vec::new();
        tokens.shingles(shingle.parse().unwrap(), |each| all.push(each.to_owned()));
        all
    }

    #[test]
    fn shingles_of_words_are_joined() {
        assert_eq!(shingles(&["a", "bc", "d"], "words:2", " "), ["a bc", "bc d"]);
        assert_eq!(shingles(&["a", "bc", "d"], "words:1", " "), ["a", "bc", "d"]);
    }

    #[test]
    fn shingles_of_characters_run_across_words() {
        assert_eq!(shingles(&["ab", "中c"], "chars:3", ""), ["ab中", "b中c"]);
        assert_eq!(shingles(&["ab", "中"], "chars:3", " "), ["ab ", "b 中"]);
    }

    #[test]
    fn short_texts_give_one_shingle_and_empty_ones_none() {
        assert_eq!(shingles(&["a", "b"], "words:3", " "), ["a b"]);
        assert_eq!(shingles(&["ab"], "chars:2", " "), ["ab"]);
        assert_eq!(shingles(&["ab"], "chars:4", " "), ["ab"]);
        assert_eq!(shingles(&[], "words:3", " "), [""; 0]);
        assert_eq!(shingles(&[], "chars:3", " "), [""; 0]);
    }

    #[test]
    fn widths_out_of_range_are_refused() {
        for wrong in ["words:0", "words:65", "words", "chars:-1", "lines:2", "words:", "words:2 "] {
            assert!(wrong.parse::<Shingle>().is_err(), "{wrong:?}");
        }
        assert_eq!("chars:64".parse::<Shingle>().unwrap().to_string(), "chars:64");
    }
}
