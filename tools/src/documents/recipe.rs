//! The recipe: from the options of a command, or from an index.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex::chain;
use hamdex_documents::{RECIPE_KEY, stored_recipe};
use hamdex_simhash::recipe::{Weight, Width};
use hamdex_simhash::word_lists::{IdfDictionary, ListError, StopWords, Unknown};
use hamdex_simhash::{Lists, Recipe, RecipeError};

use crate::failure::Failure;
use crate::messages;
use crate::option_values::{Named, named};

/// Options for making fingerprints of texts.
#[derive(Debug, clap::Args)]
#[group(id = "recipe_options")]
pub(crate) struct Options {
    /// The recipe of fingerprints
    ///
    /// A name, a name with changes, or a full text form. Names: default; default-1, its first version; simhash-py (PyPI
    /// simhash 2.1.2); text-dedup-0.4.0 (PyPI) and text-dedup (its main branch); mfonda; trafilatura (PyPI trafilatura
    /// 2.3.1); python2-hash, a copied example; seomoz and yanyiwu, for given features. Changes: "default weight=once",
    /// "default stem=english", "default tokens=white-space hash=times33:5381"
    #[arg(long, value_name = "RECIPE", help_heading = "Fingerprints")]
    pub(crate) recipe: Option<String>,
    /// A dictionary of inverse document frequencies that `hamdex idf` wrote, to weight words by
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    pub(crate) idf: Option<PathBuf>,
    /// The weight of words that the dictionary lacks: that of its median word, or the mean of all [default: median]
    #[arg(long, value_parser = named(UNKNOWN_WORDS), value_name = "WEIGHT", requires = "idf", help_heading = "Fingerprints")]
    unknown_words: Option<Unknown>,
    /// Words to leave out, one per line
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    pub(crate) stop_words: Option<PathBuf>,
}

const UNKNOWN_WORDS: &Named<Unknown> = &[
    ("median", "That of the middle word, as in Python's jieba", Unknown::Median),
    ("mean", "The average, as in cppjieba", Unknown::Mean),
];

impl Options {
    /// Returns whether none of these options is given.
    pub(crate) fn is_default(&self) -> bool {
        self.recipe.is_none() && self.idf.is_none() && self.stop_words.is_none()
    }

    /// Refuses these options where no texts are read, which `texts` asks for.
    pub(crate) fn refuse_without(&self, texts: &str) -> Result<(), Failure> {
        if self.is_default() {
            return Ok(());
        }
        Err(Failure::Usage(format!("--recipe, --idf and --stop-words are for {texts}")))
    }

    /// Returns the files that these options name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.idf.iter().chain(&self.stop_words).map(PathBuf::as_path)
    }

    /// Returns the recipe and its lists.
    pub(crate) fn load(&self, width: Option<u32>) -> Result<(Recipe, Lists), Failure> {
        let lists = self.lists()?;
        let mut recipe = match &self.recipe {
            Some(text) => text.parse().map_err(usage)?,
            None => Recipe::default(),
        };
        let unknown = self.unknown_words;
        if let Some(idf) = &lists.idf {
            match recipe.weight {
                Weight::Idf { unknown: pinned, .. } if unknown.is_some_and(|unknown| unknown != pinned) => {
                    let what = format!("the recipe has weight={}; leave --unknown-words out", recipe.weight);
                    return Err(Failure::Usage(what));
                }
                Weight::Idf { .. } => {}
                _ => recipe = recipe.with_idf(idf, unknown.unwrap_or(Unknown::Median)),
            }
        }
        if let Some(stop) = &lists.stop
            && recipe.stop.is_none()
        {
            recipe = recipe.with_stop_words(stop);
        }
        if let Some(width) = width {
            recipe.width = if width == 128 { Width::Bits128 } else { Width::Bits64 };
        }
        recipe.check().map_err(usage)?;
        Ok((recipe, lists))
    }

    /// Returns the recipe of an index; options that contradict it are an error.
    pub(crate) fn of_index(
        &self,
        index: &Path,
        metadata: &std::collections::BTreeMap<String, Vec<u8>>,
    ) -> Result<(Recipe, Lists), Failure> {
        let complaint = |what: String| Failure::usage_of(index, what);
        let stored = stored_recipe(metadata).map_err(|error| complaint(chain(&error)))?;
        let Some(stored) = stored else {
            return Err(complaint(format!(
                "holds no recipe ({RECIPE_KEY}): it was built from fingerprints, so only fingerprints can be \
                 queried"
            )));
        };
        if let Some(text) = &self.recipe {
            // Without a width, it has that of the index.
            let (chosen, _) = self.load((!text.contains("width=")).then_some(stored.width.bits()))?;
            if chosen != stored {
                return Err(complaint(format!(
                    "was built by the recipe \"{stored}\", not by \"{chosen}\"; leave --recipe out"
                )));
            }
        }
        if self.idf.is_some() && !matches!(stored.weight, Weight::Idf { .. }) {
            return Err(complaint("was built without a dictionary; leave --idf out".to_owned()));
        }
        if self.stop_words.is_some() && stored.stop.is_none() {
            return Err(complaint("was built without stop words; leave --stop-words out".to_owned()));
        }
        if let (Some(given), Weight::Idf { unknown, .. }) = (self.unknown_words, stored.weight)
            && given != unknown
        {
            return Err(complaint(format!(
                "was built with weight={}; leave --unknown-words out",
                stored.weight
            )));
        }
        if stored.is_superseded() {
            messages::notice(format_args!(
                "{}: was built by the first version of the default recipe, for which \u{2019} and ' differ, and \
                 accents in other forms; answers follow it; build it again for the present one",
                index.display()
            ));
        }
        Ok((stored, self.lists()?))
    }

    fn lists(&self) -> Result<Lists, Failure> {
        let mut lists = Lists::default();
        if let Some(path) = &self.idf {
            lists = lists.with_idf(load_list(path, IdfDictionary::read)?);
        }
        if let Some(path) = &self.stop_words {
            lists = lists.with_stop_words(load_list(path, StopWords::read)?);
        }
        Ok(lists)
    }
}

/// Returns the text form of a recipe for people, with its name.
pub(crate) fn described(text: &str) -> String {
    let Ok(recipe) = text.parse::<Recipe>() else { return format!("{text:?}") };
    match (recipe.name(), recipe.is_superseded()) {
        (Some(name), false) => format!("{text:?} ({name})"),
        (Some(name), true) => format!("{text:?} ({name}, which has a later version)"),
        (None, true) => format!("{text:?} (of default-1, which has a later version)"),
        (None, false) => format!("{text:?}"),
    }
}

fn load_list<L>(
    path: &Path,
    read: impl FnOnce(BufReader<File>) -> Result<L, ListError>,
) -> Result<Arc<L>, Failure> {
    let complaint =
        |what: String| Failure::Input { input: path.display().to_string(), place: String::new(), what };
    let file = File::open(path).map_err(|error| complaint(format!("cannot read it: {error}")))?;
    read(BufReader::new(file)).map(Arc::new).map_err(|error| complaint(chain(&error)))
}

pub(crate) fn usage(error: RecipeError) -> Failure {
    Failure::Usage(error.to_string())
}
