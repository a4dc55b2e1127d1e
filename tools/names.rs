//! What ids are called, where they have names.

use std::borrow::Cow;

use hamdex::{Fingerprint, Index};
use hamdex_shards::{Shards, StoredId};
use hamdex_store::Snapshot;

use crate::failure::Failure;

/// The names of ids, as text.
#[derive(Clone, Copy)]
pub(crate) enum Names<'a> {
    File(hamdex::Names<'a>),
    Store(&'a dyn NamesOfStore),
    Shards(&'a dyn NamesOfShards),
}

/// What knows the names of the ids in a set of shards, whatever its width.
pub(crate) trait NamesOfShards {
    /// The name of an id that is stored.
    fn name(&self, id: StoredId) -> Result<Option<&[u8]>, hamdex_shards::Error>;
}

impl<F: Fingerprint> NamesOfShards for Shards<F> {
    fn name(&self, id: StoredId) -> Result<Option<&[u8]>, hamdex_shards::Error> {
        self.name(id)
    }
}

/// What knows the names of a store's ids, whatever its width.
pub(crate) trait NamesOfStore {
    /// The name of an id that is stored.
    fn name(&self, id: u64) -> Result<Option<&[u8]>, hamdex_store::Error>;
}

impl<F: Fingerprint> NamesOfStore for Snapshot<F> {
    fn name(&self, id: u64) -> Result<Option<&[u8]>, hamdex_store::Error> {
        self.name(id)
    }
}

impl<'a> Names<'a> {
    /// Those of a file; `None` if its ids have none.
    pub(crate) fn of<F: Fingerprint>(index: &'a Index<F>) -> Result<Option<Self>, Failure> {
        Ok(index.names().map_err(Failure::Index)?.map(Self::File))
    }

    /// The name of an id of the index or store; what is not UTF-8 is replaced.
    pub(crate) fn text(&self, id: u64) -> Result<Cow<'a, str>, Failure> {
        let name = match self {
            Self::File(names) => names.name_of(id).map_err(Failure::Index)?,
            // Its files are checked to have the names of all their ids.
            Self::Store(names) => names.name(id)?.unwrap_or_default(),
            Self::Shards(_) => unreachable!("each shard numbers its names by itself"),
        };
        Ok(String::from_utf8_lossy(name))
    }

    /// The name of an id that was found in a shard; a number where the ids have no names.
    pub(crate) fn text_in_shard(&self, id: StoredId) -> Result<Cow<'a, str>, Failure> {
        match self {
            Self::Shards(names) => Ok(String::from_utf8_lossy(names.name(id)?.unwrap_or_default())),
            Self::File(_) | Self::Store(_) => self.text(id.id),
        }
    }
}
