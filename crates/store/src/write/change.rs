//! Batches of operations, and removal, also by id and by name.

use std::collections::HashSet;

use hamdex::{Fingerprint, ReadError};

use crate::error::Error;
use crate::log::MAX_OPERATIONS;
use crate::store::Store;
use crate::view::{View, Written};
use crate::write::batch::{Batch, Operation, Pair};
use crate::write::reply::Reply;
use crate::write::request::Request;

impl<F: Fingerprint> Store<F> {
    /// Removes a pair. Returns whether it was stored.
    ///
    /// # Errors
    /// As for [`Store::put`], and when a block that has to be read is damaged.
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

    /// Commits a request that inserts or removes pairs.
    fn written(&self, request: Request<F>) -> Result<Written, Error> {
        match self.commit(request)? {
            Reply::Written(written) => Ok(written),
            reply => Err(self.refused(&reply)),
        }
    }

    /// Returns the error of a reply to a request that had no effect.
    pub(super) fn refused(&self, reply: &Reply<F>) -> Error {
        match *reply {
            Reply::TooLarge(count) => Error::BatchTooLarge { count, max: MAX_OPERATIONS },
            _ => self.no_ids_left(),
        }
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
            return Ok(self.written(Request::RemoveIds(ids.clone()))?.removed);
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
            return Ok(self.written(Request::RemoveNames(names.clone()))?.removed);
        }
        let ids = self.snapshot().view().ids_of_names(names)?;
        // Also without any: that nothing has these names is an answer as well.
        self.remove_ids(&ids)
    }

    /// Reads the pairs with these ids, so that the leader of the group commit does not wait for storage.
    pub(super) fn warm(&self, ids: &HashSet<u64>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_ids(ids)?;
        Ok(())
    }

    /// Reads as [`Self::warm`] the pairs with these names, and records which of their ids have gone.
    pub(super) fn warm_names(&self, names: &HashSet<Vec<u8>>) -> Result<(), Error> {
        self.snapshot().view().pairs_with_names(names, true)?;
        Ok(())
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
}

/// Returns the removals of pairs.
pub(super) fn removals<F>(pairs: Vec<Pair<F>>) -> Vec<Operation<F>> {
    pairs.into_iter().map(|(fingerprint, id)| Operation::Remove(fingerprint, id)).collect()
}
