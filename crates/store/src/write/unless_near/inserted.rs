//! The outcomes of conditional insertions.

use std::sync::Arc;

use hamdex::{Fingerprint, Match, ReadError};

use crate::manifest::identity::Identity;
use crate::view::View;

/// The outcome of an [insertion unless something is near](crate::Store::insert_unless_near).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inserted<F> {
    /// Nothing was near, and the pair was inserted.
    New {
        /// Its id: assigned by the store in a store with names, otherwise given by the caller.
        id: u64,
    },
    /// A stored fingerprint was near, and nothing was inserted.
    Near(Near<F>),
}

/// The nearest stored fingerprint at the moment of the decision about an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Near<F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// Its Hamming distance, in bits.
    pub distance: u32,
    /// Its ids, ascending; at least one, but none in a store without ids.
    pub ids: Vec<u64>,
    /// The names of these ids, in a store with names.
    pub names: Vec<Arc<[u8]>>,
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
            Self::New { .. } => None,
            Self::Near(near) => Some(near),
        }
    }

    /// Returns the id of the pair, if it was inserted.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::New { id } => Some(*id),
            Self::Near(_) => None,
        }
    }
}

impl<F: Fingerprint> View<F> {
    /// Returns a match with its ids and their names in this view.
    pub(crate) fn near(&self, found: Match<F>, identity: &Identity) -> Result<Near<F>, ReadError> {
        let Match { fingerprint, distance, .. } = found;
        let ids = if identity.has_ids { self.ids(fingerprint)? } else { Vec::new() };
        let mut names = Vec::new();
        if identity.has_names {
            for &id in &ids {
                names.push(Arc::from(self.name(id)?.unwrap_or_default()));
            }
        }
        Ok(Near { fingerprint, distance, ids, names })
    }
}
