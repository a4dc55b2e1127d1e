//! Insertion with names, and with shingles.

use std::ops::Range;

use hamdex::{Fingerprint, MAX_NAME_BYTES, shingles};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::write::document::Document;
use crate::write::reply::Reply;
use crate::write::request::Request;
use crate::write::unless_near::inserted::Inserted;

/// Bytes of a name that count as one operation of a batch; real operations are longer.
const NAME_BYTES_PER_OPERATION: usize = 16;

impl<F: Fingerprint> Store<F> {
    /// Inserts fingerprints with names into a store with names, atomically. The store assigns the ids, which ascend and
    /// are never reused. Returns them.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().names(true);
    /// let store = Store::<u64>::create(directory.path().join("news.store"), &create, StoreOptions::new())?;
    /// let ids = store.insert_named(&[(0x00ff, "first.html"), (0xff00, "second.html")])?;
    /// assert_eq!(store.snapshot().name(ids.end - 1)?, Some(&b"second.html"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the store has no names, or has shingles; when a name has more than [`MAX_NAME_BYTES`] bytes, or the pairs
    /// cannot be made as durable as the options of the store require.
    pub fn insert_named(&self, named: &[(F, impl AsRef<[u8]>)]) -> Result<Range<u64>, Error> {
        self.insert_checked(self.named(named)?)
    }

    /// Inserts documents into a store with shingles, atomically: fingerprints with names, and the shingles of each,
    /// ascending hashes of [`hamdex::shingles::BITS`] bits. The store assigns the ids, as [`Store::insert_named`] does.
    /// Returns them.
    ///
    /// # Errors
    /// When the store has no shingles, those of a document are not a set, or the documents cannot be made as durable as
    /// the options of the store require.
    pub fn insert_documents(&self, documents: &[(F, impl AsRef<[u8]>, &[u64])]) -> Result<Range<u64>, Error> {
        self.insert_checked(self.documents(documents)?)
    }

    /// Inserts as [`Store::insert_all_unless_near`] in a store with names, which assigns the ids. The outcomes have
    /// them.
    ///
    /// # Errors
    /// As for [`Store::insert_named`]; when a block that has to be read is damaged, or the distance exceeds the width.
    pub fn insert_named_unless_near(
        &self,
        named: &[(F, impl AsRef<[u8]>)],
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        self.insert_checked_unless_near(self.named(named)?, distance)
    }

    /// Inserts as [`Store::insert_named_unless_near`] in a store with shingles.
    ///
    /// # Errors
    /// As for [`Store::insert_documents`]; when a block that has to be read is damaged, or the distance exceeds the width.
    pub fn insert_documents_unless_near(
        &self,
        documents: &[(F, impl AsRef<[u8]>, &[u64])],
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        self.insert_checked_unless_near(self.documents(documents)?, distance)
    }

    fn insert_checked(&self, named: Vec<(F, Document)>) -> Result<Range<u64>, Error> {
        let count = named.len() as u64;
        match self.commit(Request::Named(named))? {
            Reply::Named(first) => Ok(first..first + count),
            _ => Err(self.no_ids_left()),
        }
    }

    fn insert_checked_unless_near(
        &self,
        named: Vec<(F, Document)>,
        distance: u32,
    ) -> Result<Vec<Inserted<F>>, Error> {
        let pairs: Vec<(F, u64)> = named.iter().map(|(fingerprint, _)| (*fingerprint, 0)).collect();
        let names: Vec<Document> = named.into_iter().map(|(_, name)| name).collect();
        self.unless_near(&pairs, Some(&names), distance)
    }

    pub(crate) fn named(&self, named: &[(F, impl AsRef<[u8]>)]) -> Result<Vec<(F, Document)>, Error> {
        self.check_shingles(false)?;
        let of_name = |(fingerprint, name): &(F, _)| (*fingerprint, Document::from(AsRef::as_ref(name)));
        self.checked(named.iter().map(of_name).collect())
    }

    pub(crate) fn documents(
        &self,
        documents: &[(F, impl AsRef<[u8]>, &[u64])],
    ) -> Result<Vec<(F, Document)>, Error> {
        self.check_shingles(true)?;
        let mut checked = Vec::with_capacity(documents.len());
        for (number, (fingerprint, name, set)) in documents.iter().enumerate() {
            let encoded = shingles::encode(set).ok_or(Error::InvalidShingles { document: number })?;
            checked.push((*fingerprint, Document::with_shingles(name.as_ref(), &encoded)));
        }
        self.checked(checked)
    }

    /// Rejects a batch that does not fit the store, or is too large.
    fn checked(&self, named: Vec<(F, Document)>) -> Result<Vec<(F, Document)>, Error> {
        self.check_names(true)?;
        let lengths = named.iter().map(|(_, document)| document.name().len());
        if let Some((number, bytes)) = lengths.enumerate().find(|(_, bytes)| *bytes > MAX_NAME_BYTES) {
            return Err(Error::NameTooLong { number, bytes });
        }
        let of_name = |(_, name): &(F, Document)| 2 + name.len().div_ceil(NAME_BYTES_PER_OPERATION);
        let count = named.iter().map(of_name).sum();
        if count > MAX_OPERATIONS {
            return Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS });
        }
        self.check(std::iter::empty(), named.len())?;
        Ok(named)
    }
}
