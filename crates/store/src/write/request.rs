//! The requests of writers.

use std::collections::HashSet;

use hamdex::Fingerprint;

use crate::error::Error;
use crate::view::{View, Written};
use crate::write::reply::Reply;
use crate::write::unless_near::decisions::{ReplaceUnlessNear, UnlessNear};
use crate::write::unless_similar::decisions::UnlessSimilar;
use crate::write::{Batch, Document, Operation, Pair};

/// A request of a writer, which is applied atomically.
pub(crate) enum Request<F: Fingerprint> {
    /// Operations to apply in order.
    Batch(Vec<Operation<F>>),
    /// Fingerprints to insert with names, with ids that the store assigns.
    Named(Vec<(F, Document)>),
    /// Fingerprints of which all pairs are to be removed.
    RemoveFingerprints(Vec<F>),
    /// Ids of which all pairs are to be removed.
    RemoveIds(HashSet<u64>),
    /// Names of which all pairs are to be removed.
    RemoveNames(HashSet<Vec<u8>>),
    /// Pairs with different ids, of which each is to be the only one with its id.
    Upsert(Vec<Pair<F>>),
    /// Fingerprints with different names, of which each is to be the only one with its name.
    UpsertNamed(Vec<(F, Document)>),
    /// Pairs to insert in order, each unless a fingerprint is near to it.
    UnlessNear(UnlessNear<F>),
    /// Pairs of which each is to be the only one with its id or name, unless a fingerprint of another is near to it.
    ReplaceUnlessNear(Box<ReplaceUnlessNear<F>>),
    /// Documents to insert in order, each unless another is similar to it.
    UnlessSimilar(Box<UnlessSimilar<F>>),
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
            Self::RemoveFingerprints(_) | Self::RemoveIds(_) | Self::RemoveNames(_) => true,
            Self::Named(_)
            | Self::Upsert(_)
            | Self::UpsertNamed(_)
            | Self::UnlessNear(_)
            | Self::ReplaceUnlessNear(_)
            | Self::UnlessSimilar(_) => false,
        }
    }

    /// Returns the number of pairs that it may add.
    pub(crate) fn pairs(&self) -> u64 {
        let pairs = match self {
            Self::Batch(operations) => {
                operations.iter().filter(|o| matches!(o, Operation::Insert(..))).count()
            }
            Self::Named(named) | Self::UpsertNamed(named) => named.len(),
            Self::RemoveFingerprints(_) | Self::RemoveIds(_) | Self::RemoveNames(_) => 0,
            Self::Upsert(pairs) => pairs.len(),
            Self::UnlessNear(request) => request.pairs.len(),
            Self::ReplaceUnlessNear(request) => request.pairs.len(),
            Self::UnlessSimilar(request) => request.named.len(),
        };
        pairs as u64
    }

    /// Applies the request to a view. Appends the effective operations to `effective`.
    ///
    /// # Errors
    /// When a segment is damaged. The request has been applied in part then.
    pub(crate) fn apply(self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error> {
        let reply = match self {
            Self::Named(named) => {
                let written = Written { inserted: named.len() as u64, ..Written::default() };
                let first = view.insert_named(&named, effective);
                Ok(first.map_or(Reply::NoIdsLeft, |first| Reply::Named(first, written)))
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
            Self::RemoveIds(ids) => view.remove_ids(&ids, effective).map(Reply::Written),
            Self::RemoveNames(names) => {
                view.remove_ids(&view.ids_of_names(&names)?, effective).map(Reply::Written)
            }
            Self::Upsert(pairs) => view.upsert(&pairs, effective).map(Reply::Written),
            Self::UpsertNamed(named) => view.upsert_named(&named, effective),
            Self::UnlessNear(request) => request.apply(view, effective),
            Self::ReplaceUnlessNear(request) => return request.apply(view, effective),
            Self::UnlessSimilar(request) => return request.apply(view, effective),
        };
        Ok(reply?)
    }
}
