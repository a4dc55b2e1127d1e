//! The second half: a decision about each pair, when the pairs are committed.

use std::sync::Arc;

use hamdex::{Fingerprint, Match, ReadError};

use crate::manifest::identity::Identity;
use crate::memtable::Memtable;
use crate::view::View;
use crate::write::batch::{Batch, Document, Operation, Pair};
use crate::write::reply::{Inserted, Near, Nears, Put, Reply};

/// A request to insert pairs unless a fingerprint is near.
pub(crate) struct UnlessNear<F> {
    pub(crate) identity: Identity,
    pub(crate) pairs: Vec<Pair<F>>,
    /// In a store with names, the names of the pairs, whose ids are meaningless then.
    pub(crate) names: Option<Vec<Document>>,
    pub(crate) distance: u32,
    /// The nearest fingerprint to each pair in an earlier view.
    pub(crate) nearest: Vec<Option<Near<F>>>,
    /// The memtable of that view with its generation, and the counters of removals and ingested files.
    pub(crate) memtable: Memtable<F>,
    pub(crate) generation: u64,
    pub(crate) removals: u64,
    pub(crate) ingests: u64,
}

/// The decision about one pair.
enum Decision<F> {
    /// It is inserted; its index among the inserted pairs.
    New(usize),
    /// It is near to a stored fingerprint.
    Near(Near<F>),
    /// It is near to a pair of the same request that is inserted.
    NearNew { found: Match<F>, place: usize },
}

impl<F: Fingerprint> UnlessNear<F> {
    /// Applies the request to a view that may be newer than the one of the search. Newer pairs are in the memtables
    /// from the generation of the search on, as long as none of them has been flushed; near fingerprints are looked up
    /// again if pairs have been removed. Merges do not matter.
    pub(crate) fn apply(self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, ReadError> {
        let Some(since) = view.memtables_since(self.generation) else { return Ok(Reply::SearchAgain) };
        if view.ingests != self.ingests {
            return Ok(Reply::SearchAgain);
        }
        let newer = |(generation, memtable): (u64, &Memtable<F>)| match generation == self.generation {
            true => memtable.since(&self.memtable),
            false => Some(memtable.clone()),
        };
        let newer: Vec<Memtable<F>> = since.filter_map(newer).collect();
        let Some(decisions) = self.decide(view, &newer)? else { return Ok(Reply::SearchAgain) };
        let new = |decision: &Decision<F>| matches!(decision, Decision::New(_));
        let numbers: Vec<usize> = (0..decisions.len()).filter(|&number| new(&decisions[number])).collect();
        let Some(ids) = self.insert(view, &numbers, effective) else { return Ok(Reply::NoIdsLeft) };
        let outcome = |decision| match decision {
            Decision::New(place) => Inserted::New { id: ids[place] },
            Decision::Near(near) => Inserted::Near(Box::new(near)),
            Decision::NearNew { found: Match { fingerprint, distance, .. }, place } => {
                let name = self.names.as_ref().map(|names| Arc::from(names[numbers[place]].name()));
                let id = self.identity.has_ids.then_some(ids[place]);
                let (ids, names) = (id.into_iter().collect(), name.into_iter().collect());
                let all_ids = u64::from(self.identity.has_ids);
                Inserted::Near(Box::new(Near { fingerprint, distance, ids, all_ids, names }))
            }
        };
        let inserted = numbers.len() as u64;
        Ok(Reply::Put(Put { outcomes: decisions.into_iter().map(outcome).collect(), inserted, removed: 0 }))
    }

    /// Decides about each pair, given the memtables with newer pairs; `None` if a near fingerprint has been removed.
    fn decide(&self, view: &View<F>, newer: &[Memtable<F>]) -> Result<Option<Vec<Decision<F>>>, ReadError> {
        let has_removals = view.removals != self.removals;
        // The inserted pairs of this request, with their indices as ids.
        let (mut own, mut count) = (Memtable::new(self.distance), 0);
        let mut nears = Nears::default();
        let mut decisions = Vec::with_capacity(self.pairs.len());
        for (&(value, _), known) in self.pairs.iter().zip(&self.nearest) {
            if let Some(known) = known
                && has_removals
                && !view.contains(known.fingerprint)?
            {
                return Ok(None);
            }
            let of_known = known.as_ref().map(|known| Match::new(value, known.fingerprint));
            let of_newer = newer.iter().filter_map(|memtable| memtable.nearest(value, self.distance)).min();
            let stored = of_known.into_iter().chain(of_newer).min();
            let of_own = own.nearest(value, self.distance);
            decisions.push(match (stored, of_own) {
                (None, None) => {
                    own.insert(&[(value, count as u64)]);
                    count += 1;
                    Decision::New(count - 1)
                }
                (stored, Some(found)) if stored.is_none_or(|stored| found < stored) => {
                    let mut places = Vec::new();
                    own.append_ids(found.fingerprint, &mut places);
                    Decision::NearNew { found, place: places[0] as usize }
                }
                (Some(found), _) => {
                    let is_known = known.as_ref().filter(|known| known.fingerprint == found.fingerprint);
                    // Its ids are those of the search, unless some have been inserted or removed since.
                    let has_changed = has_removals
                        || newer.iter().any(|memtable| memtable.contains_fingerprint(found.fingerprint));
                    Decision::Near(match is_known.filter(|_| !has_changed) {
                        Some(known) => known.clone(),
                        None => nears.of(view, found, &self.identity)?,
                    })
                }
                (None, Some(_)) => unreachable!("the nearest is the pair's own"),
            });
        }
        Ok(Some(decisions))
    }

    /// Inserts the pairs at these indices. Returns their ids; `None` if too few ids are left.
    fn insert(&self, view: &mut View<F>, numbers: &[usize], effective: &mut Batch<F>) -> Option<Vec<u64>> {
        let pairs: Vec<Pair<F>> = numbers.iter().map(|&number| self.pairs[number]).collect();
        let Some(names) = &self.names else {
            view.memtable.insert(&pairs);
            effective.operations.extend(pairs.iter().map(|&(value, id)| Operation::Insert(value, id)));
            return Some(pairs.into_iter().map(|pair| pair.1).collect());
        };
        let named = pairs.iter().zip(numbers).map(|(pair, &number)| (pair.0, names[number].clone()));
        let first = view.insert_named(&named.collect::<Vec<_>>(), effective)?;
        Some((first..).take(numbers.len()).collect())
    }
}
