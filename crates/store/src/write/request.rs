//! The requests of writers, and the replies.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hamdex::{Fingerprint, Match, ReadError};

use crate::error::Error;
use crate::manifest::identity::Identity;
use crate::view::{View, Written};
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
    /// Records to store in order, each unless something is near or similar to it.
    Conditional(Box<dyn Conditional<F>>),
}

/// A request to store records, with the results of a search for each.
pub(crate) trait Conditional<F>: Send {
    /// Returns the number of its records.
    fn records(&self) -> usize;

    /// Applies the request to a view that may be newer than the one of the search. The view may have changed in part
    /// unless the reply is [`Reply::Put`].
    fn apply(self: Box<Self>, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error>;
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
            Self::Named(_) | Self::Upsert(_) | Self::UpsertNamed(_) | Self::Conditional(_) => false,
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
            Self::Conditional(request) => request.records(),
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
            Self::Conditional(request) => return request.apply(view, effective),
        };
        Ok(reply?)
    }
}

/// The reply to a request.
pub(crate) enum Reply<F> {
    Written(Written),
    /// The first assigned id, which the others follow, and the effect.
    Named(u64, Written),
    /// Too few ids are left.
    NoIdsLeft,
    /// The number of operations that the request would take, which exceeds that of a batch. It had no effect.
    TooLarge(usize),
    /// The outcome of each record of a conditional insertion.
    Put(Put<F>),
    /// The search has to be repeated: newer pairs have been flushed, or a near fingerprint has been removed. The
    /// request had no effect.
    SearchAgain,
}

impl<F> Reply<F> {
    /// Whether the request was refused: its changes of the view are discarded.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Self::NoIdsLeft | Self::TooLarge(_) | Self::SearchAgain => true,
            Self::Written(_) | Self::Named(..) | Self::Put(_) => false,
        }
    }
}

/// The result of a [`Store::put`](crate::Store::put).
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Put<F> {
    /// The outcome of each record, in order.
    pub outcomes: Vec<Inserted<F>>,
    /// The pairs that were inserted, including pairs that were stored before; with
    /// [`When::replacing`](crate::When::replacing), without them.
    pub inserted: u64,
    /// The pairs that were removed for others with their id or name.
    pub removed: u64,
}

impl<F> Put<F> {
    /// Returns the ids of the records that were stored, in their order: see [`Inserted::New`].
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.outcomes.iter().filter_map(Inserted::id)
    }
}

/// The outcome of a record of [`Store::put`](crate::Store::put).
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted<F> {
    /// The record is stored.
    New {
        /// Its id: assigned by the store in a store with names, otherwise given by the caller. Of several records that
        /// are to replace what has one id or name without a condition, all have the id of the last.
        id: u64,
    },
    /// A stored fingerprint was near, and nothing was inserted.
    Near(Box<Near<F>>),
    /// A stored document was similar, and nothing was inserted.
    Similar(Box<Similar>),
}

/// The most similar stored document at the moment of the decision about an insertion.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Similar {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: Arc<[u8]>,
    /// How similar it is, by the measure of the condition.
    pub similarity: f64,
}

/// The nearest stored fingerprint at the moment of the decision about an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Near<F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// Its Hamming distance, in bits.
    pub distance: u32,
    /// Its first ids, ascending, at most [`Near::MAX_IDS`], and fewer with long names; at least one, but none in a store
    /// without ids. [`Snapshot::ids`](crate::Snapshot::ids) has all.
    pub ids: Vec<u64>,
    /// The number of all its ids.
    pub all_ids: u64,
    /// The names of these ids, in a store with names.
    pub names: Vec<Arc<[u8]>>,
}

impl<F> Near<F> {
    /// The most ids of an outcome: many records may be near a fingerprint with very many ids.
    pub const MAX_IDS: usize = 10;

    /// Bytes of names after which no further id is in an outcome.
    const MAX_NAME_BYTES: usize = 4096;
}

impl<F> Inserted<F> {
    /// Whether the pair was inserted.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self, Self::New { .. })
    }

    /// Returns the near fingerprint, if there was one.
    #[must_use]
    pub fn near(&self) -> Option<&Near<F>> {
        match self {
            Self::New { .. } | Self::Similar(_) => None,
            Self::Near(near) => Some(near),
        }
    }

    /// Returns the similar document, if there was one.
    #[must_use]
    pub fn similar(&self) -> Option<&Similar> {
        match self {
            Self::New { .. } | Self::Near(_) => None,
            Self::Similar(similar) => Some(similar),
        }
    }

    /// Returns the id of the pair, if it was inserted.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::New { id } => Some(*id),
            Self::Near(_) | Self::Similar(_) => None,
        }
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns a match with its ids and their names in this view.
    pub(crate) fn near(&self, found: Match<F>, identity: &Identity) -> Result<Near<F>, ReadError> {
        match identity.has_ids {
            true => self.near_beside(found, identity.has_names, &BTreeSet::new(), &mut HashMap::new()),
            false => {
                let Match { fingerprint, distance, .. } = found;
                Ok(Near { fingerprint, distance, ids: Vec::new(), all_ids: 0, names: Vec::new() })
            }
        }
    }

    /// Returns a match with its ids and their names, except those of these stored pairs, in a store with ids. `counted`
    /// has the numbers of ids of fingerprints in this view, as far as they are known.
    pub(crate) fn near_beside(
        &self,
        found: Match<F>,
        has_names: bool,
        owned: &BTreeSet<Pair<F>>,
        counted: &mut HashMap<F, u64>,
    ) -> Result<Near<F>, ReadError> {
        let Match { fingerprint, distance, .. } = found;
        let own = owned.range((fingerprint, 0)..=(fingerprint, u64::MAX)).count();
        let known = counted.get(&fingerprint).copied();
        // A count reads all ids of a crowd.
        let (ids, all_ids) =
            self.first_ids(fingerprint, has_names || known.is_some(), Near::<F>::MAX_IDS + own)?;
        let all_ids = *counted.entry(fingerprint).or_insert(all_ids);
        let ids = ids.into_iter().map(|stored| stored.id);
        let others = ids.filter(|&id| !owned.contains(&(fingerprint, id)));
        let mut ids: Vec<u64> = others.take(Near::<F>::MAX_IDS).collect();
        let all_ids = all_ids.saturating_sub(own as u64);
        let (mut names, mut bytes) = (Vec::new(), 0);
        if has_names {
            for &id in &ids {
                let name: Arc<[u8]> = Arc::from(self.name(id)?.unwrap_or_default());
                bytes += name.len();
                if !names.is_empty() && bytes > Near::<F>::MAX_NAME_BYTES {
                    break;
                }
                names.push(name);
            }
            ids.truncate(names.len());
        }
        Ok(Near { fingerprint, distance, ids, all_ids, names })
    }
}

/// Fingerprints that are near to records, each looked up once.
#[derive(Default)]
pub(crate) struct Nears<F>(HashMap<F, Near<F>>);

impl<F: Fingerprint> Nears<F> {
    /// Returns a match that was looked up with its ids and their names.
    pub(crate) fn get(&self, found: Match<F>) -> Option<Near<F>> {
        Some(Near { distance: found.distance, ..self.0.get(&found.fingerprint)?.clone() })
    }

    /// Returns a match with its ids and their names in a view, always the same one.
    pub(crate) fn of(
        &mut self,
        view: &View<F>,
        found: Match<F>,
        identity: &Identity,
    ) -> Result<Near<F>, ReadError> {
        if let Some(near) = self.get(found) {
            return Ok(near);
        }
        let near = view.near(found, identity)?;
        self.0.insert(found.fingerprint, near.clone());
        Ok(near)
    }
}
