//! Extraction of tokens and features from a text by a recipe.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::RecipeError;
use crate::case::Case;
use crate::recipe::Recipe;
use crate::shingle::{Shingle, Tokens};
use crate::tokenise::{Part, Tokeniser};
use crate::word_lists::StopWords;

/// The part of a recipe before weights and hashes.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    recipe: Recipe,
    stop: Option<Arc<StopWords>>,
}

/// Memory that is reused from text to text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    folded: String,
    tokens: Tokens,
    shingle: String,
}

impl Extractor {
    pub(crate) fn new(recipe: &Recipe, stop: Option<Arc<StopWords>>) -> Result<Self, RecipeError> {
        recipe.check()?;
        if recipe.tokens == Tokeniser::Given {
            return Err(RecipeError(
                "recipe has tokens=given: it takes features, not text; \
                 name a tokeniser, for example with tokens=words shingle=words:4"
                    .to_owned(),
            ));
        }
        let given = stop.as_ref().map(|list| list.digest());
        match recipe.stop {
            Some(wanted) if given != Some(wanted) => Err(RecipeError::list("stop words", wanted, given)),
            // Tokens are folded, so words of the list have to be.
            Some(_) if recipe.case == Case::Caseless => {
                let folded = stop.map(|list| Arc::new(list.folded(recipe.case)));
                Ok(Self { recipe: recipe.clone(), stop: folded })
            }
            Some(_) => Ok(Self { recipe: recipe.clone(), stop }),
            None => Ok(Self { recipe: recipe.clone(), stop: None }),
        }
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(crate) fn shingle(&self) -> Shingle {
        self.recipe.shingle
    }

    /// Calls `feature` with every feature of `text`, in order.
    pub(crate) fn features(&self, text: &str, workspace: &mut Workspace, mut feature: impl FnMut(&str)) {
        let recipe = &self.recipe;
        if recipe.shingle == Shingle::Words(NonZeroUsize::MIN) && recipe.min_tokens <= 1 {
            // Every token is a feature, so tokens need not be kept.
            let Workspace { folded, shingle, .. } = workspace;
            self.tokens(text, folded, &mut |token| feature(recipe.case.fold_shingle(token, shingle)));
        } else {
            self.extract(text, workspace);
            let Workspace { tokens, shingle, .. } = workspace;
            tokens.shingles(recipe.shingle, |each| feature(recipe.case.fold_shingle(each, shingle)));
        }
    }

    /// Returns whether [`Extractor::words_and_features`] applies: every token is a feature, and case is folded as for
    /// words.
    pub(crate) fn has_words(&self) -> bool {
        let recipe = &self.recipe;
        recipe.shingle == Shingle::Words(NonZeroUsize::MIN)
            && recipe.case == Case::OF_SHINGLES
            && matches!(recipe.tokens, Tokeniser::Words | Tokeniser::WordsBigrams)
            && recipe.min_tokens <= 1
            && recipe.min_chars <= 1
            && recipe.stem.is_none()
            && self.stop.is_none()
    }

    /// Calls `word` with every word of `text`, and `feature` with every feature, each in order.
    pub(crate) fn words_and_features(
        &self,
        text: &str,
        workspace: &mut Workspace,
        mut word: impl FnMut(&str),
        mut feature: impl FnMut(&str),
    ) {
        let folded = self.recipe.case.fold(text, &mut workspace.folded);
        self.recipe.tokens.split_parts(folded, &mut |part| match part {
            Part::Both(text) => {
                word(text);
                feature(text);
            }
            Part::Word(text) => word(text),
            Part::Pair(text) => feature(text),
        });
    }

    /// Returns the tokens of `text` without dropped ones; none if there are fewer than the recipe requires.
    pub(crate) fn extract<'w>(&self, text: &str, workspace: &'w mut Workspace) -> &'w Tokens {
        let Workspace { folded, tokens, .. } = workspace;
        let separator = self.recipe.tokens.separator();
        tokens.clear();
        self.tokens(text, folded, &mut |token| tokens.push(token, separator));
        if tokens.count() < self.recipe.min_tokens {
            tokens.clear();
        }
        tokens
    }

    fn tokens(&self, text: &str, folded: &mut String, token: &mut impl FnMut(&str)) {
        let min_chars = self.recipe.min_chars;
        self.recipe.tokens.split(self.recipe.case.fold(text, folded), &mut |each: &str| {
            let long = min_chars <= 1 || each.chars().nth(min_chars - 1).is_some();
            if long && !self.stop.as_ref().is_some_and(|stop| stop.contains(each)) {
                match self.recipe.stem {
                    Some(language) => token(&language.of(each)),
                    None => token(each),
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extract(recipe: &Recipe, stop: Option<Arc<StopWords>>, text: &str) -> Vec<String> {
        let mut workspace = Workspace::default();
        let mut all = Vec::new();
        let extractor = Extractor::new(recipe, stop).unwrap();
        extractor
            .extract(text, &mut workspace)
            .shingles(extractor.shingle(), |each| all.push(each.to_owned()));
        all
    }

    #[test]
    fn stop_words_and_short_tokens_are_dropped_before_shingling() {
        let stop = Arc::new(StopWords::read("the\n".as_bytes()).unwrap());
        let recipe: Recipe = "default shingle=words:2 min-chars=2".parse().unwrap();
        let recipe = recipe.with_stop_words(&stop);
        assert_eq!(extract(&recipe, Some(stop), "The cat ate a mouse, the 鼠"), ["cat ate", "ate mouse"]);
    }

    #[test]
    fn words_of_a_list_are_folded_as_tokens_are() {
        let stop = Arc::new(StopWords::read("Daß\ndon’t\n".as_bytes()).unwrap());
        for (recipe, left) in [("default min-tokens=1", ""), ("default-1 min-tokens=1", "daß don't ")] {
            let recipe = recipe.parse::<Recipe>().unwrap().with_stop_words(&stop);
            let words = extract(&recipe, Some(stop.clone()), "DASS daß don't").join(" ");
            assert_eq!(words, if left.is_empty() { "" } else { "dass daß don't" }, "{recipe}");
        }
    }

    #[test]
    fn tokens_are_cut_to_their_stems_after_stop_words_are_dropped() {
        let stop = Arc::new(StopWords::read("fishing\n".as_bytes()).unwrap());
        let recipe = "default stem=english".parse::<Recipe>().unwrap().with_stop_words(&stop);
        assert_eq!(
            extract(&recipe, Some(stop), "Fishing, he FISHED for fishes"),
            ["he", "fish", "for", "fish"]
        );
    }

    #[test]
    fn too_few_tokens_are_none() {
        let recipe: Recipe = "default shingle=words:1 min-tokens=3".parse().unwrap();
        assert_eq!(extract(&recipe, None, "a b"), [""; 0]);
        assert_eq!(extract(&recipe, None, "a b c").len(), 3);
    }

    #[test]
    fn features_are_the_shingles_of_the_tokens() {
        for recipe in ["default", "default min-tokens=3", "default min-tokens=6", "default shingle=words:2"] {
            let extractor = Extractor::new(&recipe.parse().unwrap(), None).unwrap();
            let mut features = Vec::new();
            extractor.features("We 我们 know, OK?", &mut Workspace::default(), |each| {
                features.push(each.to_owned());
            });
            assert_eq!(features, extract(extractor.recipe(), None, "We 我们 know, OK?"), "{recipe}");
        }
    }

    #[test]
    fn the_list_must_be_the_one_named() {
        let list = |text: &str| Arc::new(StopWords::read(text.as_bytes()).unwrap());
        let recipe = Recipe::default().with_stop_words(&list("the"));
        let error = Extractor::new(&recipe, None).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.starts_with("recipe needs the stop words") && error.ends_with("none was passed"),
            "{error}"
        );
        assert!(Extractor::new(&recipe, Some(list("of"))).is_err());
        assert!(Extractor::new(&recipe, Some(list("the"))).is_ok());
    }
}
