//! The document of an id in a store with names: its name and, in a store with shingles, its shingles.

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
