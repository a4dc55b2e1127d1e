//! Texts: their fingerprints by the recipe of a set, and in a set with shingles these.

use std::num::NonZeroUsize;

use hamdex::set::Description;
use hamdex::{Fingerprint, RECIPE_KEY, shingles};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Shingler};

use crate::failure::chain;
use crate::problem::Problem;

/// Turns the texts of a set into fingerprints and shingles.
pub(crate) struct Texts<F> {
    pub(crate) fingerprinter: Fingerprinter<F>,
    min_features: usize,
    /// The words per shingle, in a set with shingles.
    pub(crate) words: Option<NonZeroUsize>,
}

/// The text of the recipe of a set, if it has one.
pub(crate) fn recipe_of(description: &Description) -> Option<String> {
    description.metadata.get(RECIPE_KEY).map(|recipe| String::from_utf8_lossy(recipe).into_owned())
}

impl<F: Fingerprint> Texts<F> {
    /// # Errors
    /// When the set has no recipe, or one that needs more than the set holds; when its shingles are made in another
    /// way.
    pub(crate) fn of(description: &Description) -> Result<Self, Problem> {
        let Some(recipe) = recipe_of(description) else {
            let detail =
                "the set has no recipe, which turns texts into fingerprints; send fingerprints instead";
            return Err(Problem::unprocessable("no_recipe", detail));
        };
        let unsupported =
            |error: hamdex_simhash::RecipeError| Problem::unprocessable("no_recipe", chain(&error));
        let recipe: Recipe = recipe.parse().map_err(unsupported)?;
        let words = if description.has_shingles {
            let definition = description.metadata.get(shingles::KEY).map(Vec::as_slice).unwrap_or_default();
            let words = str::from_utf8(definition).ok().and_then(Shingler::words_of);
            Some(words.ok_or_else(|| {
                let detail = format!(
                    "the shingles of the set are made as {:?}, which this version does not do",
                    String::from_utf8_lossy(definition)
                );
                Problem::unprocessable("no_shingles", detail)
            })?)
        } else {
            None
        };
        Ok(Self {
            fingerprinter: Fingerprinter::new(&recipe).map_err(unsupported)?,
            min_features: recipe.min_features.max(1),
            words,
        })
    }

    /// Returns a reader of texts, one after the other.
    pub(crate) fn reader(self) -> TextReader<F> {
        TextReader { shingler: self.words.map(Shingler::new), scratch: Scratch::default(), texts: self }
    }

    /// Returns the fingerprints of texts.
    ///
    /// # Errors
    /// When a text is too short.
    pub(crate) fn fingerprints(&self, texts: &[impl AsRef<str>]) -> Result<Vec<F>, Problem> {
        let mut scratch = Scratch::default();
        let of_text =
            |(number, text): (usize, &_)| self.fingerprint(AsRef::as_ref(text), number, &mut scratch);
        texts.iter().enumerate().map(of_text).collect()
    }

    /// Returns the fingerprint of a text, the record `number` of the request.
    fn fingerprint(&self, text: &str, number: usize, scratch: &mut Scratch<F>) -> Result<F, Problem> {
        match self.fingerprinter.fingerprint(text, scratch) {
            Outcome::Fingerprint(fingerprint) => Ok(fingerprint),
            Outcome::TooShort { features, .. } => Err(Problem::bad_record(
                number,
                format!(
                    "the text is too short for a reliable fingerprint: {features} features, {} are needed",
                    self.min_features
                ),
            )),
        }
    }
}

/// Reads texts one after the other.
pub(crate) struct TextReader<F> {
    texts: Texts<F>,
    scratch: Scratch<F>,
    /// In a set with shingles.
    shingler: Option<Shingler>,
}

impl<F: Fingerprint> TextReader<F> {
    /// Returns the fingerprint of a text, the record `number` of the request, and in a set with shingles its shingles.
    /// Short texts have them, too: their shingles are compared, not their fingerprints.
    ///
    /// # Errors
    /// When the text is too short, or in a set with shingles blank.
    pub(crate) fn read(&mut self, text: &str, number: usize) -> Result<(F, Option<Vec<u64>>), Problem> {
        let Self { texts, scratch, shingler } = self;
        let Some(shingler) = shingler else {
            return Ok((texts.fingerprint(text, number, scratch)?, None));
        };
        let (outcome, shingles) = texts.fingerprinter.fingerprint_and_shingles(text, scratch, shingler);
        let fingerprint = outcome.value_of_text(&shingles);
        let fingerprint = fingerprint.ok_or_else(|| Problem::bad_record(number, "the text is blank"))?;
        Ok((fingerprint, Some(shingles.hashes().to_vec())))
    }
}
