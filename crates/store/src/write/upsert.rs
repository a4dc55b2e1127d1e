//! Replacement and removal by id and by name.

use std::collections::{HashMap, HashSet};

use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::view::{View, Written};
use crate::write::batch::{Batch, Operation, Pair};
use crate::write::document::Document;
use crate::write::reply::Reply;
use crate::write::request::Request;

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
