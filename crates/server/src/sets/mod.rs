//! The sets of the service, and the changes of a store.
//!
//! - [`served`]: one set under its name
//! - [`source`]: the trait of all ways to hold a set: [`written`], a store that the service writes; [`reading`], a store
//!   that is open for reading; [`fixed`], an index file or shards, which others replace or overwrite. A store that
//!   cannot be opened is in [`served`]
//! - [`watch`]: whether files were replaced or overwritten
//! - [`own_stores`]: the names of sets, and the stores that the service has made
//! - [`registry`]: all sets by name, and from a path to a set
//! - [`making`]: stores that are made and deleted; sets that others put into the directory, or take out
//!
//! This file has what they share: their fingerprints and shingles of texts, and how a store is changed.

mod fixed;
mod making;
mod own_stores;
mod reading;
mod registry;
mod served;
mod source;
mod watch;
mod written;

use std::num::NonZeroUsize;
use std::time::Instant;

use hamdex::set::Description;
use hamdex::{Fingerprint, RECIPE_KEY, chain, shingles};
use hamdex_simhash::{Fingerprinter, Outcome, Recipe, Scratch, Shingler};
use hamdex_store::{Error, Store};

pub(crate) use own_stores::check_name;
pub(crate) use registry::Sets;
pub(crate) use served::{IdKind, Served};
pub(crate) use source::{Key, Part};

use crate::problem::Problem;

/// The width of the fingerprints of a set, and the distance for which it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) width: u32,
    pub(crate) distance: u32,
}

impl Extent {
    fn of(description: &Description) -> Self {
        Self { width: description.width, distance: description.distance }
    }
}

/// Calls `write` with a handle that gives up at the deadline. A store that refuses writes since an earlier one failed
/// is read from the disk again, as after a crash, and the write is made once more.
///
/// # Errors
/// That of the write.
pub(crate) fn write<F: Fingerprint, T>(
    store: &Store<F>,
    deadline: Instant,
    write: impl Fn(&Store<F>) -> Result<T, Error>,
) -> Result<T, Problem> {
    let store = store.with_deadline(deadline);
    match write(&store) {
        Err(Error::Poisoned { path, .. }) => {
            tracing::warn!(path = %path.display(), "an earlier write failed: the store is read from the disk again");
            store.reopen()?;
            Ok(write(&store)?)
        }
        outcome => Ok(outcome?),
    }
}

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
