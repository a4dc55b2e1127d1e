//! The error of recipes.

/// The error of reading or using a recipe: its text says what is wrong, and what is possible instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecipeError(pub(crate) String);

impl RecipeError {
    /// Creates an error about a value that the key does not accept.
    pub(crate) fn value(key: &'static str, value: &str, known: &[&str]) -> Self {
        Self(format!("{key}={value:?} is not one of: {}", known.join(", ")))
    }

    /// Creates an error about a word list that is missing, or is not the one that the recipe names.
    pub(crate) fn list(list: &str, wanted: impl ToString, given: Option<impl ToString>) -> Self {
        let given = given.map_or("and none was passed".to_owned(), |given| {
            format!("not the one with {}", given.to_string())
        });
        Self(format!("recipe needs the {list} with digest {}, {given}", wanted.to_string()))
    }
}
