//! Word lists that a recipe may use: stop words, and dictionaries of inverse document frequencies in the format of
//! jieba: `word idf` on each line.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io::{self, BufRead};

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};

pub use crate::idf_builder::IdfBuilder;

use crate::case::Case;

/// The digest of a word list: BLAKE2b of 16 bytes over its entries in byte order, so neither the order of
/// the file's lines nor its line ends matter. As text: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListDigest(u128);

impl fmt::Display for ListDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl ListDigest {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // One spelling only, so that equal recipes have equal texts.
        let plain = text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if plain { u128::from_str_radix(text, 16).ok().map(Self) } else { None }
    }
}

/// The digest that pins a word list in a recipe: BLAKE2b of 16 bytes over its canonical lines.
fn content_digest<'a>(lines: impl Iterator<Item = &'a [u8]>) -> u128 {
    let mut state = Blake2b::<U16>::new();
    for line in lines {
        state.update((line.len() as u64).to_le_bytes());
        state.update(line);
    }
    u128::from_be_bytes(state.finalize().into())
}

/// An error of reading a word list.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The file cannot be read, or is not UTF-8.
    #[error("line {line}: cannot read it")]
    Read {
        /// The line, counted from 1.
        line: usize,
        /// The cause.
        source: io::Error,
    },
    /// A line of a dictionary is not a word and a weight.
    #[error("line {line}: expected a word, a space and a number from 0 to 1e100, found {found:?}")]
    Entry {
        /// The line, counted from 1.
        line: usize,
        /// The line's text.
        found: String,
    },
    /// The dictionary has no words, and so no median.
    #[error("the dictionary has no words")]
    Empty,
}

/// A list of tokens to drop. They are compared with tokens after case folding: as they are, or folded likewise if the
/// recipe has [`Case::Caseless`].
///
/// ```
/// use hamdex_simhash::word_lists::StopWords;
///
/// let list = StopWords::read("the\nof\n".as_bytes())?;
/// assert!(list.contains("of") && !list.contains("Of"));
/// # Ok::<(), hamdex_simhash::word_lists::ListError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StopWords {
    words: HashSet<Box<str>>,
    digest: ListDigest,
}

impl StopWords {
    /// Reads one word per line; white space around it and empty lines are skipped.
    ///
    /// # Errors
    /// When reading fails, or a line is not UTF-8.
    pub fn read(input: impl BufRead) -> Result<Self, ListError> {
        let mut sorted: BTreeSet<Box<str>> = BTreeSet::new();
        for (line, text) in (1..).zip(input.lines()) {
            let text = text.map_err(|source| ListError::Read { line, source })?;
            if !text.trim().is_empty() {
                sorted.insert(Box::from(text.trim()));
            }
        }
        let digest = ListDigest(content_digest(sorted.iter().map(|word| word.as_bytes())));
        Ok(Self { words: sorted.into_iter().collect(), digest })
    }

    /// Returns whether `token` is on the list.
    #[must_use]
    pub fn contains(&self, token: &str) -> bool {
        self.words.contains(token)
    }

    /// Returns the list with its words folded, under the digest of this one.
    pub(crate) fn folded(&self, case: Case) -> Self {
        let mut buffer = String::new();
        let words = self.words.iter().map(|word| Box::from(case.fold(word, &mut buffer))).collect();
        Self { words, digest: self.digest }
    }

    /// Returns the digest that pins this list in a recipe.
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

named_values!(Unknown, "weight", { Median: "median", Mean: "mean" }, known: ["idf:DIGEST:median", "idf:DIGEST:mean"]);

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
    pub(crate) fn from_words(words: HashMap<Box<str>, f64>) -> Result<Self, ListError> {
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

    #[test]
    fn the_digest_is_of_the_set() {
        let digest = |text: &str| StopWords::read(text.as_bytes()).unwrap().digest();
        assert_eq!(digest("a\nb\n"), digest(" b\r\n\na\nb"));
        assert_ne!(digest("a\nb\n"), digest("a\n"));
        assert_ne!(digest("ab\n"), digest("a\nb\n"));
        assert_eq!(StopWords::read(&b""[..]).unwrap().words(), 0);
    }

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

    #[test]
    fn text_is_read_back_in_one_spelling() {
        let digest = ListDigest(0xab);
        assert_eq!(ListDigest::parse(&digest.to_string()), Some(digest));
        for wrong in ["", "ab", "000000000000000000000000000000AB", "+00000000000000000000000000000ab"] {
            assert_eq!(ListDigest::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn lengths_are_part_of_the_digest() {
        let digest = |lines: &[&'static str]| content_digest(lines.iter().map(|line| line.as_bytes()));
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]), digest(&["ab", "c"]));
    }
}
