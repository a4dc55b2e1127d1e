//! Tokenisers.
//!
//! A tokeniser is a rule that cuts a case-folded text into slices. Some rules use tables that grow from
//! one Unicode version to the next. [`Tokeniser::tables`] names their versions, and a recipe contains
//! this name, so tokens cut by other tables are detected.

mod bigrams;
#[cfg(feature = "jieba")]
mod chinese;
mod mfonda;
mod python;
#[cfg(feature = "jieba")]
mod scripts;
mod trafilatura;
mod words;

use std::fmt;
use std::str::FromStr;

use crate::error::RecipeError;

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
            Self::WordsBigrams => bigrams::parts(text, part),
            _ => words::words(text, &mut |word| part(Part::Both(word))),
        }
    }

    /// Calls `token` with every token of `text`, in order.
    pub(crate) fn split<'t>(self, text: &'t str, token: &mut impl FnMut(&'t str)) {
        match self {
            Self::Words => words::words(text, token),
            Self::WordsBigrams => bigrams::words(text, token),
            Self::PyWords | Self::PyJoined => python::words(text).for_each(token),
            Self::Mfonda => mfonda::words(text).for_each(token),
            Self::Trafilatura => trafilatura::sample(text).into_iter().for_each(token),
            Self::WhiteSpace => python::pieces(text).for_each(token),
            Self::Whole if text.is_empty() => {}
            Self::Whole => token(text),
            Self::Given => {}
            #[cfg(feature = "jieba")]
            Self::WordsJieba => {
                for (script, run) in scripts::runs(text) {
                    match script {
                        scripts::Run::Chinese => chinese::words(run, token),
                        scripts::Run::Other => words::words(run, token),
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
    /// A word that is no token: it is in pairs.
    Word(&'t str),
    /// A token that is no word, or is one that has been a part already.
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
}
