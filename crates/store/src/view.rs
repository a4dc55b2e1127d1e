//! The view: the memtables and segments of the set at one moment.
//!
//! A published view never changes. A writer clones the current one, which is cheap, changes the clone, and publishes
//! it. So a reader that holds a view has a consistent snapshot, and readers and writers do not wait for each other.

use std::sync::Arc;

use hamdex::multi::MemoryPart;
use hamdex::set::{StoredId, unite_ids};
use hamdex::{Fingerprint, Index, MultiIndex, ReadError, Stopped};

use crate::memtable::Memtable;
use crate::segment::LiveSegment;
use crate::write::gone_names::{GoneNames, Moment};
use crate::write::{Batch, Document, Operation, Pair};

/// The memtables and segments of the set at one moment.
#[derive(Clone)]
pub(crate) struct View<F> {
    /// The generation of the active memtable. The frozen ones have the generations before it.
    pub(crate) generation: u64,
    /// The number of ingested files so far.
    pub(crate) ingests: u64,
    /// The sequence number of the last batch in it.
    pub(crate) sequence: u64,
    /// The number of effective removals so far.
    pub(crate) removals: u64,
    /// In a store with names, the id of the next inserted pair.
    pub(crate) next_id: u64,
    /// The bytes of the records in the logs that have the active memtable, and that its flush removes.
    pub(crate) log_bytes: u64,
    pub(crate) memtable: Memtable<F>,
    /// The frozen memtables, the oldest first.
    pub(crate) frozen: Vec<FrozenMemtable<F>>,
    pub(crate) segments: Arc<Vec<LiveSegment<F>>>,
    /// A segment that a manifest is about to name. Queries do not see it, since its pairs are in what it replaces;
    /// removals reach it, so that it can become visible without another look at its file.
    pub(crate) pending: Option<LiveSegment<F>>,
    /// Names whose earlier ids have gone, in a store with names.
    pub(crate) gone_names: Arc<GoneNames>,
}

/// A memtable that waits for its flush. Its pairs can still be removed.
#[derive(Debug, Clone)]
pub(crate) struct FrozenMemtable<F> {
    pub(crate) memtable: Memtable<F>,
    /// The first log after its pairs.
    pub(crate) next_log: u64,
    /// The sequence number of the last batch before that log.
    pub(crate) sequence: u64,
    /// The length of the log before that one.
    pub(crate) log_bytes: u64,
}

/// The changes between two views. A search without a lock is valid for the later view if these are taken into account.
pub(crate) struct Changes<F> {
    /// The newer pairs, perhaps with a few earlier ones, the newest first.
    pub(crate) newer: Vec<Memtable<F>>,
    /// Whether pairs have been removed: a match of the search may be gone.
    pub(crate) has_removals: bool,
}

/// The memtables.
impl<F: Fingerprint> MemoryPart<F> for View<F> {
    fn for_each(
        &self,
        query: F,
        distance: u32,
        visit: &mut dyn FnMut(F) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        self.memtables().try_for_each(|memtable| memtable.for_each(query, distance, visit))
    }
}

/// The effect of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Inserted pairs, whether or not they were stored before.
    pub inserted: u64,
    /// Removed pairs.
    pub removed: u64,
    /// Pairs of removals that were not stored.
    pub absent: u64,
}

impl<F: Fingerprint> View<F> {
    /// Returns an empty view.
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            generation: 0,
            ingests: 0,
            sequence: 0,
            removals: 0,
            next_id: 0,
            log_bytes: 0,
            memtable: Memtable::new(distance),
            frozen: Vec::new(),
            segments: Arc::default(),
            pending: None,
            gone_names: Arc::default(),
        }
    }

    /// Checks that no page of a segment was gone when it was read.
    ///
    /// # Errors
    /// When one was.
    pub(crate) fn check_files(&self) -> Result<(), ReadError> {
        self.segments.iter().chain(&self.pending).try_for_each(|live| live.index().check_file())
    }

    /// Continues the counters of the view that this one replaces, so that searches on that one are repeated
    /// ([`Self::changes_since`]).
    pub(crate) fn continue_from(&mut self, before: &Self) {
        self.generation = before.generation + 1;
        self.ingests = before.ingests + 1;
        self.removals = before.removals + 1;
    }

    /// Returns its moment.
    pub(crate) fn moment(&self) -> Moment {
        Moment { sequence: self.sequence, ingests: self.ingests }
    }

    /// Returns the bytes that a flush of the active memtable is due for: those of the memtable, or of its logs if these
    /// have more, since they may be of removals alone.
    pub(crate) fn unflushed_bytes(&self) -> usize {
        self.memtable.bytes().max(usize::try_from(self.log_bytes).unwrap_or(usize::MAX))
    }

    /// Returns the changes since an earlier view. A result of a search on that view still holds for this one, except where
    /// these changes concern it. `None` if the search has to be repeated: newer pairs may have been flushed, or a file has
    /// been ingested. Merges change no result.
    pub(crate) fn changes_since(&self, searched: &Self) -> Option<Changes<F>> {
        // The generation of the oldest memtable; those before it have been flushed.
        let oldest = self.generation - self.frozen.len() as u64;
        if oldest > searched.generation || self.ingests != searched.ingests {
            return None;
        }
        let newer = (oldest..=self.generation).rev().zip(self.memtables());
        let newer = newer.take_while(|(generation, _)| *generation >= searched.generation);
        let newer = newer.filter_map(|(generation, memtable)| match generation == searched.generation {
            true => memtable.since(&searched.memtable),
            false => Some(memtable.clone()),
        });
        Some(Changes { newer: newer.collect(), has_removals: self.removals != searched.removals })
    }

    /// Returns the memtables, the newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Memtable<F>> {
        std::iter::once(&self.memtable).chain(self.frozen.iter().rev().map(|frozen| &frozen.memtable))
    }

    /// Returns other indexes and those of all segments, to be queried as one.
    pub(crate) fn with_segment_indexes(&self, mut all: Vec<Arc<Index<F>>>) -> MultiIndex<F> {
        let others = all.len();
        all.extend(self.segments.iter().map(|live| Arc::clone(live.index())));
        let indexes = MultiIndex::new(all);
        let removed = (others..).zip(&*self.segments).filter(|(_, live)| !live.removed.is_empty());
        let mut filtered = removed.map(|(number, _)| number).peekable();
        if filtered.peek().is_none() {
            return indexes;
        }
        let segments = Arc::clone(&self.segments);
        indexes.filter_in(filtered, move |number, found| segments[number - others].is_left(found.fingerprint))
    }

    /// The number of fingerprints, at most, and whether it is exact: nothing can be held twice, and no fingerprint has
    /// lost only some of its ids.
    pub(crate) fn fingerprints(&self, has_ids: bool) -> (u64, bool) {
        let recent: u64 = self.memtables().map(Memtable::len).sum();
        let removed: u64 = self.segments.iter().map(|live| live.removed.len()).sum();
        let pairs: u64 = self.segments.iter().map(|live| live.segment.pairs()).sum();
        let stored: u64 = self.segments.iter().map(|live| live.index().len()).sum();
        let left = pairs - removed + recent;
        let is_one_whole_file = self.segments.len() <= 1 && recent == 0 && (removed == 0 || !has_ids);
        ((stored + recent).min(left), is_one_whole_file || left == 0)
    }

    /// Applies operations in order. Appends the effective ones to `effective`.
    ///
    /// # Errors
    /// When a segment is damaged. Some of the operations have been applied then.
    pub(crate) fn apply(
        &mut self,
        operations: &[Operation<F>],
        effective: &mut Batch<F>,
    ) -> Result<Written, ReadError> {
        let mut written = Written::default();
        let mut inserts: Vec<Pair<F>> = Vec::new();
        for &operation in operations {
            match operation {
                Operation::Insert(fingerprint, id) => {
                    inserts.push((fingerprint, id));
                    written.inserted += 1;
                    effective.operations.push(operation);
                }
                Operation::Remove(fingerprint, id) => {
                    self.memtable.insert(&inserts);
                    inserts.clear();
                    if self.remove((fingerprint, id), |_| true)? {
                        written.removed += 1;
                        effective.operations.push(operation);
                    } else {
                        written.absent += 1;
                    }
                }
            }
        }
        self.memtable.insert(&inserts);
        Ok(written)
    }

    /// Inserts fingerprints with names, and assigns their ids. Returns the first id; `None` if too few ids are left.
    pub(crate) fn insert_named(&mut self, named: &[(F, Document)], effective: &mut Batch<F>) -> Option<u64> {
        let first = self.next_id;
        self.next_id = first.checked_add(named.len() as u64)?;
        let (mut pairs, mut names) = (Vec::with_capacity(named.len()), Vec::with_capacity(named.len()));
        for (id, (fingerprint, name)) in (first..).zip(named) {
            pairs.push((*fingerprint, id));
            names.push((id, name.clone()));
            effective.operations.push(Operation::Insert(*fingerprint, id));
        }
        self.memtable.insert(&pairs);
        self.memtable.documents.insert(&names);
        effective.names.extend(names);
        Some(first)
    }

    /// Returns the name of a stored id; in general `None` for any other.
    pub(crate) fn name(&self, id: u64) -> Result<Option<&[u8]>, ReadError> {
        if let Some(name) = self.memtables().find_map(|memtable| memtable.documents.get(id)) {
            return Ok(Some(name));
        }
        for live in &*self.segments {
            if let Some(names) = live.index().names()?
                && let Some(name) = names.get(id)?
            {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Removes a pair from the memtables and from the segments that `concerns` selects. Returns whether it was stored.
    pub(crate) fn remove(
        &mut self,
        pair: Pair<F>,
        concerns: impl Fn(&LiveSegment<F>) -> bool,
    ) -> Result<bool, ReadError> {
        let mut was_there = self.memtable.remove(pair);
        for frozen in &mut self.frozen {
            was_there |= frozen.memtable.remove(pair);
        }
        for number in 0..self.segments.len() {
            if !concerns(&self.segments[number]) {
                continue;
            }
            if let Some(place) = self.segments[number].find(pair)? {
                Arc::make_mut(&mut self.segments)[number].removed.insert(place);
                was_there = true;
            }
        }
        // A removal of an absent pair is in no log. A pair of a file that is being ingested stays then.
        if let Some(pending) = self.pending.as_mut().filter(|_| was_there)
            && let Some(place) = pending.find(pair)?
        {
            pending.removed.insert(place);
        }
        self.removals += u64::from(was_there);
        Ok(was_there)
    }

    /// Whether a fingerprint is stored.
    pub(crate) fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        if self.memtables().any(|memtable| memtable.contains_fingerprint(fingerprint)) {
            return Ok(true);
        }
        for segment in &*self.segments {
            if segment.contains(fingerprint)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the ids of a fingerprint, ascending; in a store without ids, 0 if it is stored.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<u64>, ReadError> {
        let mut ids = Vec::new();
        self.memtables().for_each(|memtable| memtable.append_ids(fingerprint, &mut ids));
        self.segments.iter().try_for_each(|segment| segment.append_ids(fingerprint, &mut ids))?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Returns the first `most` ids of a fingerprint, ascending, and the number of all, in a store with ids; the number
    /// of all that are stored, if `are_distinct`: each of them once, as in a store with names.
    pub(crate) fn first_ids(
        &self,
        fingerprint: F,
        are_distinct: bool,
        most: usize,
    ) -> Result<(Vec<StoredId>, u64), ReadError> {
        let (mut lists, mut counts) = (Vec::new(), Vec::new());
        self.memtables().for_each(|memtable| memtable.add_id_lists(fingerprint, &mut lists, &mut counts));
        for segment in self.segments.iter() {
            segment.add_id_list(fingerprint, &mut lists, &mut counts)?;
        }
        Ok(unite_ids(lists, &counts, are_distinct, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fingerprints of the newer pairs, the newest memtable first, and whether pairs have been removed.
    fn changes(view: &View<u64>, searched: &View<u64>) -> Option<(Vec<Vec<u64>>, bool)> {
        let changes = view.changes_since(searched)?;
        let newer =
            changes.newer.iter().map(|memtable| memtable.to_sorted().iter().map(|pair| pair.0).collect());
        Some((newer.collect(), changes.has_removals))
    }

    fn freeze(view: &mut View<u64>) {
        let memtable = std::mem::replace(&mut view.memtable, Memtable::new(3));
        view.frozen.push(FrozenMemtable { memtable, next_log: 0, sequence: 0, log_bytes: 0 });
        view.generation += 1;
    }

    #[test]
    fn a_search_holds_until_newer_pairs_may_be_flushed_or_a_file_is_ingested() {
        let mut view = View::new(3);
        view.memtable.insert(&[(1, 1)]);
        freeze(&mut view);
        view.memtable.insert(&[(2, 2)]);
        let searched = view.clone();
        assert_eq!(changes(&view, &searched), Some((Vec::new(), false)));

        // What was frozen before is not newer, and its flush changes no result.
        view.memtable.insert(&(10..200).map(|value| (value, value)).collect::<Vec<_>>());
        view.frozen.clear();
        let (newer, has_removals) = changes(&view, &searched).unwrap();
        assert!(!has_removals && newer.len() == 1 && (10..200).all(|value| newer[0].contains(&value)));
        freeze(&mut view);
        view.memtable.insert(&[(3, 3)]);
        let (newer, _) = changes(&view, &searched).unwrap();
        assert!(newer.len() == 2 && newer[0] == [3] && newer[1].contains(&199));
        assert!(view.remove((2, 2), |_| true).unwrap());
        assert!(changes(&view, &searched).unwrap().1);

        let ingested = View { ingests: view.ingests + 1, ..view.clone() };
        assert_eq!(changes(&ingested, &searched), None);
        view.frozen.clear();
        assert_eq!(changes(&view, &searched), None, "199 is in no memtable");
        assert_eq!(changes(&view, &view.clone()), Some((Vec::new(), false)));
    }
}
