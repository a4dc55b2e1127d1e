//! What writers ask for, and what they are told.

use std::sync::Arc;

use hamdex::{Engine, Match, ReadError};

use crate::batch::Batch;
use crate::disk::Disk;
use crate::operation::Operation;
use crate::pair::Pair;
use crate::recent::Recent;
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
    /// What was recent in that state; its epoch, and its removals.
    pub(crate) recent: Recent<F>,
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
            Self::Batch(operations) => operations.len(),
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
        let Self { pairs, names, distance, nearest, recent, removals, .. } = self;
        let (has_come, has_gone) = (!state.recent.is_same(&recent), state.removals != removals);
        // What of this request comes before a pair.
        let (mut own, mut new) = (Recent::new(distance), Vec::new());
        let mut outcomes = Vec::with_capacity(pairs.len());
        for (number, (&pair, known)) in pairs.iter().zip(nearest).enumerate() {
            if let Some(known) = known
                && has_gone
                && !state.contains(known.fingerprint)?
            {
                return Ok(Reply::SearchAgain);
            }
            let come = if has_come { state.recent.nearest(pair.0, distance) } else { None };
            let nearest = known.into_iter().chain(come).chain(own.nearest(pair.0, distance)).min();
            if nearest.is_none() {
                own.insert(&[pair]);
                new.push(number);
            }
            outcomes.push(nearest);
        }
        match names {
            None => {
                let new: Vec<Pair<F>> = new.into_iter().map(|number| pairs[number]).collect();
                state.recent.insert(&new);
                effective.operations.extend(new.into_iter().map(|(value, id)| Operation::Insert(value, id)));
            }
            Some(names) => {
                let named = |number: usize| (pairs[number].0, Arc::clone(&names[number]));
                let new: Vec<_> = new.into_iter().map(named).collect();
                if state.insert_named(&new, effective).is_none() {
                    return Ok(Reply::NoIdsLeft);
                }
            }
        }
        Ok(Reply::UnlessNear(outcomes))
    }
}
