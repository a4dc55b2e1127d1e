//! Dictionaries of inverse document frequencies, in the format of jieba: `word idf` on each line.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;
use std::str::FromStr;

use crate::hash::content_digest;
use crate::word_lists::{ListDigest, ListError};

/// The greatest weight of a word: no sum of weights, of a dictionary or a text, is infinite. Logarithms of counts are
/// far below.
const MAX_WEIGHT: f64 = 1e100;

/// The weight of a word that is not in a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unknown {
    /// `median`: the weight of the middle word, of two the greater (Python's jieba).
    Median,
    /// `mean`: the average weight (cppjieba, and so yanyiwu's library).
    Mean,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Median => "median",
            Self::Mean => "mean",
        })
    }
}

impl FromStr for Unknown {
    type Err = crate::RecipeError;

    fn from_str(text: &str) -> Result<Self, crate::RecipeError> {
        match text {
            "median" => Ok(Self::Median),
            "mean" => Ok(Self::Mean),
            _ => Err(crate::RecipeError::value("weight", text, &["idf:DIGEST:median", "idf:DIGEST:mean"])),
        }
    }
}

/// Inverse document frequencies of words.
///
/// ```
/// use hamdex_simhash::word_lists::{IdfDictionary, Unknown};
///
/// let dictionary = IdfDictionary::read("the 0.1\nfox 5\nlazy dog 9.5\n".as_bytes())?;
/// assert_eq!(dictionary.idf("lazy dog", Unknown::Median), 9.5);
/// assert_eq!(dictionary.idf("hen", Unknown::Median), 5.0);
/// # Ok::<(), hamdex_simhash::word_lists::ListError>(())
/// ```
#[derive(Debug, Clone)]
pub struct IdfDictionary {
    words: HashMap<Box<str>, f64>,
    median: f64,
    mean: f64,
    digest: ListDigest,
}

impl IdfDictionary {
    /// Reads `word idf` lines; the word is everything before the last space. If a word occurs twice, the
    /// last line counts. Empty lines are skipped.
    ///
    /// # Errors
    /// When reading fails, a line has another form, an idf is negative or above 1e100, or there is no word.
    pub fn read(input: impl BufRead) -> Result<Self, ListError> {
        let mut words = HashMap::new();
        for (line, text) in (1..).zip(input.lines()) {
            let text = text.map_err(|source| ListError::Read { line, source })?;
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            let entry = text.rsplit_once(' ').and_then(|(word, idf)| Some((word, idf.parse::<f64>().ok()?)));
            match entry {
                Some((word, idf)) if !word.is_empty() && (0.0..=MAX_WEIGHT).contains(&idf) => {
                    words.insert(word.into(), idf);
                }
                _ => return Err(ListError::Entry { line, found: text.to_owned() }),
            }
        }
        Self::from_words(words)
    }

    /// Takes words with weights from 0 to [`MAX_WEIGHT`].
    pub(super) fn from_words(words: HashMap<Box<str>, f64>) -> Result<Self, ListError> {
        if words.is_empty() {
            return Err(ListError::Empty);
        }
        let mut sorted: Vec<(&str, f64)> = words.iter().map(|(word, &idf)| (&**word, idf)).collect();
        sorted.sort_unstable_by_key(|&(word, _)| word);
        let lines: Vec<[u8; 8]> = sorted.iter().map(|(_, idf)| idf.to_bits().to_le_bytes()).collect();
        let digest = content_digest(
            sorted.iter().zip(&lines).flat_map(|((word, _), idf)| [word.as_bytes(), idf.as_slice()]),
        );
        // Summed in byte order: the mean must not depend on the order of a hash map.
        let mean = sorted.iter().map(|(_, idf)| idf).sum::<f64>() / sorted.len() as f64;
        sorted.sort_unstable_by(|(_, a), (_, b)| a.total_cmp(b));
        let median = sorted[sorted.len() / 2].1;
        Ok(Self { median, mean, digest: ListDigest(digest), words })
    }

    /// Returns the weight of `word`.
    #[must_use]
    pub fn idf(&self, word: &str, unknown: Unknown) -> f64 {
        self.words.get(word).copied().unwrap_or(match unknown {
            Unknown::Median => self.median,
            Unknown::Mean => self.mean,
        })
    }

    /// Returns the digest that pins this dictionary in a recipe.
    #[must_use]
    pub fn digest(&self) -> ListDigest {
        self.digest
    }

    /// Returns the number of words.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words.len()
    }
}

/// Writes the format that [`IdfDictionary::read`] reads, words in byte order, so equal dictionaries are equal
/// files.
impl fmt::Display for IdfDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<_> = self.words.iter().collect();
        sorted.sort_unstable_by_key(|&(word, _)| word);
        sorted.into_iter().try_for_each(|(word, idf)| writeln!(f, "{word} {idf}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IdfDictionary, ListError> {
        IdfDictionary::read(text.as_bytes())
    }

    #[test]
    fn unknown_words_weigh_as_the_upper_median_or_the_mean() {
        let dictionary = read("a 1\nb 2\nc 4\nd 9\n").unwrap();
        assert_eq!(dictionary.idf("x", Unknown::Median), 4.0);
        assert_eq!(dictionary.idf("x", Unknown::Mean), 4.0);
        assert_eq!(read("a 1\nb 2\nc 9").unwrap().idf("x", Unknown::Median), 2.0);
        assert_eq!(read("a 1\nb 2\nc 9").unwrap().idf("x", Unknown::Mean), 4.0);
    }

    #[test]
    fn the_digest_is_of_the_content() {
        let digest = |text: &str| read(text).unwrap().digest();
        assert_eq!(digest("a 1\nb 2\n"), digest("b 2.0\r\n\r\na 1e0"));
        assert_ne!(digest("a 1\nb 2\n"), digest("a 1\nb 3\n"));
        assert_ne!(digest("a 1\n"), digest("b 1\n"));
        assert_eq!(digest("a 1\na 2\n"), digest("a 2\n"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dictionary = read("two words 0.1\nb 11.9547675029\n中 3.3333333333333335").unwrap();
        let again = read(&dictionary.to_string()).unwrap();
        assert_eq!(again.digest(), dictionary.digest());
        assert_eq!(again.words(), 3);
    }

    #[test]
    fn sums_of_the_greatest_weights_are_finite() {
        let dictionary = read("a 1e100\nb 1e100\n").unwrap();
        assert!((dictionary.idf("x", Unknown::Mean) / 1e100 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn malformed_lines_are_named() {
        for wrong in
            ["a 1\nword", "a 1\nb x", "a 1\nb NaN", "a 1\nb -1", "a 1\nb inf", "a 1\nb 1.1e100", "a 1\n 5"]
        {
            assert!(matches!(read(wrong), Err(ListError::Entry { line: 2, .. })), "{wrong:?}");
        }
        assert!(matches!(read("\n"), Err(ListError::Empty)));
        let not_utf8 = IdfDictionary::read(&b"a 1\n\xff 2\n"[..]);
        assert!(matches!(not_utf8, Err(ListError::Read { line: 2, .. })));
    }
}
