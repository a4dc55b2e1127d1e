//! A document as it is read.

/// A document as it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Its id: what a field, column or line start holds, or the path of its file.
    pub id: String,
    /// Its text.
    pub text: String,
    /// What the field named by [`Documents::extra_field`](crate::Documents::extra_field) holds, if it is there.
    pub extra: Option<String>,
    /// The line of JSON on which it stood, if [`Documents::keep_lines`](crate::Documents::keep_lines) is set.
    pub line: Option<String>,
}

impl Document {
    /// A document of an id and a text.
    #[must_use]
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: id.into(), text: text.into(), extra: None, line: None }
    }
}
