//! The set as it is at one moment: what is recent, what waits to be written out, and what is in files.
//!
//! A state never changes once it has been published: a writer copies the one there is, which is cheap, changes the
//! copy, and publishes that. So a reader who holds a state sees one moment for as long as needed, and nobody waits
//! for anybody.

use std::sync::Arc;

use hamdex::{Fingerprint, Index, MultiIndex, ReadError};

use crate::memtable::Memtable;
use crate::segment::LiveSegment;
use crate::write::batch::{Batch, Operation, Pair};

/// The set at one moment.
pub(crate) struct View<F> {
    /// The generation of the memtable that is written to. Those that wait to be flushed have the generations before it,
    /// one each.
    pub(crate) generation: u64,
    /// How many files from outside have joined so far.
    pub(crate) ingests: u64,
    /// The number of the last batch that it reflects.
    pub(crate) sequence: u64,
    /// How many removals have taken something away so far.
    pub(crate) removals: u64,
    /// In a store with names, the id of the next pair that is inserted.
    pub(crate) next_id: u64,
    pub(crate) memtable: Memtable<F>,
    /// What is being written to files, the oldest first.
    pub(crate) frozen: Vec<FrozenMemtable<F>>,
    pub(crate) segments: Arc<Vec<LiveSegment<F>>>,
}

/// Pairs that are being written to a file. They can still be removed.
#[derive(Debug)]
pub(crate) struct FrozenMemtable<F> {
    pub(crate) memtable: Memtable<F>,
    /// The first log that has nothing of them.
    pub(crate) next_log: u64,
    /// The number of the last batch before that log.
    pub(crate) sequence: u64,
    /// Bytes of the log before it.
    pub(crate) log_bytes: u64,
}

impl<F> Clone for FrozenMemtable<F> {
    fn clone(&self) -> Self {
        Self { memtable: self.memtable.clone(), ..*self }
    }
}

impl<F> Clone for View<F> {
    fn clone(&self) -> Self {
        Self {
            generation: self.generation,
            ingests: self.ingests,
            sequence: self.sequence,
            removals: self.removals,
            next_id: self.next_id,
            memtable: self.memtable.clone(),
            frozen: self.frozen.clone(),
            segments: Arc::clone(&self.segments),
        }
    }
}

/// What a batch has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Pairs inserted, whether or not they were there before.
    pub inserted: u64,
    /// Pairs that were there and have been removed.
    pub removed: u64,
    /// Pairs that were to be removed and were not there.
    pub absent: u64,
}

impl<F: Fingerprint> View<F> {
    /// Nothing yet.
    pub(crate) fn new(distance: u32) -> Self {
        Self {
            generation: 0,
            ingests: 0,
            sequence: 0,
            removals: 0,
            next_id: 0,
            memtable: Memtable::new(distance),
            frozen: Vec::new(),
            segments: Arc::default(),
        }
    }

    /// Continues the numbers of the state that this one replaces, so that no search on that one counts for this one.
    pub(crate) fn follow(&mut self, before: &Self) {
        self.generation = before.generation + 1;
        self.ingests = before.ingests + 1;
        self.removals = before.removals + 1;
    }

    /// The memtables of a generation and later, the newest first, with their generations; `None` if one of them has been
    /// flushed.
    pub(crate) fn in_memory_since(
        &self,
        generation: u64,
    ) -> Option<impl Iterator<Item = (u64, &Memtable<F>)>> {
        let is_there = self.generation - self.frozen.len() as u64 <= generation;
        let memtables = (0..=self.generation).rev().zip(self.in_memory());
        is_there.then(|| memtables.take_while(move |(of, _)| *of >= generation))
    }

    /// What is in memory only, the newest first.
    pub(crate) fn in_memory(&self) -> impl Iterator<Item = &Memtable<F>> {
        std::iter::once(&self.memtable).chain(self.frozen.iter().rev().map(|frozen| &frozen.memtable))
    }

    /// All files, to be queried as one.
    pub(crate) fn segments_as_one(&self) -> MultiIndex<F> {
        self.segments_behind(Vec::new())
    }

    /// Other indexes, and all files behind them, to be queried as one.
    pub(crate) fn segments_behind(&self, mut all: Vec<Arc<Index<F>>>) -> MultiIndex<F> {
        let others = all.len();
        all.extend(self.segments.iter().map(|live| Arc::clone(live.index())));
        let indexes = MultiIndex::new(all);
        if self.segments.iter().all(|live| live.removed.is_empty()) {
            return indexes;
        }
        let segments = Arc::clone(&self.segments);
        indexes.filter(move |number, found| match number.checked_sub(others) {
            Some(segment) => segments[segment].is_left(found.fingerprint),
            None => Ok(true),
        })
    }

    /// The number of fingerprints, at most, and whether it is exact: nothing can be held twice, and no fingerprint has lost
    /// only some of its ids.
    pub(crate) fn fingerprints(&self, has_ids: bool) -> (u64, bool) {
        let recent: u64 = self.in_memory().map(Memtable::len).sum();
        let removed: u64 = self.segments.iter().map(|live| live.removed.len()).sum();
        let pairs: u64 = self.segments.iter().map(|live| live.segment.pairs()).sum();
        let stored: u64 = self.segments.iter().map(|live| live.index().len()).sum();
        let left = pairs - removed + recent;
        let is_one_whole_file = self.segments.len() <= 1 && recent == 0 && (removed == 0 || !has_ids);
        ((stored + recent).min(left), is_one_whole_file || left == 0)
    }

    /// Applies operations in their order. Returns what they did; appends those that changed something to `effective`.
    ///
    /// # Errors
    /// When a file is damaged: part of the operations has been applied then.
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

    /// Inserts fingerprints whose ids the store gives, with the names of these. Returns the first id; `None` where
    /// there is none left for all of them.
    pub(crate) fn insert_named(&mut self, named: &[(F, Arc<[u8]>)], effective: &mut Batch<F>) -> Option<u64> {
        let first = self.next_id;
        self.next_id = first.checked_add(named.len() as u64)?;
        let (mut pairs, mut names) = (Vec::with_capacity(named.len()), Vec::with_capacity(named.len()));
        for (id, (fingerprint, name)) in (first..).zip(named) {
            pairs.push((*fingerprint, id));
            names.push((id, Arc::clone(name)));
            effective.operations.push(Operation::Insert(*fingerprint, id));
        }
        self.memtable.insert(&pairs);
        self.memtable.names.insert(&names);
        effective.names.extend(names);
        Some(first)
    }

    /// The name of an id that is there; `None` for any other, in general.
    pub(crate) fn name(&self, id: u64) -> Result<Option<&[u8]>, ReadError> {
        if let Some(name) = self.in_memory().find_map(|memtable| memtable.names.get(id)) {
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

    /// Removes a pair wherever it is, but only from segments that `concerns` says. Returns whether it was there.
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
        self.removals += u64::from(was_there);
        Ok(was_there)
    }

    /// Whether a fingerprint is there.
    pub(crate) fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        if self.in_memory().any(|memtable| memtable.contains_fingerprint(fingerprint)) {
            return Ok(true);
        }
        for segment in &*self.segments {
            if segment.contains(fingerprint)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a pair is there.
    pub(crate) fn contains_pair(&self, pair: Pair<F>) -> Result<bool, ReadError> {
        if self.in_memory().any(|memtable| memtable.contains(pair)) {
            return Ok(true);
        }
        for segment in &*self.segments {
            if segment.find(pair)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The ids of a fingerprint, ascending; in a store without ids, 0 if it is there.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<u64>, ReadError> {
        let mut ids = Vec::new();
        self.in_memory().for_each(|memtable| memtable.append_ids(fingerprint, &mut ids));
        self.segments.iter().try_for_each(|segment| segment.append_ids(fingerprint, &mut ids))?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}
