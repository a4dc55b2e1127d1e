//! Documents that an index or a store already has.

use hamdex::{Fingerprint, Match, SetSearcher};
use hamdex_documents::{Clusters, Error, Known, Reference};
use rayon::prelude::*;
use serde::Serialize;

use crate::failure::Failure;
use crate::ids::Ids;
use crate::set::Set;

/// The most ids shown of a stored fingerprint.
const MAX_IDS: usize = 10;

/// An index file or a store of known documents.
pub(super) struct Against<'s, F>(pub(super) Set<'s, F>);

impl<F: Fingerprint> Reference<F> for Against<'_, F> {
    fn nearest(&self, fingerprints: &[Option<F>], distance: u32) -> Result<Vec<Option<Match<F>>>, Error> {
        let nearest = fingerprints.par_iter().map_init(
            || self.0.set.open_searcher(),
            |searcher, fingerprint| match fingerprint {
                Some(fingerprint) => Ok(searcher.nearest_within(*fingerprint, 1, distance)?.first().copied()),
                None => Ok(None),
            },
        );
        nearest.map(|found: Result<_, Failure>| found.map_err(of_failure)).collect()
    }
}

fn of_failure(failure: Failure) -> Error {
    match failure {
        Failure::Index(error) => Error::Index(error),
        other => Error::Reference { source: other.line().into() },
    }
}

/// A known document, as it is printed.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    pub(super) id: &'a str,
    /// The ids of the nearest stored fingerprint, as names if there are names; its digits if it has no ids.
    pub(super) known: Ids<'a>,
    /// The distance in bits.
    pub(super) distance: u32,
}

/// Calls `print` with each known document.
pub(super) fn for_each<F: Fingerprint>(
    clusters: &Clusters,
    against: &Against<'_, F>,
    mut print: impl FnMut(Row<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut searcher = against.0.set.open_searcher();
    for known in clusters.known().unwrap_or_default() {
        let id = clusters.id(known.document)?;
        let ids = ids_of(known, against.0, &mut *searcher)?;
        print(Row { id: &id, known: ids, distance: known.distance })?;
    }
    Ok(())
}

fn ids_of<'a, F: Fingerprint>(
    known: &Known,
    set: Set<'_, F>,
    searcher: &'a mut dyn SetSearcher<F>,
) -> Result<Ids<'a>, Failure> {
    let fingerprint = F::truncate(known.fingerprint);
    if !set.description.has_ids {
        return Ok(Ids::Names(vec![fingerprint.hex().to_string()]));
    }
    let mut lists = searcher.ids_of(&[Match::new(fingerprint, fingerprint)])?;
    Ids::new(lists.remove(0), set.names(), MAX_IDS)
}
