//! Unconditional insertion and removal.

use hamdex::Fingerprint;

use crate::error::Error;
use crate::store::Store;
use crate::view::Written;
use crate::write::batch::Operation;
use crate::write::reply::Reply;
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
    pub(crate) fn check_operations(&self, operations: &[Operation<F>]) -> Result<(), Error> {
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
