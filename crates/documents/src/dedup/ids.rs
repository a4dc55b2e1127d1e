//! The ids of documents.

use std::borrow::Cow;
use std::path::Path;

use crate::dedup::shelf::{Shelf, Shelved};
use crate::error::Error;

/// Takes ids in the order of the documents.
pub(crate) struct IdShelf(Shelf<u8>);

/// The ids of all documents.
#[derive(Debug)]
pub(crate) struct Ids(Shelved<u8>);

impl IdShelf {
    /// Keeps up to `max_bytes` in memory; the rest goes to a temporary file.
    pub(crate) fn new(directory: &Path, max_bytes: u64) -> Self {
        Self(Shelf::new(directory, max_bytes))
    }

    pub(crate) fn push(&mut self, id: &str) -> Result<(), Error> {
        self.0.push(id.as_bytes())
    }

    pub(crate) fn finish(self) -> Result<Ids, Error> {
        self.0.finish().map(Ids)
    }
}

impl Ids {
    pub(crate) fn get(&self, document: u32) -> Result<Cow<'_, str>, Error> {
        Ok(match self.0.get(document)? {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }
}
