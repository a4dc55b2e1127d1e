//! The kinds of containers.

use std::path::Path;

use hamdex::{ReadErrorKind, SetError};

/// The kind of container that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An index file.
    File,
    /// The directory of a store.
    Store,
    /// The directory of a set of shards.
    Shards,
}

impl Kind {
    /// Looks at what a path names: the beginning of its manifest tells a set of shards from a store. A path that cannot
    /// be looked at counts as a file, and opening it fails.
    ///
    /// # Errors
    /// When the system refuses to read a manifest.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, SetError> {
        let path = path.as_ref();
        if !path.is_dir() {
            return Ok(Self::File);
        }
        Ok(if hamdex_shards::is_set(path)? { Self::Shards } else { Self::Store })
    }

    /// As [`Kind::of`]; `None` if what is there is no container, but something else. One that is damaged is one.
    ///
    /// # Errors
    /// When there is nothing, or the system refuses to read it.
    pub fn recognise(path: impl AsRef<Path>) -> Result<Option<Self>, SetError> {
        let path = path.as_ref();
        let kind = Self::of(path)?;
        let is_there = match kind {
            Self::Shards => true,
            Self::Store => !matches!(hamdex_store::width(path), Err(hamdex_store::Error::NotAStore { .. })),
            Self::File => match hamdex::width(path) {
                Err(error) if matches!(error.kind(), ReadErrorKind::NotHamdex) => false,
                Err(error) if matches!(error.kind(), ReadErrorKind::Io { .. }) => return Err(error.into()),
                _ => true,
            },
        };
        Ok(is_there.then_some(kind))
    }
}
