//! The outcome of fingerprinting a text.

use hamdex_fingerprint::Fingerprint;

use crate::resemblance::Shingles;

/// The outcome of fingerprinting a text.
///
/// A fingerprint of few features is unreliable: one changed word changes many of its bits, and in some
/// libraries all short texts have the same one and form one cluster. The `min-features` of the recipe
/// decides which texts are too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome<F> {
    /// The fingerprint of a text with enough features.
    Fingerprint(F),
    /// Fewer features voted than the recipe requires.
    TooShort {
        /// The number of features that voted.
        features: usize,
        /// Their unreliable fingerprint. `None` without any feature, unless the recipe follows a library
        /// that returns a value even then.
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

    /// Returns the fingerprint if it is reliable.
    #[must_use]
    pub fn reliable(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { .. } => None,
        }
    }

    /// Returns the fingerprint, reliable or not; bit-identical to that of the library that the recipe follows.
    #[must_use]
    pub fn value(self) -> Option<F> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::TooShort { fingerprint, .. } => fingerprint,
        }
    }

    /// Returns the fingerprint of a text that is stored with its shingles, reliable or not; zero for a text without
    /// features, such as `?!`, and `None` for a blank one, which is near no other.
    #[must_use]
    pub fn value_of_text(self, shingles: &Shingles) -> Option<F>
    where
        F: Fingerprint,
    {
        (!shingles.hashes().is_empty()).then(|| self.value().unwrap_or(F::ZERO))
    }

    /// Returns whether the text was too short.
    #[must_use]
    pub fn is_too_short(self) -> bool {
        matches!(self, Self::TooShort { .. })
    }
}
