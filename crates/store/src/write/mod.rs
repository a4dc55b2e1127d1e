//! Writing, by group commit. This file has the records that callers write, and the operations on pairs that become of
//! them, with the documents of ids.
//!
//! - [`verbs`]: the one verb that stores records; batches of operations; removal, also by id and name
//! - [`conditional`]: the search, the commit and the repetition of a conditional write
//! - [`unless_near`], [`unless_similar`]: the conditions
//! - [`gone_names`]: names whose earlier ids have gone
//! - [`request`]: requests of writers, and the replies
//! - [`queue`]: the queue of requests, and its leader
//! - [`commit`]: from requests to the log, and to a new view
//! - [`writer`]: the log, its sequence numbers, its unsynced writes and their durability
//! - [`journal`]: removals while a flush or a merge writes a segment

pub(crate) mod commit;
mod conditional;
pub(crate) mod gone_names;
pub(crate) mod journal;
pub(crate) mod queue;
pub(crate) mod request;
mod unless_near;
mod unless_similar;
mod verbs;
pub(crate) mod writer;

use std::sync::Arc;

use hamdex::shingles;
use hamdex::similar::Condition;

/// Bytes of the length of a name before it, where shingles follow.
const LENGTH_BYTES: usize = 4;

/// A name and the shingles of its document. A clone is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The name, and the encoded shingles after it.
    bytes: Arc<[u8]>,
    name_bytes: usize,
}

impl From<&[u8]> for Document {
    fn from(name: &[u8]) -> Self {
        Self { bytes: Arc::from(name), name_bytes: name.len() }
    }
}

impl From<Vec<u8>> for Document {
    fn from(name: Vec<u8>) -> Self {
        Self { name_bytes: name.len(), bytes: name.into() }
    }
}

impl Document {
    /// Returns a document with shingles, as [`shingles::encode`] returns them.
    #[must_use]
    pub fn with_shingles(name: &[u8], encoded: &[u8]) -> Self {
        Self { bytes: [name, encoded].concat().into(), name_bytes: name.len() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.bytes[..self.name_bytes]
    }

    /// Returns the encoded shingles; no bytes in a store without shingles.
    #[must_use]
    pub fn shingles(&self) -> &[u8] {
        &self.bytes[self.name_bytes..]
    }

    /// Replaces the contents of `set` by its shingles.
    pub(crate) fn decode_shingles(&self, set: &mut Vec<u64>) {
        let is_set = shingles::decode(self.shingles(), set);
        debug_assert!(is_set, "it was encoded, or checked when it was read from the log");
    }

    /// Returns the length of its bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of its bytes in a log.
    pub(crate) fn logged_bytes(&self, has_shingles: bool) -> usize {
        self.bytes.len() + if has_shingles { LENGTH_BYTES } else { 0 }
    }

    /// Returns its bytes in a log.
    pub(crate) fn to_logged(&self, has_shingles: bool) -> Vec<u8> {
        let mut logged = Vec::with_capacity(self.logged_bytes(has_shingles));
        if has_shingles {
            // A batch, and so a name, is shorter than 4 GiB.
            logged.extend((self.name_bytes as u32).to_le_bytes());
        }
        logged.extend_from_slice(&self.bytes);
        logged
    }

    /// Reads the bytes of a log; `None` if the shingles are not a set.
    pub(crate) fn of_logged(mut logged: Vec<u8>, has_shingles: bool) -> Option<Self> {
        if !has_shingles {
            return Some(Self::from(logged));
        }
        let name_bytes = u32::from_le_bytes(*logged.first_chunk::<LENGTH_BYTES>()?) as usize;
        logged.drain(..LENGTH_BYTES);
        let encoded = logged.get(name_bytes..)?;
        shingles::decode(encoded, &mut Vec::new()).then(|| Self { bytes: logged.into(), name_bytes })
    }
}

/// A (fingerprint, id) pair. The id is 0 in a store without ids.
pub(crate) type Pair<F> = (F, u64);

/// Returns the distinct ids of pairs, ascending.
pub(crate) fn ids_of<F>(pairs: &[Pair<F>]) -> Vec<u64> {
    let mut ids: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The insertion or removal of a (fingerprint, id) pair. In a store without ids the id is 0, and is not written to the
/// log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation<F> {
    /// The pair is in the set afterwards, whether or not it was before.
    Insert(F, u64),
    /// The pair is not in the set afterwards, whether or not it was before.
    Remove(F, u64),
}

impl<F: Copy> Operation<F> {
    /// Returns the fingerprint and the id.
    #[must_use]
    pub fn pair(&self) -> (F, u64) {
        match *self {
            Self::Insert(fingerprint, id) | Self::Remove(fingerprint, id) => (fingerprint, id),
        }
    }
}

/// An id and its name, with shingles in a store with shingles.
pub type Name = (u64, Document);

/// Operations that are applied atomically, and the names of the ids that they insert.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch<F> {
    /// The operations, in the order in which they are applied.
    pub operations: Vec<Operation<F>>,
    /// The names, by ascending id; empty in a store without names.
    pub names: Vec<Name>,
}

impl<F> Batch<F> {
    /// Returns the greatest id with a name.
    pub(crate) fn last_id(&self) -> Option<u64> {
        self.names.last().map(|name| name.0)
    }
}

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
