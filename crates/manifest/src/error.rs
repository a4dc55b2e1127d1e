//! Errors of texts.

/// An error in the text of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextError {
    /// The text does not begin like a manifest of this kind.
    NotAManifest,
    /// The text has a later format version.
    Newer(u64),
    /// The text is damaged.
    Damaged {
        /// The offset in bytes.
        offset: u64,
        /// The contradiction.
        what: String,
    },
}

impl TextError {
    /// Creates an error about damage at an offset.
    #[must_use]
    pub fn damaged(offset: usize, what: impl Into<String>) -> Self {
        Self::Damaged { offset: offset as u64, what: what.into() }
    }
}
