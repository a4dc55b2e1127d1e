//! The requests of writers.

use hamdex::{Fingerprint, ReadError};

use crate::view::View;
use crate::write::batch::{Batch, Operation};
use crate::write::document::Document;
use crate::write::reply::Reply;
use crate::write::unless_near::decide::UnlessNear;

/// A request of a writer, which is applied atomically.
pub(crate) enum Request<F> {
    /// Operations to apply in order.
    Batch(Vec<Operation<F>>),
    /// Fingerprints to insert with names, with ids that the store assigns.
    Named(Vec<(F, Document)>),
    /// Fingerprints of which all pairs are to be removed.
    RemoveFingerprints(Vec<F>),
    /// Pairs to insert in order, each unless a fingerprint is near to it.
    UnlessNear(UnlessNear<F>),
}

impl<F: Fingerprint> Request<F> {
    /// Whether it can neither fail nor be rejected, so that it can be applied in place.
    pub(crate) fn always_succeeds(&self) -> bool {
        match self {
            Self::Batch(operations) => operations.iter().all(|o| matches!(o, Operation::Insert(..))),
            _ => false,
        }
    }

    /// Whether it cannot add a pair.
    pub(crate) fn only_removes(&self) -> bool {
        match self {
            Self::Batch(operations) => operations.iter().all(|o| matches!(o, Operation::Remove(..))),
            Self::RemoveFingerprints(_) => true,
            Self::Named(_) | Self::UnlessNear(_) => false,
        }
    }

    /// Returns the number of pairs that it may add.
    pub(crate) fn pairs(&self) -> u64 {
        let pairs = match self {
            Self::Batch(operations) => {
                operations.iter().filter(|o| matches!(o, Operation::Insert(..))).count()
            }
            Self::Named(named) => named.len(),
            Self::RemoveFingerprints(_) => 0,
            Self::UnlessNear(request) => request.pairs.len(),
        };
        pairs as u64
    }

    /// Applies the request to a view. Appends the effective operations to `effective`.
    ///
    /// # Errors
    /// When a segment is damaged. The request has been applied in part then.
    pub(crate) fn apply(self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, ReadError> {
        match self {
            Self::Named(named) => {
                let first = view.insert_named(&named, effective);
                Ok(first.map_or(Reply::NoIdsLeft, Reply::Named))
            }
            Self::Batch(operations) => view.apply(&operations, effective).map(Reply::Written),
            Self::RemoveFingerprints(fingerprints) => {
                let mut operations = Vec::new();
                for fingerprint in fingerprints {
                    let ids = view.ids(fingerprint)?;
                    operations.extend(ids.into_iter().map(|id| Operation::Remove(fingerprint, id)));
                }
                view.apply(&operations, effective).map(Reply::Written)
            }
            Self::UnlessNear(request) => request.apply(view, effective),
        }
    }
}
