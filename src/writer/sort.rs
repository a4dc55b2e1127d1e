//! Sorting within a memory limit: in memory while it suffices, else by runs that are merged; and tables from
//! records that have been sorted, each sorted anew.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::BuildError;
use crate::permutation::Permutation;
use crate::progress::{Counter, Phase, Stopped};
use crate::sorting;
use crate::threads::{Pool, try_for_each, try_for_each_number};
use crate::writer::options::BuildOptions;
use crate::writer::spill::{BATCH, Merge, SpilledRuns};
use crate::writer::{Record, Select, TableSource, Visit};
use hamdex_fingerprint::Fingerprint;

/// Records that one thread handles, or values that it permutes, at a time.
const CHUNK: usize = 1 << 16;

/// Takes records in any order.
pub(crate) struct Sorter<R> {
    records: Vec<R>,
    /// Number of records that memory holds.
    capacity: usize,
    runs: Option<SpilledRuns<R>>,
    temp_dir: PathBuf,
    memory: usize,
    /// Whether records are pushed in ascending order.
    is_sorted: bool,
}

/// Records in order, each once, as often as they are wanted.
pub(crate) enum Sorted<R> {
    InMemory(Vec<R>),
    Spilled(SpilledRuns<R>),
}

impl<R: Record> Sorter<R> {
    /// Keeps to `memory` bytes; spills to `temp_dir` beyond.
    pub(crate) fn new(memory: usize, temp_dir: &Path) -> Self {
        let capacity = (memory / R::MEMORY_BYTES).max(1);
        Self {
            records: Vec::new(),
            capacity,
            runs: None,
            temp_dir: temp_dir.to_owned(),
            memory,
            is_sorted: false,
        }
    }

    /// For records that come in ascending order.
    pub(super) fn of_sorted(self) -> Self {
        Self { is_sorted: true, ..self }
    }

    /// As [`Self::push`]; if there is something to sort, in that pool.
    #[inline]
    pub(crate) fn push_in(&mut self, pool: &Pool, record: R, done: &Counter) -> Result<(), BuildError> {
        if self.records.len() == self.records.capacity() {
            pool.install(|| self.make_room(done))?;
        }
        self.records.push(record);
        Ok(())
    }

    #[inline]
    pub(crate) fn push(&mut self, record: R, done: &Counter) -> Result<(), BuildError> {
        if self.records.len() == self.records.capacity() {
            self.make_room(done)?;
        }
        self.records.push(record);
        Ok(())
    }

    /// Grows by doubling up to the limit, then spills.
    #[cold]
    fn make_room(&mut self, done: &Counter) -> Result<(), BuildError> {
        let more = self.records.len().max(BATCH).min(self.capacity.saturating_sub(self.records.len()));
        if more == 0 {
            return self.spill(done);
        }
        self.records
            .try_reserve_exact(more)
            .map_err(|_| BuildError::OutOfMemory { bytes: (more * size_of::<R>()) as u64 })
    }

    fn spill(&mut self, done: &Counter) -> Result<(), BuildError> {
        self.sort(done)?;
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(SpilledRuns::create(&self.temp_dir, self.memory / 2)?),
        };
        if self.is_sorted {
            runs.extend_last(&self.records, done)?;
        } else {
            runs.push(&self.records, done)?;
        }
        self.records.clear();
        Ok(())
    }

    fn sort(&mut self, done: &Counter) -> Result<(), Stopped> {
        if self.is_sorted {
            sorting::dedup(&mut self.records, &|| done.check())
        } else {
            sort(&mut self.records, done)
        }
    }

    /// Sorts; `done` checks for cancellation.
    pub(crate) fn finish(mut self, done: &Counter) -> Result<Sorted<R>, BuildError> {
        if self.runs.is_none() {
            self.sort(done)?;
            return Ok(Sorted::InMemory(self.records));
        }
        if !self.records.is_empty() {
            self.spill(done)?;
        }
        // The memory of sorting becomes memory of merging and writing.
        self.records = Vec::new();
        let mut runs = self.runs.expect("it has spilled");
        runs.prepare(done)?;
        Ok(Sorted::Spilled(runs))
    }
}

/// Sorts, and drops repeats.
pub(super) fn sort<R: Record>(records: &mut Vec<R>, done: &Counter) -> Result<(), Stopped> {
    let look = || done.check();
    sorting::sort_by_keys(records, R::fingerprint, |record| record.id().unwrap_or_default(), &look)?;
    // Most of the time there is nothing to drop, which all threads together see sooner.
    if has_repeats(records, done)? { sorting::dedup(records, &look) } else { Ok(()) }
}

fn has_repeats<R: Record>(records: &[R], done: &Counter) -> Result<bool, Stopped> {
    let mut edges = records.chunks(CHUNK).zip(records.chunks(CHUNK).skip(1));
    let is_found = AtomicBool::new(edges.any(|(a, b)| a.last() == b.first()));
    try_for_each_number(records.len().div_ceil(CHUNK), |number| {
        let chunk = &records[number * CHUNK..records.len().min((number + 1) * CHUNK)];
        if !is_found.load(Ordering::Relaxed) {
            done.check()?;
            is_found.fetch_or(chunk.windows(2).any(|pair| pair[0] == pair[1]), Ordering::Relaxed);
        }
        Ok::<(), Stopped>(())
    })?;
    Ok(is_found.into_inner())
}

impl<R: Record> Sorted<R> {
    /// Delivers the records, ascending, in batches.
    pub(crate) fn for_each_batch(&self, visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        match self {
            Self::InMemory(records) => Self::batches(records, visit),
            Self::Spilled(runs) => runs.for_each_merged(visit),
        }
    }

    /// Delivers records in memory, in batches.
    pub(super) fn batches(records: &[R], visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        records.chunks(BATCH).try_for_each(visit)
    }

    /// Returns the records, ascending, one by one.
    pub(crate) fn one_by_one(&self) -> Result<OneByOne<'_, R>, BuildError> {
        Ok(match self {
            Self::InMemory(records) => OneByOne::InMemory(records.iter()),
            Self::Spilled(runs) => OneByOne::Spilled(runs.merged()?),
        })
    }

    /// Delivers the records in the cheapest order, in batches.
    pub(crate) fn for_each_unordered(&self, visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        match self {
            Self::InMemory(records) => Self::batches(records, visit),
            Self::Spilled(runs) => runs.for_each_unmerged(visit),
        }
    }
}

/// Sorted records, one by one.
pub(crate) enum OneByOne<'s, R> {
    InMemory(std::slice::Iter<'s, R>),
    Spilled(Merge<'s, R>),
}

impl<R: Record> OneByOne<'_, R> {
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<R>, BuildError> {
        match self {
            Self::InMemory(records) => Ok(records.next().copied()),
            Self::Spilled(merge) => merge.next(),
        }
    }
}

/// Records in order, and what becomes of them table by table.
pub(super) struct Pushed<'o, R: Record> {
    options: &'o BuildOptions<R::Fingerprint>,
    temp_dir: PathBuf,
    pushed: u64,
    state: State<R>,
}

enum State<R: Record> {
    /// All of them in memory, for table 0.
    Records(Vec<R>),
    /// Their fingerprints in memory, in the order of a table.
    Values(Vec<R::Fingerprint>, Permutation<R::Fingerprint>),
    /// All of them on disk, and the fingerprints in the order of a later table.
    Spilled(Sorted<R>, Option<Sorted<R::Fingerprint>>),
}

impl<'o, R: Record> Pushed<'o, R> {
    /// Sorts for table 0.
    pub(super) fn new(
        sorter: Sorter<R>,
        options: &'o BuildOptions<R::Fingerprint>,
        temp_dir: &Path,
        pushed: u64,
    ) -> Result<Self, BuildError> {
        let phase = Phase::Sort { table: 0, tables: options.known_tables() };
        let done = options.counter(phase, None)?;
        let state = match sorter.finish(&done)? {
            Sorted::InMemory(records) => State::Records(records),
            spilled @ Sorted::Spilled(_) => State::Spilled(spilled, None),
        };
        Ok(Self { options, temp_dir: temp_dir.to_owned(), pushed, state })
    }

    fn sort_spilled(
        &self,
        records: &Sorted<R>,
        permutation: &Permutation<R::Fingerprint>,
        done: &Counter,
    ) -> Result<Sorted<R::Fingerprint>, BuildError> {
        let mut sorter = Sorter::new(self.options.sort_memory(), &self.temp_dir);
        records.for_each_unordered(&mut |batch| {
            let mut permuted = batch.iter().map(|record| permutation.apply(record.fingerprint()));
            permuted.try_for_each(|value| sorter.push(value, done))?;
            Ok(done.check()?)
        })?;
        sorter.finish(done)
    }
}

impl<F: Fingerprint, R: Record<Fingerprint = F>> TableSource<F> for Pushed<'_, R> {
    type Record = R;

    fn read(&self) -> u64 {
        self.pushed
    }

    fn records(&mut self, visit: &mut Visit<'_, R>) -> Result<(), BuildError> {
        match &self.state {
            State::Records(records) => Sorted::batches(records, visit),
            State::Spilled(records, _) => records.for_each_batch(visit),
            State::Values(..) => unreachable!("table 0 comes before all others"),
        }
    }

    fn select(&mut self, table: Select<'_, F>) -> Result<(), BuildError> {
        let phase = Phase::Sort { table: table.number, tables: table.tables };
        let done = self.options.counter(phase, Some(table.fingerprints))?;
        let to = table.permutation;
        let nothing = State::Records(Vec::new());
        let (mut values, from) = match std::mem::replace(&mut self.state, nothing) {
            // Table 0 is in natural order.
            State::Records(records) => (R::into_fingerprints(records, &done)?, Permutation::new(F::ONES)),
            State::Values(values, from) => (values, from),
            State::Spilled(records, before) => {
                drop(before);
                let values = self.sort_spilled(&records, to, &done)?;
                self.state = State::Spilled(records, Some(values));
                return Ok(());
            }
        };
        try_for_each(values.chunks_mut(CHUNK).collect(), |values: &mut [F]| {
            values.iter_mut().for_each(|value| *value = to.apply(from.undo(*value)));
            done.check()
        })?;
        sorting::sort(&mut values, &|| done.check())?;
        self.state = State::Values(values, to.clone());
        Ok(())
    }

    fn values(&mut self, visit: &mut Visit<'_, F>) -> Result<(), BuildError> {
        match &self.state {
            State::Values(values, _) => Sorted::batches(values, visit),
            State::Spilled(_, Some(values)) => values.for_each_batch(visit),
            State::Records(_) | State::Spilled(_, None) => unreachable!("no table has been selected"),
        }
    }
}
