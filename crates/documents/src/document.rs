//! A document as it is read.

/// A document as it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Its id: from a field, a column or the start of a line, or the path of its file.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The value of the field named by [`Documents::extra_field`](crate::Documents::extra_field), if there is one.
    pub extra: Option<String>,
}

impl Document {
    /// Makes a document of an id and a text.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), extra: None }
    }
}
