//! Tokenisers.
//!
//! A tokeniser is a rule that cuts a case-folded text into slices. Some rules use tables that grow from
//! one Unicode version to the next. [`Tokeniser::tables`] names their versions, and a recipe contains
//! this name, so tokens cut by other tables are detected.
//!
//! Some rules have Python's notions of a word character, of a letter or digit, and of white space. For `str` patterns
//! `\w` is `isalnum() or '_'`, and `isalnum` is general category L or N. So it
//! includes `²` and excludes combining marks, ZERO WIDTH JOINER and U+203F, unlike the `\w` of UTS 18.

#[cfg(feature = "jieba")]
mod chinese;
mod words;

use std::fmt;
use std::str::FromStr;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::RecipeError;

/// A rule by which a text is cut into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tokeniser {
    /// `words`: the words of Unicode Standard Annex 29 that contain a letter or a digit. Scripts
    /// written without spaces are cut into single characters, which word shingles join again, so this rule
    /// works for any language without a dictionary.
    Words,
    /// `words+bigrams`: as `words`, but in a script without spaces every pair of neighbouring characters
    /// instead of every character: `我们在` becomes `我们`, `们在`.
    WordsBigrams,
    /// `words+jieba`: runs of Han characters are cut by jieba, everything else as by `words`. A run
    /// that touches kana is Japanese and is cut into single characters.
    WordsJieba,
    /// `jieba`: the whole text cut by jieba alone, with its hidden Markov model for unknown words, as
    /// yanyiwu's library does; tokens without a letter or digit are dropped.
    Jieba,
    /// `py-words`: the text between matches of Python's `\W`, as in text-dedup.
    PyWords,
    /// `py-joined`: as `py-words`, but the tokens are joined without a separator, so shingles of characters
    /// span words, as in PyPI simhash.
    PyJoined,
    /// `mfonda`: ASCII words, with apostrophes; a URL's scheme and the rest of it are one word.
    Mfonda,
    /// `trafilatura`: tokens between white space, ASCII punctuation stripped at both ends, letters and
    /// digits only; the long ones, if there are enough of them.
    Trafilatura,
    /// `white-space`: the text between white space, as Python's `str.split` cuts it; punctuation stays.
    WhiteSpace,
    /// `whole`: the whole text is one token, for shingles of characters of the unchanged text.
    Whole,
    /// `given`: none; the features come from the caller.
    Given,
}

impl Tokeniser {
    /// All tokenisers, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 11] = [
        Self::Words,
        Self::WordsBigrams,
        Self::WordsJieba,
        Self::Jieba,
        Self::PyWords,
        Self::PyJoined,
        Self::Mfonda,
        Self::Trafilatura,
        Self::WhiteSpace,
        Self::Whole,
        Self::Given,
    ];

    /// The names that [`FromStr`] accepts.
    pub const NAMES: [&'static str; 11] = [
        "words",
        "words+bigrams",
        "words+jieba",
        "jieba",
        "py-words",
        "py-joined",
        "mfonda",
        "trafilatura",
        "white-space",
        "whole",
        "given",
    ];

    /// Returns the tables that this rule uses, with their versions in this build; `none` for a rule that
    /// never changes.
    ///
    /// ```
    /// use hamdex_simhash::recipe::Tokeniser;
    ///
    /// assert_eq!(Tokeniser::Mfonda.tables(), "none");
    /// assert!(Tokeniser::Words.tables().starts_with("uax29-"));
    /// ```
    #[must_use]
    pub fn tables(self) -> String {
        let segmentation = || version("uax29", unicode_segmentation::UNICODE_VERSION);
        let categories = || version("ucd", unicode_properties::UNICODE_VERSION);
        let scripts = || version("scripts", unicode_script::UNICODE_VERSION);
        match self {
            Self::Words => segmentation(),
            Self::WordsBigrams => format!("{},{}", segmentation(), scripts()),
            Self::WordsJieba => {
                format!("{},{},{JIEBA}", segmentation(), scripts())
            }
            Self::Jieba => format!("{},{JIEBA}", categories()),
            Self::PyWords | Self::PyJoined | Self::Trafilatura => categories(),
            Self::Mfonda | Self::WhiteSpace | Self::Whole | Self::Given => "none".to_owned(),
        }
    }

    /// Returns whether this build has the rule: rules with jieba need the cargo feature `jieba`.
    pub(crate) fn is_available(self) -> bool {
        cfg!(feature = "jieba") || !matches!(self, Self::WordsJieba | Self::Jieba)
    }

    /// Returns the separator between two tokens of a shingle.
    pub(crate) fn separator(self) -> &'static str {
        if self == Self::PyJoined { "" } else { " " }
    }

    /// Calls `part` with the words of `text` and with its tokens, each in order; with words alone unless tokens are
    /// pairs of them.
    pub(crate) fn split_parts<'t>(self, text: &'t str, part: &mut impl FnMut(Part<'t>)) {
        match self {
            Self::WordsBigrams => words::parts(text, part),
            _ => words::words(text, &mut |word| part(Part::Both(word))),
        }
    }

    /// Calls `token` with every token of `text`, in order.
    pub(crate) fn split<'t>(self, text: &'t str, token: &mut impl FnMut(&'t str)) {
        match self {
            Self::Words => words::words(text, token),
            Self::WordsBigrams => words::words_and_bigrams(text, token),
            Self::PyWords | Self::PyJoined => python_words(text).for_each(token),
            Self::Mfonda => mfonda_words(text).for_each(token),
            Self::Trafilatura => trafilatura_sample(text).into_iter().for_each(token),
            Self::WhiteSpace => pieces(text).for_each(token),
            Self::Whole if text.is_empty() => {}
            Self::Whole => token(text),
            Self::Given => {}
            #[cfg(feature = "jieba")]
            Self::WordsJieba => {
                for (script, run) in chinese::runs(text) {
                    match script {
                        chinese::Run::Chinese => chinese::words(run, token),
                        chinese::Run::Other => words::words(run, token),
                    }
                }
            }
            #[cfg(feature = "jieba")]
            Self::Jieba => chinese::words(text, token),
            #[cfg(not(feature = "jieba"))]
            Self::WordsJieba | Self::Jieba => unreachable!("refused when the recipe is checked"),
        }
    }
}

/// A part of a text, for what wants its words as well as its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    /// A word of Unicode Standard Annex 29 that is a token.
    Both(&'t str),
    /// A word that is not a token: it is in pairs.
    Word(&'t str),
    /// A token that is not a word, or is one that has been a part already.
    Pair(&'t str),
}

/// Changes with the exact version in Cargo.toml, since the next jieba-rs may cut differently.
const JIEBA: &str = "jieba-rs-0.11.0";

fn version(tables: &str, (major, minor, patch): (u64, u64, u64)) -> String {
    format!("{tables}-{major}.{minor}.{patch}")
}

impl fmt::Display for Tokeniser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let index = Self::ALL.iter().position(|each| each == self).expect("all tokenisers are listed");
        f.write_str(Self::NAMES[index])
    }
}

impl FromStr for Tokeniser {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let index = Self::NAMES.iter().position(|&name| name == text);
        index.map(|index| Self::ALL[index]).ok_or_else(|| RecipeError::value("tokens", text, &Self::NAMES))
    }
}

#[cfg(test)]
pub(crate) fn tokens(tokeniser: Tokeniser, text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    tokeniser.split(text, &mut |token| all.push(token));
    all
}

/// `str.isalnum` of one character.
fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// Any punctuation: general category P.
fn is_punctuation(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// `str.isspace` of one character: the White_Space of Unicode, and four ASCII separators.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The longest runs of `\w`.
fn python_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !(is_alphanumeric(c) || c == '_')).filter(|word| !word.is_empty())
}

/// The pieces between white space: `str.split`.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|piece| !piece.is_empty())
}

/// The words of mfonda/simhash: all matches, from left to right, of `[\w']+(?:\://[\w\./]+){0,1}` with the `\w` of ASCII.
fn mfonda_words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(is_word)?;
        let word = &rest[start..];
        let mut end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        if let Some(address) = word[end..].strip_prefix("://") {
            let length = address.find(|c| !is_address(c)).unwrap_or(address.len());
            // The pattern requires at least one character there; without it the scheme alone is a word.
            if length > 0 {
                end += "://".len() + length;
            }
        }
        let (matched, after) = word.split_at(end);
        rest = after;
        Some(matched)
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

fn is_address(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/')
}

/// The number of tokens (half the fingerprint's width) that must be left for a least length to be used.
const TRAFILATURA_ENOUGH: usize = 32;

/// Returns the tokens between white space, stripped of ASCII punctuation, that consist of letters and digits; without
/// any (in languages with other punctuation), the text is cut at punctuation too. Keeps tokens longer than 4
/// characters, or 3, 2, 1, whichever first leaves at least 32; otherwise all.
fn trafilatura_sample(text: &str) -> Vec<&str> {
    let plain = |token: &&str| !token.is_empty() && token.chars().all(is_alphanumeric);
    let mut tokens: Vec<&str> = text
        .split(is_space)
        .map(|token| token.trim_matches(|c: char| c.is_ascii_punctuation()))
        .filter(plain)
        .collect();
    if tokens.is_empty() {
        tokens = text.split(|c| is_space(c) || is_punctuation(c)).filter(plain).collect();
    }

    let longer_than = |token: &str, least: usize| token.chars().nth(least).is_some();
    for least in (1..=4).rev() {
        if tokens.iter().filter(|token| longer_than(token, least)).count() >= TRAFILATURA_ENOUGH {
            tokens.retain(|token| longer_than(token, least));
            break;
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_apostrophes_and_numbers_whole() {
        assert_eq!(
            tokens(Tokeniser::Words, "Don't pay $3.14, naïve\nuser_1!"),
            ["Don't", "pay", "3.14", "naïve", "user_1"]
        );
    }

    #[test]
    fn scripts_without_spaces_come_apart_into_characters() {
        assert_eq!(tokens(Tokeniser::Words, "我们 ok"), ["我", "们", "ok"]);
        assert_eq!(tokens(Tokeniser::Words, "ภาษา").concat(), "ภาษา");
    }

    #[test]
    fn white_space_alone_separates() {
        assert_eq!(tokens(Tokeniser::WhiteSpace, " a,\tb.c \u{3000}d\u{1c}e\n"), ["a,", "b.c", "d", "e"]);
        assert_eq!(tokens(Tokeniser::WhiteSpace, " "), [""; 0]);
    }

    #[test]
    fn every_name_is_read_back() {
        for tokeniser in Tokeniser::ALL {
            assert_eq!(tokeniser.to_string().parse(), Ok(tokeniser));
        }
        assert!("Words".parse::<Tokeniser>().is_err());
    }

    #[test]
    fn the_word_class_is_that_of_python() {
        for inside in ['a', 'Z', '0', '²', '½', 'Ⅷ', '五', 'ª', 'ﬁ', 'ё', '٣', 'ー', '々'] {
            assert!(is_alphanumeric(inside), "{inside:?}");
        }
        for outside in
            ['_', '\u{301}', '\u{93e}', '\u{200d}', '\u{203f}', '‿', '—', '。', '€', 'Ⓐ', '\u{e000}']
        {
            assert!(!is_alphanumeric(outside), "{outside:?}");
        }
    }

    #[test]
    fn the_space_class_is_that_of_python() {
        let spaces = (0..=0x10_ffff).filter_map(char::from_u32).filter(|&c| is_space(c)).count();
        assert_eq!(spaces, 29);
        assert!(is_space('\u{1c}') && is_space('\u{85}') && is_space('\u{3000}'));
        assert!(!is_space('\u{200b}') && !is_space('\u{feff}'));
    }

    #[test]
    fn combining_marks_end_a_word() {
        assert_eq!(python_words("i\u{307}stanbul x_y—z²").collect::<Vec<_>>(), ["i", "stanbul", "x_y", "z²"]);
    }

    fn all(text: &str) -> Vec<&str> {
        mfonda_words(text).collect()
    }

    #[test]
    fn words_and_addresses_are_matched() {
        assert_eq!(all("it's http://a.org/x_y?q=1 ok"), ["it's", "http://a.org/x_y", "q", "1", "ok"]);
        assert_eq!(all("x:// y:/z a://b://c"), ["x", "y", "z", "a://b", "c"]);
        assert_eq!(all("https://it's"), ["https://it", "'s"]);
    }

    #[test]
    fn letters_beyond_ascii_separate() {
        assert_eq!(all("naïve 中文"), ["na", "ve"]);
        assert_eq!(all(""), [""; 0]);
    }

    #[test]
    fn punctuation_is_stripped_at_the_ends_only() {
        assert_eq!(trafilatura_sample("(Hello), wor-ld! a.b 42."), ["Hello", "42"]);
    }

    #[test]
    fn chinese_punctuation_cuts_where_nothing_else_is_found() {
        assert_eq!(trafilatura_sample("这是一个测试。我们在测试中文。"), ["这是一个测试", "我们在测试中文"]);
        assert_eq!(trafilatura_sample("测试。 ok"), ["ok"]);
    }

    #[test]
    fn the_length_limit_relaxes_until_enough_are_left() {
        let long = "abcde ".repeat(32);
        assert_eq!(trafilatura_sample(&format!("{long} abcd abc")).len(), 32);
        let fewer = "abcde ".repeat(31);
        assert_eq!(trafilatura_sample(&format!("{fewer} abcd abc")).len(), 32);
        assert_eq!(trafilatura_sample(&format!("{fewer} abc a")).len(), 32);
        assert_eq!(trafilatura_sample("abcde a").len(), 2);
    }
}
