//! Stemming: words of one stem as one token.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rust_stemmers::{Algorithm, Stemmer};

use crate::RecipeError;

/// The language by whose rules tokens are cut to their stems, so that `page`, `pages` and `paged` are one (the
/// algorithms of the Snowball project). They expect words in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stem(Algorithm);

/// The languages, by name.
const LANGUAGES: [(&str, Algorithm); 18] = [
    ("arabic", Algorithm::Arabic),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("greek", Algorithm::Greek),
    ("hungarian", Algorithm::Hungarian),
    ("italian", Algorithm::Italian),
    ("norwegian", Algorithm::Norwegian),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("russian", Algorithm::Russian),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("tamil", Algorithm::Tamil),
    ("turkish", Algorithm::Turkish),
];

impl Stem {
    /// The names of the languages that [`FromStr`] accepts.
    pub const NAMES: [&'static str; LANGUAGES.len()] = {
        let mut names = [""; LANGUAGES.len()];
        let mut place = 0;
        while place < names.len() {
            names[place] = LANGUAGES[place].0;
            place += 1;
        }
        names
    };

    /// The version of the rules, for recipes; it changes with the exact version in Cargo.toml.
    pub(crate) const TABLES: &'static str = "rust-stemmers-1.2.0";

    /// Returns the stem of a token.
    ///
    /// ```
    /// use hamdex_simhash::recipe::Stem;
    ///
    /// let english: Stem = "english".parse()?;
    /// assert_eq!(english.of("duplicates"), english.of("duplicated"));
    /// # Ok::<(), hamdex_simhash::RecipeError>(())
    /// ```
    #[must_use]
    pub fn of(self, token: &str) -> Cow<'_, str> {
        Stemmer::create(self.0).stem(token)
    }

    fn name(self) -> &'static str {
        let language = LANGUAGES.iter().find(|(_, language)| *language == self.0);
        language.expect("all languages are listed").0
    }
}

impl std::hash::Hash for Stem {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Stem {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let language = LANGUAGES.iter().find(|(name, _)| *name == text);
        language.map(|&(_, language)| Self(language)).ok_or_else(|| {
            let known: Vec<&str> = ["none"].into_iter().chain(Self::NAMES).collect();
            RecipeError::value("stem", text, &known)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_of_one_stem_are_one() {
        for (language, one, other) in [
            ("english", "fishing", "fished"),
            ("german", "aufeinander", "aufeinander"),
            ("german", "katzen", "katze"),
            ("russian", "книгами", "книга"),
            ("french", "continuellement", "continuelle"),
        ] {
            let stem: Stem = language.parse().unwrap();
            assert_eq!(stem.of(one), stem.of(other), "{one} {other}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for name in Stem::NAMES {
            assert_eq!(name.parse::<Stem>().unwrap().to_string(), name);
        }
        assert!("English".parse::<Stem>().unwrap_err().to_string().contains("english, finnish"));
    }

    proptest! {
        #[test]
        fn any_token_has_a_stem(token in "\\PC{0,12}|[a-zäöüéèçıșțğ']{0,16}|[а-яё]{0,12}|[α-ωάέ]{0,12}|[ء-ي]{0,12}|[அ-ஹா-்]{0,12}") {
            for name in Stem::NAMES {
                let _ = name.parse::<Stem>().unwrap().of(&token);
            }
        }
    }
}
