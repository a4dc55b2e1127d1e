//! The decisions about records, when they are committed. Records are taken in order, as if each were alone: one is refused
//! if a fingerprint within the distance is stored; a replacement only if it is stored with an id or name of another
//! record. A refused record changes nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use hamdex::{Fingerprint, Match, ReadError};

use crate::error::Error;
use crate::manifest::Schema;
use crate::memtable::Memtable;
use crate::read::Snapshot;
use crate::read::searcher::Searcher;
use crate::view::{Changes, View, Written};
use crate::write::conditional::{go_on_until, report_until};
use crate::write::request::{Conditional, Inserted, Near, Nears, Put, Reply};
use crate::write::unless_near::Known;
use crate::write::unless_near::owned::{Owned, count_within};
use crate::write::{Batch, Document, Operation, Pair};

/// A request to store records unless a fingerprint is near.
pub(super) struct UnlessNear<F> {
    pub(super) pairs: Vec<Pair<F>>,
    /// In a store with names, the names of the pairs, whose ids are meaningless then.
    pub(super) names: Option<Vec<Document>>,
    pub(super) distance: u32,
    /// Whether each record takes the place of the pairs of its id or name.
    pub(super) replaces: bool,
    /// The nearest fingerprint to each record in the view of the search.
    pub(super) known: Vec<Known<F>>,
    /// The ids and names of these fingerprints in that view; none with `replaces`, since a record's own are left out.
    pub(super) nears: Nears<F>,
    pub(super) searched: Arc<View<F>>,
    pub(super) schema: Arc<Schema>,
    pub(super) deadline: Option<Instant>,
}

impl<F: Fingerprint> UnlessNear<F> {
    /// Returns the outcomes if a stored fingerprint is near to every record; `None` if a record may be stored, or is a
    /// replacement.
    pub(super) fn all_near(&self) -> Option<Put<F>> {
        if self.replaces || !self.known.iter().all(|known| matches!(known, Known::Nearest(_))) {
            return None;
        }
        let near = |known: &Known<F>| match known {
            Known::Nearest(found) => self.nears.get(*found).map(|near| Inserted::Near(Box::new(near))),
            Known::Unknown | Known::Nothing => None,
        };
        Some(Put { outcomes: self.known.iter().filter_map(near).collect(), inserted: 0, removed: 0 })
    }

    /// Returns the nearest fingerprint to a record in a view that is stored with an id of none of these pairs, which it
    /// owns; [`Known::Unknown`] if the search has to be repeated.
    fn nearest(
        &self,
        view: &View<F>,
        changes: &Changes<F>,
        record: usize,
        owned: &BTreeSet<Pair<F>>,
    ) -> Result<Known<F>, Error> {
        let value = self.pairs[record].0;
        let mut nearest = match self.known[record] {
            Known::Nothing => None,
            Known::Nearest(found) if !changes.has_removals || view.has_other(found.fingerprint, owned)? => {
                Some(found)
            }
            // It depends on the records before it, which may have removed the match: another search would not know more.
            Known::Nearest(_) | Known::Unknown if self.replaces => {
                let snapshot = Snapshot::new(Arc::new(view.clone()), Arc::clone(&self.schema));
                let mut searcher = snapshot.searcher();
                searcher.report_to(report_until(self.deadline));
                return Ok(Known::from(nearest_other(&mut searcher, value, owned, self.distance)?));
            }
            Known::Nearest(_) | Known::Unknown => return Ok(Known::Unknown),
        };
        for memtable in &changes.newer {
            nearest = self.nearer(view, memtable, value, owned, nearest)?;
        }
        Ok(Known::from(nearest))
    }

    /// Returns the nearest of a match and the fingerprints of a memtable that are stored with an id of none of these
    /// pairs.
    fn nearer(
        &self,
        view: &View<F>,
        memtable: &Memtable<F>,
        value: F,
        owned: &BTreeSet<Pair<F>>,
        nearest: Option<Match<F>>,
    ) -> Result<Option<Match<F>>, ReadError> {
        let Some(first) = memtable.nearest(value, self.distance) else { return Ok(nearest) };
        if nearest.is_some_and(|nearest| nearest <= first) {
            return Ok(nearest);
        }
        // Mostly the first is another's.
        let found = if owned.is_empty() || view.has_other(first.fingerprint, owned)? {
            Some(first)
        } else {
            let mut near = BTreeSet::new();
            let _ = memtable.for_each(value, self.distance, &mut |found| {
                near.insert(Match::new(value, found));
                Ok(())
            });
            let near: Vec<Match<F>> = near.into_iter().collect();
            view.first_other(&near, owned)?
        };
        Ok(found.into_iter().chain(nearest).min())
    }
}

/// The decision about a record that replaces nothing.
enum Decision<F> {
    /// It is inserted.
    New,
    /// It is near to a stored fingerprint.
    Near(Near<F>),
    /// It is near to a record before it, the one inserted at this place.
    NearNew { found: Match<F>, place: usize },
}

impl<F: Fingerprint> UnlessNear<F> {
    /// Inserts the records that nothing is near to, all at once. They are compared with each other in a memtable of their
    /// own, which has the buckets of the distance.
    fn insert(
        &self,
        view: &mut View<F>,
        changes: &Changes<F>,
        effective: &mut Batch<F>,
    ) -> Result<Reply<F>, Error> {
        let nothing = BTreeSet::new();
        // The inserted records, and their fingerprints with their places among these as ids.
        let (mut new, mut own) = (Vec::new(), Memtable::new(self.distance));
        let (mut nears, mut decisions) = (Nears::default(), Vec::with_capacity(self.pairs.len()));
        for (record, &(value, _)) in self.pairs.iter().enumerate() {
            let stored = match self.nearest(view, changes, record, &nothing)? {
                Known::Unknown => return Ok(Reply::SearchAgain),
                Known::Nothing => None,
                Known::Nearest(found) => Some(found),
            };
            decisions.push(match (stored, own.nearest(value, self.distance)) {
                (stored, Some(found)) if stored.is_none_or(|stored| found < stored) => {
                    let mut places = Vec::new();
                    own.append_ids(found.fingerprint, &mut places);
                    Decision::NearNew { found, place: places[0] as usize }
                }
                (Some(found), _) => Decision::Near(self.describe(view, changes, found, &mut nears)?),
                (None, _) => {
                    own.insert(&[(value, new.len() as u64)]);
                    new.push(record);
                    Decision::New
                }
            });
        }
        let Some(ids) = self.insert_all(view, &new, effective) else { return Ok(Reply::NoIdsLeft) };
        let mut next = ids.iter();
        let outcome = |decision| match decision {
            Decision::New => Inserted::New { id: *next.next().expect("an id for each inserted record") },
            Decision::Near(near) => Inserted::Near(Box::new(near)),
            Decision::NearNew { found: Match { fingerprint, distance, .. }, place } => {
                let has_ids = self.schema.identity.has_ids;
                let name = self.names.as_ref().map(|names| Arc::from(names[new[place]].name()));
                let (ids, names) = (has_ids.then_some(ids[place]), name.into_iter().collect());
                let ids = ids.into_iter().collect();
                let near = Near { fingerprint, distance, ids, all_ids: u64::from(has_ids), names };
                Inserted::Near(Box::new(near))
            }
        };
        let outcomes = decisions.into_iter().map(outcome).collect();
        Ok(Reply::Put(Put { outcomes, inserted: new.len() as u64, removed: 0 }))
    }

    /// Returns a stored match with its ids and their names: those of the search, unless some have been inserted or removed
    /// since. `nears` has the others.
    fn describe(
        &self,
        view: &View<F>,
        changes: &Changes<F>,
        found: Match<F>,
        nears: &mut Nears<F>,
    ) -> Result<Near<F>, ReadError> {
        let has_changed = changes.has_removals
            || changes.newer.iter().any(|newer| newer.contains_fingerprint(found.fingerprint));
        match self.nears.get(found).filter(|_| !has_changed) {
            Some(near) => Ok(near),
            None => nears.of(view, found, &self.schema.identity),
        }
    }

    /// Inserts some of the records. Returns their ids; `None` if too few are left.
    fn insert_all(&self, view: &mut View<F>, new: &[usize], effective: &mut Batch<F>) -> Option<Vec<u64>> {
        let pairs: Vec<Pair<F>> = new.iter().map(|&record| self.pairs[record]).collect();
        let Some(names) = &self.names else {
            view.memtable.insert(&pairs);
            effective.operations.extend(pairs.iter().map(|&(value, id)| Operation::Insert(value, id)));
            return Some(pairs.into_iter().map(|pair| pair.1).collect());
        };
        let named = pairs.iter().zip(new).map(|(pair, &record)| (pair.0, names[record].clone()));
        let first = view.insert_named(&named.collect::<Vec<_>>(), effective)?;
        Some((first..).take(new.len()).collect())
    }

    /// Puts each record that nothing of others is near to in place of the pairs that it owns.
    fn replace(&self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error> {
        let mut owned = Owned::of(view, &self.pairs, self.names.as_deref(), false)?;
        // The numbers of ids of fingerprints, until a record with one of them is stored or removed.
        let mut counted = HashMap::new();
        let (mut outcomes, mut written) = (Vec::with_capacity(self.pairs.len()), Written::default());
        for record in 0..self.pairs.len() {
            go_on_until(self.deadline)?;
            // Since the search, and by the records before.
            let Some(changes) = view.changes_since(&self.searched) else { return Ok(Reply::SearchAgain) };
            let own = owned.by_mut(record);
            outcomes.push(match self.nearest(view, &changes, record, own)? {
                Known::Unknown => return Ok(Reply::SearchAgain),
                Known::Nearest(found) => {
                    let near = view.near_beside(found, self.names.is_some(), own, &mut counted)?;
                    Inserted::Near(Box::new(near))
                }
                Known::Nothing => {
                    let changed = own.iter().map(|pair| pair.0).chain([self.pairs[record].0]);
                    changed.for_each(|value| _ = counted.remove(&value));
                    let Some(id) = self.put_in_place(view, record, own, &mut written, effective)? else {
                        return Ok(Reply::NoIdsLeft);
                    };
                    Inserted::New { id }
                }
            });
        }
        Ok(Reply::Put(Put { outcomes, inserted: written.inserted, removed: written.removed }))
    }

    /// Puts a record in place of the pairs that it owns. Returns its id; `None` if no id is left.
    fn put_in_place(
        &self,
        view: &mut View<F>,
        record: usize,
        own: &mut BTreeSet<Pair<F>>,
        written: &mut Written,
        effective: &mut Batch<F>,
    ) -> Result<Option<u64>, ReadError> {
        let pair = self.pairs[record];
        // In a store with names each pair has an id of its own.
        let stays = self.names.is_none() && own.contains(&pair);
        let gone: Vec<Operation<F>> = std::mem::take(own)
            .into_iter()
            .filter(|&stored| !(stays && stored == pair))
            .map(|(fingerprint, id)| Operation::Remove(fingerprint, id))
            .collect();
        written.removed += view.apply(&gone, effective)?.removed;
        let id = match &self.names {
            Some(names) => match view.insert_named(&[(pair.0, names[record].clone())], effective) {
                Some(id) => id,
                None => return Ok(None),
            },
            None => {
                if !stays {
                    view.apply(&[Operation::Insert(pair.0, pair.1)], effective)?;
                }
                pair.1
            }
        };
        written.inserted += u64::from(!stays);
        own.insert((pair.0, id));
        Ok(Some(id))
    }
}

impl<F: Fingerprint> Conditional<F> for UnlessNear<F> {
    fn records(&self) -> usize {
        self.pairs.len()
    }

    fn apply(self: Box<Self>, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error> {
        match view.changes_since(&self.searched) {
            None => Ok(Reply::SearchAgain),
            Some(changes) if !self.replaces => self.insert(view, &changes, effective),
            Some(_) => self.replace(view, effective),
        }
    }
}

/// Returns the nearest fingerprint that is stored with an id other than those of these pairs.
pub(super) fn nearest_other<F: Fingerprint>(
    searcher: &mut Searcher<F>,
    value: F,
    owned: &BTreeSet<Pair<F>>,
    distance: u32,
) -> Result<Option<Match<F>>, Error> {
    let count = count_within(owned, value, distance) + 1;
    let found = searcher.nearest_within(value, count, distance)?.to_vec();
    Ok(searcher.snapshot().view().first_other(&found, owned)?)
}
