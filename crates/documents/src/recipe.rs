//! The recipe in the metadata of an index of documents.

use std::collections::BTreeMap;

pub use hamdex::RECIPE_KEY;
use hamdex_simhash::{Recipe, RecipeError};

/// Returns the recipe in an index's metadata; `None` for an index that was built from bare fingerprints.
///
/// # Errors
/// When this build does not support the recipe.
pub fn stored_recipe(metadata: &BTreeMap<String, Vec<u8>>) -> Result<Option<Recipe>, RecipeError> {
    metadata.get(RECIPE_KEY).map(|text| String::from_utf8_lossy(text).parse()).transpose()
}
