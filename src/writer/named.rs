//! A builder that takes names, and shingles of documents.

use crate::error::{BuildError, IdColumn};
use crate::names::MAX_NAME_BYTES;
use crate::shingles;
use crate::writer::builder::Builder;
use hamdex_fingerprint::Fingerprint;

impl<F: Fingerprint, W> Builder<F, W> {
    /// Adds the name of an id to an index with names: ascending by id, each id once, before, between or after the
    /// fingerprints. Names may be any bytes, and equal.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().names(true))?;
    /// for (id, (fingerprint, name)) in (0..).zip([(0x00ff_u64, "first"), (0xff00, "second")]) {
    ///     builder.push_with_id(fingerprint, id)?;
    ///     builder.push_name(id, name)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// let names = index.names()?.expect("it has names");
    /// let id = index.ids(0xff00)?.next().expect("it is stored");
    /// assert_eq!(names.get(id)?, Some(&b"second"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index was to have no names, the name has more than [`MAX_NAME_BYTES`] bytes, the id does not come after
    /// the one before, or the disk is full.
    pub fn push_name(&mut self, id: u64, name: impl AsRef<[u8]>) -> Result<(), BuildError> {
        let name = name.as_ref();
        if name.len() > MAX_NAME_BYTES {
            return Err(BuildError::NameTooLong { id, bytes: name.len() });
        }
        self.push_stored_name(id, name)
    }

    /// As [`Builder::push_name`], for a name that is stored already: it may be longer.
    ///
    /// # Errors
    /// As for [`Builder::push_name`].
    #[doc(hidden)]
    pub fn push_stored_name(&mut self, id: u64, name: &[u8]) -> Result<(), BuildError> {
        let Some(names) = &mut self.core.names else {
            return Err(BuildError::ColumnUnexpected { column: IdColumn::Names });
        };
        names.push(id, name)
    }

    /// Adds the shingles of the document of an id to an index with shingles: hashes of
    /// [`BITS`](crate::shingles::BITS) bits, ascending, each once. Ids ascend as for [`Builder::push_name`].
    ///
    /// # Errors
    /// When the index was to have no shingles, they do not ascend or exceed their bits, the id does not come after the
    /// one before, or the disk is full.
    pub fn push_shingles(&mut self, id: u64, shingles: &[u64]) -> Result<(), BuildError> {
        let bytes = shingles::encode(shingles).ok_or(BuildError::InvalidShingles { id })?;
        self.push_encoded_shingles(id, &bytes)
    }

    /// As [`Builder::push_shingles`], for shingles as [`encode`](crate::shingles::encode) returns them.
    ///
    /// # Errors
    /// As for [`Builder::push_shingles`].
    pub fn push_encoded_shingles(&mut self, id: u64, bytes: &[u8]) -> Result<(), BuildError> {
        let Some(shingles) = &mut self.core.shingles else {
            return Err(BuildError::ColumnUnexpected { column: IdColumn::Shingles });
        };
        shingles.push(id, bytes)
    }
}
