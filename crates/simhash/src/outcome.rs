//! What a text gives: a fingerprint, or the word that it is too short for one.

/// What a text gives.
///
/// A fingerprint of few features is unreliable: one changed word moves many of its bits, and in some
/// libraries all short texts have the same one and fall into one cluster. So such texts are told apart
/// here, by the `min-features` of the recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome<F> {
    /// The fingerprint of a text with enough features.
    Fingerprint(F),
    /// Fewer features voted than the recipe wants.
    TooShort {
        /// How many did.
        features: usize,
        /// What they voted, for exact or lenient comparison at the caller's own risk; `None` without
        /// any feature, unless the recipe is of a library that gives a value even then.
        fingerprint: Option<F>,
    },
}

impl<F: Copy> Outcome<F> {
    pub(crate) fn of(fingerprint: F, features: usize, needed: usize) -> Self {
        if features >= needed.max(1) {
            Self::Fingerprint(fingerprint)
        } else {
            Self::TooShort { features, fingerprint: Some(fingerprint) }
        }
    }

    /// The fingerprint if it can be relied on.
    #[must_use]
    pub fn reliable(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { .. } => None,
        }
    }

    /// Whatever fingerprint there is: bit-identical to the library's where the recipe is of one.
    #[must_use]
    pub fn value(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { fingerprint, .. } => fingerprint,
        }
    }

    /// Whether the text was too short.
    #[must_use]
    pub fn is_too_short(self) -> bool {
        matches!(self, Self::TooShort { .. })
    }
}
