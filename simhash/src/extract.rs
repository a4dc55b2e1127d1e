//! From a text to its tokens, as a recipe has it.

use std::sync::Arc;

use crate::lists::StopWords;
use crate::recipe::{Recipe, RecipeError};
use crate::shingle::{Shingle, Tokens};
use crate::tokenise::Tokeniser;

/// The part of a recipe that comes before weights and hashes.
#[derive(Debug, Clone)]
pub(crate) struct Extractor {
    recipe: Recipe,
    stop: Option<Arc<StopWords>>,
}

/// Memory that is used again from text to text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Workspace {
    folded: String,
    tokens: Tokens,
}

impl Extractor {
    pub(crate) fn new(recipe: &Recipe, stop: Option<Arc<StopWords>>) -> Result<Self, RecipeError> {
        recipe.check()?;
        if recipe.tokens == Tokeniser::Given {
            return Err(RecipeError::NotForText);
        }
        let given = stop.as_ref().map(|list| list.digest());
        match recipe.stop {
            Some(wanted) if given != Some(wanted) => {
                Err(RecipeError::List { list: "stop words", wanted, given })
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

    /// The tokens that are left of `text`; none where there are fewer than the recipe asks for.
    pub(crate) fn extract<'w>(&self, text: &str, workspace: &'w mut Workspace) -> &'w Tokens {
        let Workspace { folded, tokens } = workspace;
        tokens.clear();
        let folded = self.recipe.case.fold(text, folded);
        let (tokeniser, min_chars) = (self.recipe.tokens, self.recipe.min_chars);
        let separator = tokeniser.separator();
        tokeniser.split(folded, &mut |token| {
            let long = min_chars <= 1 || token.chars().nth(min_chars - 1).is_some();
            if long && !self.stop.as_ref().is_some_and(|stop| stop.contains(token)) {
                tokens.push(token, separator);
            }
        });
        if tokens.count() < self.recipe.min_tokens {
            tokens.clear();
        }
        tokens
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
    fn too_few_tokens_are_none() {
        let recipe: Recipe = "default shingle=words:1 min-tokens=3".parse().unwrap();
        assert_eq!(extract(&recipe, None, "a b"), [""; 0]);
        assert_eq!(extract(&recipe, None, "a b c").len(), 3);
    }

    #[test]
    fn the_list_must_be_the_one_named() {
        let list = |text: &str| Arc::new(StopWords::read(text.as_bytes()).unwrap());
        let recipe = Recipe::default().with_stop_words(&list("the"));
        assert!(matches!(Extractor::new(&recipe, None), Err(RecipeError::List { given: None, .. })));
        assert!(Extractor::new(&recipe, Some(list("of"))).is_err());
        assert!(Extractor::new(&recipe, Some(list("the"))).is_ok());
    }
}
