//! The requests of writers.

use std::sync::Arc;

use hamdex::{Fingerprint, ReadError};

use crate::view::View;
use crate::write::batch::{Batch, Operation};
use crate::write::reply::Reply;
use crate::write::unless_near::decide::UnlessNear;

/// What a writer asks for: all of it happens, or nothing.
pub(crate) enum Request<F> {
    /// These operations, in this order.
    Batch(Vec<Operation<F>>),
    /// To insert fingerprints with names, by ids that the store gives.
    Named(Vec<(F, Arc<[u8]>)>),
    /// To remove all pairs of these fingerprints.
    RemoveFingerprints(Vec<F>),
    /// To insert pairs, in order, each unless something is near to it by then.
    UnlessNear(UnlessNear<F>),
}

impl<F: Fingerprint> Request<F> {
    /// Whether it can neither fail nor be refused, so that it may be applied in place.
    pub(crate) fn always_succeeds(&self) -> bool {
        match self {
            Self::Batch(operations) => operations.iter().all(|o| matches!(o, Operation::Insert(..))),
            _ => false,
        }
    }

    /// Whether it adds no pair, whatever it finds.
    pub(crate) fn only_removes(&self) -> bool {
        match self {
            Self::Batch(operations) => operations.iter().all(|o| matches!(o, Operation::Remove(..))),
            Self::RemoveFingerprints(_) => true,
            Self::Named(_) | Self::UnlessNear(_) => false,
        }
    }

    /// How many pairs it may add.
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

    /// Does what is asked for to a state. Appends the operations that changed something to `effective`.
    ///
    /// # Errors
    /// When a file is damaged: part of it has happened then.
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
