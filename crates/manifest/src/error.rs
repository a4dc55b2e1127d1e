//! Errors of a text.

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextError {
    /// It does not begin as a manifest of this kind does.
    NotAManifest,
    /// It was written by a later version of the format.
    Newer(u64),
    /// Something does not fit.
    Damaged {
        /// Where, in bytes from its start.
        offset: u64,
        /// The contradiction.
        what: String,
    },
}

impl TextError {
    /// Damage at an offset.
    #[must_use]
    pub fn damaged(offset: usize, what: impl Into<String>) -> Self {
        Self::Damaged { offset: offset as u64, what: what.into() }
    }
}
