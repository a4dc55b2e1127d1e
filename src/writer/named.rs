//! A builder that takes names.

use crate::error::BuildError;
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
    /// When the index was to have no names, the id does not come after the one before, or the disk is full.
    pub fn push_name(&mut self, id: u64, name: impl AsRef<[u8]>) -> Result<(), BuildError> {
        let Some(names) = &mut self.core.names else {
            return Err(BuildError::NameUnexpected);
        };
        names.push(id, name.as_ref())
    }
}
