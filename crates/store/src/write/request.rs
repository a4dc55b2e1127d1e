//! What writers ask for, and what they are told.

use std::sync::Arc;

use hamdex::{Engine, Match, ReadError};

use crate::batch::Batch;
use crate::disk::Disk;
use crate::operation::Operation;
use crate::pair::Pair;
use crate::state::{State, Written};

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

/// Pairs to be inserted unless something is near.
pub(crate) struct UnlessNear<F> {
    pub(crate) pairs: Vec<Pair<F>>,
    /// In a store with names, what each of them is to be called; the ids of the pairs have no meaning then.
    pub(crate) names: Option<Vec<Arc<[u8]>>>,
    pub(crate) distance: u32,
    /// What was nearest to each in a state that had been published.
    pub(crate) nearest: Vec<Option<Match<F>>>,
    /// The epoch of that state, and its removals.
    pub(crate) epoch: u64,
    pub(crate) removals: u64,
}

/// What a writer is told.
pub(crate) enum Reply<F> {
    Written(Written),
    /// The first id that was given; the others follow it.
    Named(u64),
    /// There are not so many ids left.
    NoIdsLeft,
    /// For each pair what is near to it; `None` where nothing is, and the pair has been inserted.
    UnlessNear(Vec<Option<Match<F>>>),
    /// Pairs have moved, or what was near has gone: search again. Nothing has happened.
    SearchAgain,
}

impl<F: Engine> Request<F> {
    /// Whether it can neither fail nor be refused, so that it may be applied in place.
    pub(crate) fn always_succeeds(&self) -> bool {
        match self {
            Self::Batch(operations) => operations.iter().all(|o| matches!(o, Operation::Insert(..))),
            _ => false,
        }
    }

    /// Does what is asked for to a state. Appends the operations that changed something to `effective`.
    ///
    /// # Errors
    /// When a file is damaged: part of it has happened then.
    pub(crate) fn apply<D: Disk>(
        self,
        state: &mut State<F, D>,
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        match self {
            Self::Named(named) => {
                let first = state.insert_named(&named, effective);
                Ok(first.map_or(Reply::NoIdsLeft, Reply::Named))
            }
            Self::Batch(operations) => state.apply(&operations, effective).map(Reply::Written),
            Self::RemoveFingerprints(fingerprints) => {
                let mut operations = Vec::new();
                for fingerprint in fingerprints {
                    let ids = state.ids(fingerprint)?;
                    operations.extend(ids.into_iter().map(|id| Operation::Remove(fingerprint, id)));
                }
                state.apply(&operations, effective).map(Reply::Written)
            }
            Self::UnlessNear(request) => request.apply(state, effective),
        }
    }
}

impl<F: Engine> UnlessNear<F> {
    /// The search has been done on a state that others have changed since: what has come since is in recent
    /// memory, as long as the epoch is the same, and what has gone is looked for again.
    fn apply<D: Disk>(
        self,
        state: &mut State<F, D>,
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, ReadError> {
        if state.epoch != self.epoch {
            return Ok(Reply::SearchAgain);
        }
        let mut outcomes = Vec::with_capacity(self.pairs.len());
        for (number, (&(fingerprint, id), known)) in self.pairs.iter().zip(self.nearest).enumerate() {
            if let Some(known) = known
                && state.removals != self.removals
                && !state.contains(known.fingerprint)?
            {
                return Ok(Reply::SearchAgain);
            }
            let recent = state.recent.nearest(fingerprint, self.distance);
            let nearest = known.into_iter().chain(recent).min();
            match &self.names {
                _ if nearest.is_some() => {}
                None => {
                    state.recent.insert(&[(fingerprint, id)]);
                    effective.operations.push(Operation::Insert(fingerprint, id));
                }
                Some(names) => {
                    let named = [(fingerprint, Arc::clone(&names[number]))];
                    if state.insert_named(&named, effective).is_none() {
                        return Ok(Reply::NoIdsLeft);
                    }
                }
            }
            outcomes.push(nearest);
        }
        Ok(Reply::UnlessNear(outcomes))
    }
}
