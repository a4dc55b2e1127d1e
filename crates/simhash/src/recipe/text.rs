//! A recipe's text form.

use std::fmt;
use std::str::FromStr;

use crate::RecipeError;
use crate::recipe::Recipe;
use crate::word_lists::ListDigest;

impl Recipe {
    /// The start of the full text form; its number changes when equal texts would mean other bits.
    pub const FORM: &'static str = "hamdex-simhash/1";

    /// The keys, in the order in which they are written.
    pub const KEYS: [&'static str; 15] = [
        "width",
        "case",
        "tokens",
        "tables",
        "min-chars",
        "stop",
        "stem",
        "min-tokens",
        "shingle",
        "weight",
        "top",
        "hash",
        "tie",
        "empty",
        "min-features",
    ];

    /// Returns whether the full form may leave a key out: the first recipes lacked it, and their texts stay.
    fn is_optional(key: &str) -> bool {
        key == "stem"
    }

    fn get(&self, key: &str) -> String {
        match key {
            "width" => self.width.to_string(),
            "case" => self.case.to_string(),
            "tokens" => self.tokens.to_string(),
            "tables" => self.tables(),
            "min-chars" => self.min_chars.to_string(),
            "stop" => self.stop.map_or("none".to_owned(), |digest| digest.to_string()),
            "stem" => self.stem.map_or("none".to_owned(), |language| language.to_string()),
            "min-tokens" => self.min_tokens.to_string(),
            "shingle" => self.shingle.to_string(),
            "weight" => self.weight.to_string(),
            "top" => self.top.to_string(),
            "hash" => self.hash.to_string(),
            "tie" => self.tie.to_string(),
            "empty" => self.empty.to_string(),
            "min-features" => self.min_features.to_string(),
            _ => unreachable!("the list has all keys"),
        }
    }

    /// Sets the choice of `key`; `tables` is not a choice and is compared by the caller.
    fn set(&mut self, key: &'static str, value: &str) -> Result<(), RecipeError> {
        let number = || value.parse().map_err(|_| RecipeError::value(key, value, &["a number"]));
        match key {
            "width" => self.width = value.parse()?,
            "case" => self.case = value.parse()?,
            "tokens" => self.tokens = value.parse()?,
            "min-chars" => self.min_chars = number()?,
            "stop" if value == "none" => self.stop = None,
            "stop" => {
                let known = ["none", "a digest (32 hexadecimal digits)"];
                let digest =
                    ListDigest::parse(value).ok_or_else(|| RecipeError::value(key, value, &known))?;
                self.stop = Some(digest);
            }
            "stem" if value == "none" => self.stem = None,
            "stem" => self.stem = Some(value.parse()?),
            "min-tokens" => self.min_tokens = number()?,
            "shingle" => self.shingle = value.parse()?,
            "weight" => self.weight = value.parse()?,
            "top" => self.top = value.parse()?,
            "hash" => self.hash = value.parse()?,
            "tie" => self.tie = value.parse()?,
            "empty" => self.empty = value.parse()?,
            "min-features" => self.min_features = number()?,
            _ => {}
        }
        Ok(())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::FORM)?;
        let written = Self::KEYS.iter().map(|key| (key, self.get(key)));
        written
            .filter(|(key, value)| !(Self::is_optional(key) && value == "none"))
            .try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl FromStr for Recipe {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let mut words = text.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let full = first == Self::FORM;
        let mut recipe = match Self::named(if full { "default" } else { first }) {
            Some(recipe) => recipe,
            None if first.starts_with("hamdex-simhash/") => {
                let known = Self::FORM;
                return Err(RecipeError(format!("recipe of form {first:?}; this build reads {known}")));
            }
            None => {
                let known = Self::NAMES.join(", ");
                return Err(RecipeError(format!("no recipe is named {first:?}; there are: {known}")));
            }
        };

        let mut seen = [false; Self::KEYS.len()];
        let mut tables = None;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let index = Self::KEYS.iter().position(|&known| known == key);
            let index = index.ok_or_else(|| {
                RecipeError(format!("recipe has no key {key:?}; there are: {}", Self::KEYS.join(", ")))
            })?;
            let key = Self::KEYS[index];
            if std::mem::replace(&mut seen[index], true) {
                return Err(RecipeError(format!("recipe names {key} twice")));
            }
            recipe.set(key, value)?;
            if key == "tables" {
                tables = Some(value.to_owned());
            }
        }

        let missing = (0..seen.len()).filter(|&i| !seen[i]).map(|i| Self::KEYS[i]);
        let missing: Vec<&str> = missing.filter(|key| !Self::is_optional(key)).collect();
        if full && !missing.is_empty() {
            return Err(RecipeError(format!("recipe lacks {}", missing.join(", "))));
        }
        let have = recipe.tables();
        if let Some(wanted) = tables.filter(|wanted| *wanted != have) {
            return Err(RecipeError(format!(
                "this build has the tables {have}, the recipe needs {wanted}: \
                 make the fingerprints again with this build, or query with the build that made them"
            )));
        }
        recipe.check()?;
        Ok(recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Top, Width};

    fn error(text: &str) -> String {
        text.parse::<Recipe>().expect_err(text).to_string()
    }

    #[test]
    fn every_named_recipe_is_read_back() {
        for name in Recipe::NAMES {
            let recipe: Recipe = name.parse().unwrap();
            assert_eq!(recipe.to_string().parse(), Ok(recipe.clone()), "{name}");
            assert!(recipe.to_string().starts_with("hamdex-simhash/1 width=64 "), "{name}");
        }
    }

    #[test]
    fn every_choice_is_read_back() {
        let digest = "0123456789abcdef0123456789abcdef";
        for choice in [
            "width=128",
            "case=lower",
            "tokens=py-joined",
            "min-chars=2",
            &format!("stop={digest}"),
            "stem=english",
            "tokens=white-space",
            "case=caseless",
            "hash=times33:0",
            "min-tokens=5",
            "shingle=chars:9",
            "weight=once",
            "weight=log",
            &format!("weight=idf:{digest}:median"),
            &format!("weight=idf:{digest}:mean"),
            "top=12",
            "hash=murmur3:3",
            "tie=1",
            "empty=feature",
            "min-features=9",
        ] {
            let recipe: Recipe = format!("seomoz {choice}").parse().unwrap();
            assert!(recipe.to_string().contains(&format!(" {choice}")), "{recipe}");
            assert_ne!(recipe, "seomoz".parse().unwrap(), "{choice}");
            assert_eq!(recipe.to_string().parse(), Ok(recipe));
        }
    }

    #[test]
    fn texts_of_the_first_recipes_are_read_and_written_as_they_were() {
        let first = "hamdex-simhash/1 width=64 case=simple tokens=words+bigrams tables=uax29-17.0.0,scripts-18.0.0 \
                     min-chars=0 stop=none min-tokens=0 shingle=words:1 weight=log top=all hash=xxh3:0 tie=0 \
                     empty=none min-features=16";
        let recipe: Recipe = first.parse().unwrap();
        assert_eq!(recipe.to_string(), first);
        assert_eq!((recipe.name(), recipe.is_superseded()), (Some("default-1"), true));
    }

    #[test]
    fn names_are_those_of_any_width() {
        for name in Recipe::NAMES {
            assert_eq!(Recipe::named(name).unwrap().name(), Some(name));
        }
        let wide: Recipe = "default width=128".parse().unwrap();
        assert_eq!((wide.name(), wide.is_superseded()), (Some("default"), false));
        let other: Recipe = "default-1 weight=once".parse().unwrap();
        assert_eq!((other.name(), other.is_superseded()), (None, true));
        assert!(!Recipe::named("mfonda").unwrap().is_superseded());
    }

    #[test]
    fn the_tables_of_all_parts_are_pinned() {
        let tables = |text: &str| text.parse::<Recipe>().unwrap().tables();
        assert_eq!(tables("mfonda"), "none");
        assert_eq!(tables("default-1 stem=english"), "uax29-17.0.0,scripts-18.0.0,rust-stemmers-1.2.0");
        assert_eq!(tables("mfonda case=caseless"), "nfkc-18.0.0,unicase-2.10.0");
        assert!(
            error("default tables=uax29-17.0.0,scripts-18.0.0").starts_with("this build has the tables ")
        );
    }

    #[test]
    fn a_name_can_be_varied() {
        let recipe: Recipe = "default  top=64\twidth=128".parse().unwrap();
        let top = Top::Heaviest(64.try_into().unwrap());
        assert_eq!(recipe, Recipe { width: Width::Bits128, top, ..Recipe::default() });
    }

    #[test]
    fn errors_list_the_known_values() {
        assert!(error("").contains("trafilatura"));
        assert!(error("defualt").contains("default"));
        assert!(error("default shingel=words:2").contains("min-features"));
        assert!(error("default tie").contains("0, 1"));
        assert!(error("default tokens=word").contains("words+jieba"));
        assert!(error("default hash=md5").contains("md5-tail"));
        assert!(error("default weight=idf").contains("median"));
    }

    #[test]
    fn contradictions_are_refused() {
        for (text, start) in [
            ("default tie=0 tie=0", "recipe names tie twice"),
            (
                "hamdex-simhash/2 width=64",
                "recipe of form \"hamdex-simhash/2\"; this build reads hamdex-simhash/1",
            ),
            ("hamdex-simhash/1 width=64", "recipe lacks case, tokens, tables"),
            ("default tables=uax29-1.0.0", "this build has the tables uax29-17.0.0"),
            ("default tokens=mfonda tables=uax29-1.0.0", "this build has the tables "),
            ("mfonda width=128", "hash=fnv1 has no form of 128 bits"),
            ("default min-tokens=-1", "min-tokens=\"-1\" is not one of: a number"),
            ("default top=0", "top=\"0\" is not one of: all"),
        ] {
            assert!(error(text).starts_with(start), "{}", error(text));
        }
    }

    #[cfg(not(feature = "jieba"))]
    #[test]
    fn a_tokeniser_left_out_of_the_build_is_refused() {
        assert!(error("default tokens=jieba").starts_with("tokens=jieba needs the cargo feature"));
    }
}
