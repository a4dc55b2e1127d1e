//! What ids are called, where they have names.

use std::borrow::Cow;

use hamdex::{Engine, Index};

use crate::failure::Failure;

/// The names of the ids of an index, as text.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a>(hamdex::Names<'a>);

impl<'a> Names<'a> {
    /// Those of a file; `None` if its ids have none.
    pub(crate) fn of<F: Engine>(index: &'a Index<F>) -> Result<Option<Self>, Failure> {
        Ok(index.names().map_err(Failure::Index)?.map(Self))
    }

    /// The name of an id of the index; what is not UTF-8 is replaced.
    pub(crate) fn text(&self, id: u64) -> Result<Cow<'a, str>, Failure> {
        Ok(String::from_utf8_lossy(self.0.name_of(id).map_err(Failure::Index)?))
    }
}
