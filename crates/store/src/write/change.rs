//! Unconditional insertion, also with names and shingles; replacement and removal, also by id and by name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hamdex::{Fingerprint, MAX_NAME_BYTES, ReadError, shingles};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::view::{View, Written};
use crate::write::batch::{Batch, Document, Operation, Pair};
use crate::write::reply::{Inserted, Reply};
use crate::write::request::Request;

impl<F: Fingerprint> Store<F> {
    /// Inserts a pair. In a store without ids the id must be 0.
    ///
    /// # Errors
    /// When the pair cannot be made as durable as the options of the store require.
    pub fn insert(&self, fingerprint: F, id: u64) -> Result<(), Error> {
        self.write(vec![Operation::Insert(fingerprint, id)]).map(drop)
    }

    /// Removes a pair. Returns whether it was stored.
    ///
    /// # Errors
    /// As for [`Store::insert`], and when a block that has to be read is damaged.
    pub fn remove(&self, fingerprint: F, id: u64) -> Result<bool, Error> {
        Ok(self.write(vec![Operation::Remove(fingerprint, id)])?.removed == 1)
    }

    /// Applies a batch of operations in order, atomically.
    ///
    /// # Errors
    /// As for [`Store::remove`]; the store is unchanged then.
    pub fn write(&self, operations: Vec<Operation<F>>) -> Result<Written, Error> {
        self.check_operations(&operations)?;
        self.written(Request::Batch(operations))
    }

    /// Rejects operations that do not fit the store.
    fn check_operations(&self, operations: &[Operation<F>]) -> Result<(), Error> {
        self.check(operations.iter().map(|operation| operation.pair().1), operations.len())?;
        if operations.iter().any(|operation| matches!(operation, Operation::Insert(..))) {
            self.check_names(false)?;
        }
        Ok(())
    }

    /// Removes all pairs of a fingerprint. Returns their number.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprint(&self, fingerprint: F) -> Result<u64, Error> {
        self.inner().check_open()?;
        Ok(self.written(Request::RemoveFingerprints(vec![fingerprint]))?.removed)
    }

    /// Removes all pairs of some fingerprints, atomically. [`Written::absent`] is 0.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_fingerprints(&self, fingerprints: Vec<F>) -> Result<Written, Error> {
        self.check(std::iter::empty(), fingerprints.len())?;
        self.written(Request::RemoveFingerprints(fingerprints))
    }

    fn written(&self, request: Request<F>) -> Result<Written, Error> {
        match self.commit(request)? {
            Reply::Written(written) => Ok(written),
            _ => unreachable!("a batch needs no search and no ids"),
        }
    }
}

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

impl<F: Fingerprint> Store<F> {
    /// Makes each pair the only one with its id, atomically: other fingerprints of the id are removed. Of several pairs
    /// with one id, the last counts. Returns how many pairs have been inserted and removed.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let create = CreateOptions::new().lookups(true);
    /// let store = Store::<u64>::create(directory.path().join("pages"), &create, StoreOptions::new())?;
    /// store.insert(0x00ff, 17)?;
    /// let written = store.upsert(&[(0xff00, 17)])?;
    /// assert_eq!((written.inserted, written.removed), (1, 1));
    /// assert_eq!(store.snapshot().fingerprints_of(17)?, [0xff00]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the store has names, or no look-ups; otherwise as for [`Store::remove`].
    pub fn upsert(&self, pairs: &[(F, u64)]) -> Result<Written, Error> {
        self.check(pairs.iter().map(|pair| pair.1), pairs.len())?;
        self.check_names(false)?;
        self.check_lookups()?;
        self.warm(&pairs.iter().map(|pair| pair.1).collect())?;
        self.changed(Request::Upsert(pairs.to_vec()))
    }

    /// Replaces the pairs of each name by a new one, in a store with names, which assigns the ids. Of several with one
    /// name, the last counts. Returns how many pairs have been inserted and removed.
    ///
    /// # Errors
    /// When the store has no names, has shingles, or has no look-ups; otherwise as for [`Store::remove`].
    pub fn upsert_named(&self, named: &[(F, impl AsRef<[u8]>)]) -> Result<Written, Error> {
        self.upsert_checked(self.named(named)?)
    }

    /// Replaces as [`Store::upsert_named`] in a store with shingles: see [`Store::insert_documents`].
    ///
    /// # Errors
    /// As for [`Store::insert_documents`]; when the store has no look-ups, or a block that has to be read is damaged.
    pub fn upsert_documents(&self, documents: &[(F, impl AsRef<[u8]>, &[u64])]) -> Result<Written, Error> {
        self.upsert_checked(self.documents(documents)?)
    }

    /// Removes all pairs with one of these ids. Returns their number. In a store without look-ups it reads the whole
    /// set once.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_ids(&self, ids: &HashSet<u64>) -> Result<u64, Error> {
        self.inner().check_open()?;
        if self.inner().schema.lookups {
            self.warm(ids)?;
            return Ok(self.changed(Request::RemoveIds(ids.clone()))?.removed);
        }
        let pairs = self.snapshot().view().pairs_with_ids(ids)?;
        self.inner().check_held()?;
        Ok(if pairs.is_empty() { 0 } else { self.write(removals(pairs))?.removed })
    }

    /// Removes all pairs whose ids have one of these names. Returns their number. In a store without look-ups it reads
    /// all names and the whole set once.
    ///
    /// # Errors
    /// As for [`Store::remove`].
    pub fn remove_names(&self, names: &HashSet<Vec<u8>>) -> Result<u64, Error> {
        self.check_names(true)?;
        if self.inner().schema.lookups {
            self.warm_names(names)?;
            return Ok(self.changed(Request::RemoveNames(names.clone()))?.removed);
        }
        let ids = self.snapshot().view().ids_of_names(names)?;
        // Also without any: that nothing has these names is an answer as well.
        self.remove_ids(&ids)
    }

    fn upsert_checked(&self, named: Vec<(F, Document)>) -> Result<Written, Error> {
        self.check_lookups()?;
        self.warm_names(&named.iter().map(|(_, name)| name.name().to_vec()).collect())?;
        self.changed(Request::UpsertNamed(named))
    }

    /// Reads the pairs with these ids, so that the leader of the group commit does not wait for storage.
    fn warm(&self, ids: &HashSet<u64>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_ids(ids)?;
        Ok(())
    }

    /// Reads as [`Self::warm`] the pairs with these names, and records which of their ids have gone.
    fn warm_names(&self, names: &HashSet<Vec<u8>>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_names(names, true)?;
        Ok(())
    }

    fn changed(&self, request: Request<F>) -> Result<Written, Error> {
        match self.commit(request)? {
            Reply::Written(written) => Ok(written),
            Reply::TooLarge(count) => Err(Error::BatchTooLarge { count, max: MAX_OPERATIONS }),
            _ => Err(self.no_ids_left()),
        }
    }

    pub(crate) fn check_lookups(&self) -> Result<(), Error> {
        if self.inner().schema.lookups {
            return Ok(());
        }
        Err(Error::NoLookups { path: self.inner().disk.path("") })
    }
}

impl<F: Fingerprint> View<F> {
    /// Removes all pairs with one of these ids.
    pub(crate) fn remove_ids(
        &mut self,
        ids: &HashSet<u64>,
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        let operations = removals(self.pairs_with_ids(ids)?);
        if operations.len() > MAX_OPERATIONS {
            return Ok(Reply::TooLarge(operations.len()));
        }
        self.apply(&operations, effective).map(Reply::Written)
    }

    /// Makes each pair the only one with its id.
    pub(crate) fn upsert(
        &mut self,
        pairs: &[Pair<F>],
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        let last: HashMap<u64, F> = pairs.iter().map(|&(fingerprint, id)| (id, fingerprint)).collect();
        let stored = self.pairs_with_ids(&last.keys().copied().collect())?;
        let (kept, replaced): (Vec<_>, Vec<_>) =
            stored.into_iter().partition(|(fingerprint, id)| last[id] == *fingerprint);
        let kept: HashSet<u64> = kept.into_iter().map(|pair| pair.1).collect();
        let mut new: Vec<Pair<F>> =
            last.into_iter().map(|(id, value)| (value, id)).filter(|pair| !kept.contains(&pair.1)).collect();
        // The same requests write the same log.
        new.sort_unstable();
        let mut operations = removals(replaced);
        operations.extend(new.into_iter().map(|(value, id)| Operation::Insert(value, id)));
        if operations.len() > MAX_OPERATIONS {
            return Ok(Reply::TooLarge(operations.len()));
        }
        self.apply(&operations, effective).map(Reply::Written)
    }

    /// Replaces the pairs of each name by a new one.
    pub(crate) fn upsert_named(
        &mut self,
        named: &[(F, Document)],
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        let mut seen = HashSet::new();
        let mut last: Vec<(F, Document)> =
            named.iter().rev().filter(|(_, name)| seen.insert(name.name().to_vec())).cloned().collect();
        last.reverse();
        let ids = self.ids_of_names(&seen)?;
        let written = match self.remove_ids(&ids, effective)? {
            Reply::Written(written) => written,
            other => return Ok(other),
        };
        let inserted = last.len() as u64;
        let first = self.insert_named(&last, effective);
        Ok(first.map_or(Reply::NoIdsLeft, |_| Reply::Written(Written { inserted, ..written })))
    }
}

fn removals<F>(pairs: Vec<Pair<F>>) -> Vec<Operation<F>> {
    pairs.into_iter().map(|(fingerprint, id)| Operation::Remove(fingerprint, id)).collect()
}
