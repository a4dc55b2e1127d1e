//! Records as callers write them, and when they are stored.

use hamdex::similar::Condition;

/// A fingerprint to write, with what the store keeps for it: an id, a name, or a name and shingles.
///
/// Tuples are records as well: `(fingerprint, id)` and `(fingerprint, name)`, and references to them.
///
/// ```
/// use hamdex_store::Record;
///
/// assert_eq!(Record::from((0x00ff_u64, 17)), Record::with_id(0x00ff, 17));
/// assert_eq!(Record::from((0x00ff_u64, "first.html")), Record::named(0x00ff, "first.html"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a, F> {
    pub(crate) fingerprint: F,
    pub(crate) label: Label<'a>,
}

/// The id of a fingerprint, or its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Label<'a> {
    /// 0 in a store without ids.
    Id(u64),
    Name(&'a [u8]),
    /// A name, and the shingles of a text.
    Document(&'a [u8], &'a [u64]),
}

impl<'a, F> Record<'a, F> {
    /// Returns a record for a store without ids.
    #[must_use]
    pub fn new(fingerprint: F) -> Self {
        Self::with_id(fingerprint, 0)
    }

    /// Returns a record with an id. In a store without ids it must be 0.
    #[must_use]
    pub fn with_id(fingerprint: F, id: u64) -> Self {
        Self { fingerprint, label: Label::Id(id) }
    }

    /// Returns a record for a store with names, which assigns the id.
    #[must_use]
    pub fn named(fingerprint: F, name: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { fingerprint, label: Label::Name(name.as_ref()) }
    }

    /// Returns a record for a store with shingles, which assigns the id: the shingles are ascending hashes of
    /// [`hamdex::shingles::BITS`] bits.
    #[must_use]
    pub fn document(fingerprint: F, name: &'a (impl AsRef<[u8]> + ?Sized), shingles: &'a [u64]) -> Self {
        Self { fingerprint, label: Label::Document(name.as_ref(), shingles) }
    }
}

impl<F> From<(F, u64)> for Record<'_, F> {
    fn from((fingerprint, id): (F, u64)) -> Self {
        Self::with_id(fingerprint, id)
    }
}

impl<F: Copy> From<&(F, u64)> for Record<'_, F> {
    fn from(&(fingerprint, id): &(F, u64)) -> Self {
        Self::with_id(fingerprint, id)
    }
}

/// Makes records of fingerprints with names of these types.
macro_rules! from_names {
    ($($owned:ty),*; $($borrowed:ty),*) => {
        $(impl<'a, F: Copy> From<&'a (F, $owned)> for Record<'a, F> {
            fn from((fingerprint, name): &'a (F, $owned)) -> Self {
                Self::named(*fingerprint, name)
            }
        })*
        $(impl<'a, F> From<(F, &'a $borrowed)> for Record<'a, F> {
            fn from((fingerprint, name): (F, &'a $borrowed)) -> Self {
                Self::named(fingerprint, name)
            }
        })*
    };
}

from_names!(String, Vec<u8>, &str, &[u8]; str, String, [u8]);

/// When a record is stored: always, or unless something is near or similar; next to the records of its id or name, or in their
/// place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When {
    pub(crate) unless: Option<Unless>,
    pub(crate) replaces: bool,
}

/// The reason not to store a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unless {
    /// A fingerprint within so many bits.
    Near(u32),
    /// A document that meets the condition.
    Similar(Condition),
}

impl When {
    /// Stores every record.
    #[must_use]
    pub fn always() -> Self {
        Self { unless: None, replaces: false }
    }

    /// Stores a record unless a fingerprint within `distance` bits is stored, or was inserted before it.
    #[must_use]
    pub fn unless_near(distance: u32) -> Self {
        Self { unless: Some(Unless::Near(distance)), replaces: false }
    }

    /// Stores a document, with its shingles, unless one that meets the condition with it is stored, or was inserted
    /// before it.
    #[must_use]
    pub fn unless_similar(condition: Condition) -> Self {
        Self { unless: Some(Unless::Similar(condition)), replaces: false }
    }

    /// Makes each record the only one with its id, or its name, in a store with look-ups. A record is then not near to
    /// the records that it replaces, nor similar to them; one that is near or similar to others replaces nothing.
    #[must_use]
    pub fn replacing(self) -> Self {
        Self { replaces: true, ..self }
    }
}
