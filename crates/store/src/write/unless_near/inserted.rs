//! The outcome of insertions that take place unless something is near.

use std::sync::Arc;

use hamdex::{Fingerprint, Match, ReadError};

use crate::manifest::identity::Identity;
use crate::view::View;

/// The outcome of an insertion that takes place unless something is near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inserted<F> {
    /// Nothing was near: the pair has been inserted.
    New {
        /// Its id: the one that the store has given, in a store with names; otherwise the caller's.
        id: u64,
    },
    /// Something was near: nothing has been inserted.
    Near(Near<F>),
}

/// The stored fingerprint that was nearest, as it was at the moment that decided about an insertion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Near<F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// How many bits it differs in.
    pub distance: u32,
    /// Its ids, ascending: at least one in a store with ids, none in one without.
    pub ids: Vec<u64>,
    /// The names of these ids, in a store with names.
    pub names: Vec<Arc<[u8]>>,
}

impl<F> Inserted<F> {
    /// Whether the pair has been inserted.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self, Self::New { .. })
    }

    /// The fingerprint that was near, if there was one.
    #[must_use]
    pub fn near(&self) -> Option<&Near<F>> {
        match self {
            Self::New { .. } => None,
            Self::Near(near) => Some(near),
        }
    }

    /// The id of the pair that has been inserted, if it has been.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::New { id } => Some(*id),
            Self::Near(_) => None,
        }
    }
}

impl<F: Fingerprint> View<F> {
    /// A fingerprint that was found near, with its ids and their names in this state.
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
