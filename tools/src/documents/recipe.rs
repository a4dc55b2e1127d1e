//! The recipe: from the options of a command, or from an index.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hamdex_documents::{RECIPE_KEY, stored_recipe};
use hamdex_simhash::word_lists::{IdfDictionary, ListError, StopWords};
use hamdex_simhash::{Lists, Recipe, RecipeError, Weight, Width};

use crate::failure::Failure;
use crate::messages::chain;

/// Options for making fingerprints of texts.
#[derive(Debug, clap::Args)]
#[group(id = "recipe_options")]
pub(crate) struct Options {
    /// The recipe: default; that of another library (simhash-py: PyPI simhash 2.1.2; text-dedup-0.4.0: PyPI
    /// text-dedup 0.4.0; text-dedup: its main branch since; mfonda; trafilatura: PyPI trafilatura 2.3.1;
    /// seomoz and yanyiwu for given features); a name and changes as in "default weight=once"; or a full text
    /// form
    #[arg(long, value_name = "RECIPE", help_heading = "Fingerprints")]
    pub(crate) recipe: Option<String>,
    /// A dictionary of inverse document frequencies that `hamdex idf` wrote, to weight words by
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    pub(crate) idf: Option<PathBuf>,
    /// Words to leave out, one per line
    #[arg(long, value_name = "FILE", help_heading = "Fingerprints")]
    pub(crate) stop_words: Option<PathBuf>,
}

impl Options {
    /// Returns the files that these options name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.idf.iter().chain(&self.stop_words).map(PathBuf::as_path)
    }

    /// Returns the recipe and its lists.
    pub(crate) fn load(&self, width: Option<&str>) -> Result<(Recipe, Lists), Failure> {
        let lists = self.lists()?;
        let mut recipe = match &self.recipe {
            Some(text) => text.parse().map_err(usage)?,
            None => Recipe::default(),
        };
        if let Some(idf) = &lists.idf
            && !matches!(recipe.weight, Weight::Idf { .. })
        {
            recipe = recipe.with_idf(idf);
        }
        if let Some(stop) = &lists.stop
            && recipe.stop.is_none()
        {
            recipe = recipe.with_stop_words(stop);
        }
        if let Some(width) = width {
            recipe.width = if width == "128" { Width::Bits128 } else { Width::Bits64 };
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
        let complaint = |what: String| Failure::Usage(format!("{}: {what}", index.display()));
        let stored = stored_recipe(metadata).map_err(|error| complaint(chain(&error)))?;
        let Some(stored) = stored else {
            return Err(complaint(format!(
                "holds no recipe ({RECIPE_KEY}): it was built from fingerprints, so only fingerprints can be \
                 queried"
            )));
        };
        if let Some(text) = &self.recipe {
            // Without a width, it has that of the index.
            let width = stored.width.bits().to_string();
            let (chosen, _) = self.load((!text.contains("width=")).then_some(&*width))?;
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
