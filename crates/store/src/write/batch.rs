//! Batches of operations on pairs, and the documents of ids.

use std::sync::Arc;

use hamdex::shingles;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<F> {
    /// The operations, in the order in which they are applied.
    pub operations: Vec<Operation<F>>,
    /// The names, by ascending id; empty in a store without names.
    pub names: Vec<Name>,
}

impl<F> Default for Batch<F> {
    fn default() -> Self {
        Self { operations: Vec::new(), names: Vec::new() }
    }
}
