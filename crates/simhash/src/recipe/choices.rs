//! The choices of a recipe that have no module of their own.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::error::RecipeError;
use crate::word_lists::{ListDigest, Unknown};

/// Bits of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Width {
    /// 64, in a `u64`.
    Bits64,
    /// 128, in a `u128`.
    Bits128,
}

impl Width {
    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bits64 => 64,
            Self::Bits128 => 128,
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bits().fmt(f)
    }
}

impl FromStr for Width {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "64" => Ok(Self::Bits64),
            "128" => Ok(Self::Bits128),
            _ => Err(RecipeError::value("width", text, &["64", "128"])),
        }
    }
}

/// The weight of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weight {
    /// `count`: the number of its occurrences.
    Count,
    /// `once`: 1, whatever the number of its occurrences.
    Once,
    /// `log`: 1, and 1 more for every doubling of the number of its occurrences: 1 for 1, 2 for 2 and 3, 3
    /// for 4 to 7. Between the two above. A whole number, so the result is the same on every machine.
    Log,
    /// `idf:DIGEST:UNKNOWN`: the number of its occurrences times its inverse document frequency.
    Idf {
        /// The digest of the dictionary.
        dictionary: ListDigest,
        /// The weight of a word that is not in the dictionary.
        unknown: Unknown,
    },
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Once => f.write_str("once"),
            Self::Log => f.write_str("log"),
            Self::Idf { dictionary, unknown } => write!(f, "idf:{dictionary}:{unknown}"),
        }
    }
}

impl FromStr for Weight {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let idf = |text: &str| {
            let (dictionary, unknown) = text.strip_prefix("idf:")?.split_once(':')?;
            Some(Self::Idf { dictionary: ListDigest::parse(dictionary)?, unknown: unknown.parse().ok()? })
        };
        match text {
            "count" => Ok(Self::Count),
            "once" => Ok(Self::Once),
            "log" => Ok(Self::Log),
            _ => idf(text).ok_or_else(|| {
                let known =
                    ["count", "once", "log", "idf:DIGEST:median", "idf:DIGEST:mean (32 hexadecimal digits)"];
                RecipeError::value("weight", text, &known)
            }),
        }
    }
}

/// The number of features that vote: those of the greatest weight; among equal weights, the first in byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Top {
    /// `all`: all features.
    All,
    /// At most this many.
    Heaviest(NonZeroUsize),
}

impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Heaviest(count) => count.fmt(f),
        }
    }
}

impl FromStr for Top {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "all" => Ok(Self::All),
            _ => text
                .parse()
                .map(Self::Heaviest)
                .map_err(|_| RecipeError::value("top", text, &["all", "a number from 1"])),
        }
    }
}

/// The value of a bit with as much weight for it as against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tie {
    /// Clear.
    Zero,
    /// Set.
    One,
}

impl fmt::Display for Tie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "0",
            Self::One => "1",
        })
    }
}

impl FromStr for Tie {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "0" => Ok(Self::Zero),
            "1" => Ok(Self::One),
            _ => Err(RecipeError::value("tie", text, &["0", "1"])),
        }
    }
}

/// The fingerprint of a text without features. Such a text is always reported as too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Empty {
    /// `none`: no fingerprint, so such texts match nothing.
    None,
    /// `tie`: every bit has the value of a tie, as in some libraries.
    Tie,
    /// `feature`: the empty string is its only feature, as in PyPI simhash.
    Feature,
}

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Tie => "tie",
            Self::Feature => "feature",
        })
    }
}

impl FromStr for Empty {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        match text {
            "none" => Ok(Self::None),
            "tie" => Ok(Self::Tie),
            "feature" => Ok(Self::Feature),
            _ => Err(RecipeError::value("empty", text, &["none", "tie", "feature"])),
        }
    }
}
