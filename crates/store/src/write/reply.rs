//! The replies to the requests of writers, and the outcomes of conditional insertions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hamdex::{Fingerprint, Match, ReadError};

use crate::manifest::identity::Identity;
use crate::view::{View, Written};
use crate::write::Pair;

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

/// The result of a [`Store::put`](crate::Store::put).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Put<F> {
    /// The outcome of each record, in order.
    pub outcomes: Vec<Inserted<F>>,
    /// The pairs that were inserted, whether or not they were stored before; with
    /// [`When::replacing`](crate::When::replacing) only those that were not.
    pub inserted: u64,
    /// The pairs that were removed for others with their id or name.
    pub removed: u64,
}

impl<F> Default for Put<F> {
    fn default() -> Self {
        Self { outcomes: Vec::new(), inserted: 0, removed: 0 }
    }
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
    /// Returns a match with its ids and their names in a view, always the same one.
    pub(crate) fn of(
        &mut self,
        view: &View<F>,
        found: Match<F>,
        identity: &Identity,
    ) -> Result<Near<F>, ReadError> {
        let near = match self.0.get(&found.fingerprint) {
            Some(near) => near.clone(),
            None => {
                let near = view.near(found, identity)?;
                self.0.insert(found.fingerprint, near.clone());
                near
            }
        };
        Ok(Near { distance: found.distance, ..near })
    }
}
