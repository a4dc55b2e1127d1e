//! The second half: a decision about each pair or record, when it is committed.
//!
//! For a replacement, records are taken in order, as if each were alone: a record is refused if a fingerprint within the distance is
//! stored with another id or name than its own; otherwise it replaces all pairs of its id or name. Refused
//! records change nothing, so their earlier pairs stay.
//!
//! A snapshot is searched without a lock, which also brings the needed blocks into memory. The decisions are made when
//! the records are committed, on the view that they change. They use a result of the snapshot where it is still true,
//! and search otherwise, until the deadline. If newer pairs have been flushed, all results are in doubt, and the snapshot
//! is searched again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use hamdex::{Cancellation, Fingerprint, Match, ReadError, ReadErrorKind, Report};

use crate::error::Error;
use crate::manifest::Schema;
use crate::manifest::identity::Identity;
use crate::memtable::Memtable;
use crate::read::Snapshot;
use crate::read::searcher::Searcher;
use crate::view::{Changes, View, Written};
use crate::write::reply::{Inserted, Near, Nears, Put, Reply};
use crate::write::{Batch, Document, Operation, Pair};

/// A request to insert pairs unless a fingerprint is near.
pub(crate) struct UnlessNear<F> {
    pub(crate) identity: Identity,
    pub(crate) pairs: Vec<Pair<F>>,
    /// In a store with names, the names of the pairs, whose ids are meaningless then.
    pub(crate) names: Option<Vec<Document>>,
    pub(crate) distance: u32,
    /// The nearest fingerprint to each pair in an earlier view.
    pub(crate) nearest: Vec<Option<Near<F>>>,
    /// That view.
    pub(crate) searched: Arc<View<F>>,
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
    /// Applies the request to a view that may be newer than the one of the search.
    pub(crate) fn apply(self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, ReadError> {
        let Some(changes) = view.changes_since(&self.searched) else { return Ok(Reply::SearchAgain) };
        let Some(decisions) = self.decide(view, &changes)? else { return Ok(Reply::SearchAgain) };
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

    /// Decides about each pair, given the changes since the search; `None` if a near fingerprint has been removed.
    fn decide(&self, view: &View<F>, changes: &Changes<F>) -> Result<Option<Vec<Decision<F>>>, ReadError> {
        let Changes { newer, has_removals } = changes;
        // The inserted pairs of this request, with their indices as ids.
        let (mut own, mut count) = (Memtable::new(self.distance), 0);
        let mut nears = Nears::default();
        let mut decisions = Vec::with_capacity(self.pairs.len());
        for (&(value, _), known) in self.pairs.iter().zip(&self.nearest) {
            if let Some(known) = known
                && *has_removals
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
                    let has_changed = *has_removals
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

/// A request to replace pairs unless something else is near.
pub(crate) struct ReplaceUnlessNear<F: Fingerprint> {
    pub(crate) pairs: Vec<Pair<F>>,
    /// In a store with names, the names of the pairs, whose ids are meaningless then.
    pub(super) names: Option<Vec<Document>>,
    pub(super) distance: u32,
    /// The nearest fingerprint of another id or name in the snapshot, for each pair.
    pub(super) known: Vec<Known<F>>,
    pub(super) snapshot: Snapshot<F>,
    pub(super) schema: Arc<Schema>,
    pub(super) deadline: Option<Instant>,
}

/// Checks that a deadline has not passed.
///
/// # Errors
/// When it has: [`ReadErrorKind::Stopped`].
pub(in crate::write) fn go_on_until(deadline: Option<Instant>) -> Result<(), ReadError> {
    match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        true => Err(ReadErrorKind::Stopped.into()),
        false => Ok(()),
    }
}

/// Returns the report of a search that ends at a deadline.
pub(in crate::write) fn report_until(deadline: Option<Instant>) -> Report {
    deadline.map(Cancellation::at).into_iter().fold(Report::new(), Report::cancellation)
}

/// The nearest fingerprint of another id or name in the snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) enum Known<F> {
    /// It was not searched for.
    Unknown,
    Nothing,
    Nearest(Match<F>),
}

impl<F> From<Option<Match<F>>> for Known<F> {
    fn from(found: Option<Match<F>>) -> Self {
        found.map_or(Self::Nothing, Self::Nearest)
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

impl<F: Fingerprint> ReplaceUnlessNear<F> {
    /// Applies the request to a view that may be newer than the snapshot.
    pub(crate) fn apply(self, view: &mut View<F>, effective: &mut Batch<F>) -> Result<Reply<F>, Error> {
        if view.changes_since(self.snapshot.view()).is_none() {
            return Ok(Reply::SearchAgain);
        }
        let mut owned = Owned::of(view, &self.pairs, self.names.as_deref(), false)?;
        let mut counted = HashMap::new();
        let (mut outcomes, mut written) = (Vec::with_capacity(self.pairs.len()), Written::default());
        for record in 0..self.pairs.len() {
            go_on_until(self.deadline)?;
            let outcome = match self.nearest_other(view, record, owned.by(record))? {
                Some(found) => {
                    let (has_names, own) = (self.names.is_some(), owned.by(record));
                    Inserted::Near(Box::new(view.near_beside(found, has_names, own, &mut counted)?))
                }
                None => {
                    let label = owned.labels[record];
                    let own = &mut owned.pairs[label];
                    let changed = own.iter().map(|pair| pair.0).chain([self.pairs[record].0]);
                    changed.for_each(|value| _ = counted.remove(&value));
                    let Some(id) = self.replace(view, record, own, &mut written, effective)? else {
                        return Ok(Reply::NoIdsLeft);
                    };
                    Inserted::New { id }
                }
            };
            outcomes.push(outcome);
        }
        Ok(Reply::Put(Put { outcomes, inserted: written.inserted, removed: written.removed }))
    }

    /// Returns the nearest fingerprint of another id or name than a record has.
    fn nearest_other(
        &self,
        view: &View<F>,
        record: usize,
        owned: &BTreeSet<Pair<F>>,
    ) -> Result<Option<Match<F>>, Error> {
        let value = self.pairs[record].0;
        let is_known = match self.known[record] {
            Known::Unknown => false,
            Known::Nothing => true,
            Known::Nearest(found) => view.has_other(found.fingerprint, owned)?,
        };
        let changes = is_known.then(|| view.changes_since(self.snapshot.view())).flatten();
        let Some(changes) = changes else {
            let snapshot = Snapshot::new(Arc::new(view.clone()), Arc::clone(&self.schema));
            let mut searcher = snapshot.searcher();
            searcher.report_to(report_until(self.deadline));
            return nearest_other(&mut searcher, value, owned, self.distance);
        };
        let mut nearest = match self.known[record] {
            Known::Nearest(found) => Some(found),
            Known::Unknown | Known::Nothing => None,
        };
        for memtable in &changes.newer {
            nearest = self.nearer(view, memtable, value, owned, nearest)?;
        }
        Ok(nearest)
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
        let found = if view.has_other(first.fingerprint, owned)? {
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

    /// Puts a record in place of these pairs. Returns its id; `None` if no id is left.
    fn replace(
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

/// The stored pairs of each label of a batch: of each id, or in a store with names of each name.
pub(crate) struct Owned<F> {
    /// The number of the label of each record.
    pub(crate) labels: Vec<usize>,
    /// The stored pairs of each label.
    pub(crate) pairs: Vec<BTreeSet<Pair<F>>>,
}

impl<F: Fingerprint> Owned<F> {
    /// Finds the stored pairs of the labels of records, in a view that `is_published` or not.
    pub(crate) fn of(
        view: &View<F>,
        pairs: &[Pair<F>],
        names: Option<&[Document]>,
        is_published: bool,
    ) -> Result<Self, ReadError> {
        match names {
            Some(names) => Self::of_names(view, names, is_published),
            None => Self::of_ids(view, pairs),
        }
    }

    fn of_ids(view: &View<F>, pairs: &[Pair<F>]) -> Result<Self, ReadError> {
        let (labels, numbers) = numbered(pairs.iter().map(|pair| pair.1));
        let mut owned = vec![BTreeSet::new(); numbers.len()];
        for pair in view.pairs_with_ids(&numbers.keys().copied().collect())? {
            owned[numbers[&pair.1]].insert(pair);
        }
        Ok(Self { labels, pairs: owned })
    }

    fn of_names(view: &View<F>, names: &[Document], is_published: bool) -> Result<Self, ReadError> {
        let (labels, numbers) = numbered(names.iter().map(Document::name));
        let mut owned = vec![BTreeSet::new(); numbers.len()];
        let names: HashSet<Vec<u8>> = numbers.keys().map(|name| name.to_vec()).collect();
        for pair in view.pairs_with_names(&names, is_published)? {
            let name = view.name(pair.1)?.unwrap_or_default();
            if let Some(&number) = numbers.get(name) {
                owned[number].insert(pair);
            }
        }
        Ok(Self { labels, pairs: owned })
    }

    /// Returns the pairs that a record would replace.
    pub(crate) fn by(&self, record: usize) -> &BTreeSet<Pair<F>> {
        &self.pairs[self.labels[record]]
    }
}

/// Returns the number of each label, and the numbers by label.
pub(in crate::write) fn numbered<L: std::hash::Hash + Eq + Copy>(
    all: impl Iterator<Item = L>,
) -> (Vec<usize>, HashMap<L, usize>) {
    let mut numbers = HashMap::new();
    let labels = all
        .map(|label| {
            let next = numbers.len();
            *numbers.entry(label).or_insert(next)
        })
        .collect();
    (labels, numbers)
}

/// The number of distinct fingerprints of pairs within a distance.
pub(crate) fn count_within<F: Fingerprint>(owned: &BTreeSet<Pair<F>>, value: F, distance: u32) -> usize {
    let mut last = None;
    let is_new = |&&(own, _): &&Pair<F>| last.replace(own) != Some(own);
    owned.iter().filter(is_new).filter(|(own, _)| own.distance(value) <= distance).count()
}

impl<F: Fingerprint> View<F> {
    /// Whether a fingerprint is stored with an id other than those of these pairs, all of which are stored.
    fn has_other(&self, value: F, owned: &BTreeSet<Pair<F>>) -> Result<bool, ReadError> {
        let own = owned.range((value, 0)..=(value, u64::MAX)).count();
        if own == 0 {
            return self.contains(value);
        }
        // One id more than the own ones says it, however many there are: a count would read them all.
        let (ids, _) = self.first_ids(value, true, own + 1)?;
        Ok(ids.len() > own)
    }

    /// Returns the first match, of some from the nearest on, whose fingerprint is stored with an id of none of these
    /// pairs.
    fn first_other(
        &self,
        found: &[Match<F>],
        owned: &BTreeSet<Pair<F>>,
    ) -> Result<Option<Match<F>>, ReadError> {
        for &found in found {
            if self.has_other(found.fingerprint, owned)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
