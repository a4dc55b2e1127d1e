//! Sorting within a memory limit: in memory while it suffices, else by runs that are merged.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::build::record::Record;
use crate::build::spill::{BATCH, SpilledRuns};
use crate::error::BuildError;
use crate::threads::Pool;

/// Records that one thread looks through at a time.
const CHUNK: usize = 1 << 16;

/// Takes records in any order.
pub(super) struct Sorter<R> {
    records: Vec<R>,
    /// How many records memory holds.
    capacity: usize,
    runs: Option<SpilledRuns<R>>,
    temp_dir: PathBuf,
    memory: usize,
}

/// Records in order, each once, as often as they are wanted.
pub(super) enum Sorted<R> {
    InMemory(Vec<R>),
    Spilled(SpilledRuns<R>),
}

impl<R: Record> Sorter<R> {
    /// Keeps to `memory` bytes; spills to `temp_dir` beyond.
    pub(super) fn new(memory: usize, temp_dir: &Path) -> Self {
        let capacity = (memory / R::MEMORY_BYTES).max(1);
        Self { records: Vec::new(), capacity, runs: None, temp_dir: temp_dir.to_owned(), memory }
    }

    /// Takes over records that are in memory already, and stay there.
    pub(super) fn from_records(records: Vec<R>, temp_dir: &Path) -> Self {
        Self { records, ..Self::new(0, temp_dir) }
    }

    /// As [`Self::push`]; if there is something to sort, in that pool.
    #[inline]
    pub(super) fn push_in(&mut self, pool: &Pool, record: R) -> Result<(), BuildError> {
        if self.records.len() == self.records.capacity() {
            pool.install(|| self.make_room())?;
        }
        self.records.push(record);
        Ok(())
    }

    #[inline]
    pub(super) fn push(&mut self, record: R) -> Result<(), BuildError> {
        if self.records.len() == self.records.capacity() {
            self.make_room()?;
        }
        self.records.push(record);
        Ok(())
    }

    /// Grows by doubling up to the limit, then spills.
    #[cold]
    fn make_room(&mut self) -> Result<(), BuildError> {
        let more = self.records.len().max(BATCH).min(self.capacity.saturating_sub(self.records.len()));
        if more == 0 {
            return self.spill();
        }
        self.records
            .try_reserve_exact(more)
            .map_err(|_| BuildError::OutOfMemory { bytes: (more * size_of::<R>()) as u64 })
    }

    fn spill(&mut self) -> Result<(), BuildError> {
        sort(&mut self.records);
        let runs = match &mut self.runs {
            Some(runs) => runs,
            None => self.runs.insert(SpilledRuns::create(&self.temp_dir, self.memory / 2)?),
        };
        runs.push(&self.records)?;
        self.records.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Sorted<R>, BuildError> {
        if self.runs.is_none() {
            sort(&mut self.records);
            return Ok(Sorted::InMemory(self.records));
        }
        if !self.records.is_empty() {
            self.spill()?;
        }
        // What was memory for sorting is now memory for merging and writing.
        self.records = Vec::new();
        let mut runs = self.runs.expect("it has spilled");
        runs.prepare()?;
        Ok(Sorted::Spilled(runs))
    }
}

/// Sorts, and drops repeats.
fn sort<R: Record>(records: &mut Vec<R>) {
    records.par_sort_unstable();
    // Most of the time there is nothing to drop, which all threads together see sooner.
    let repeats = |chunk: &[R]| chunk.windows(2).any(|pair| pair[0] == pair[1]);
    let mut edges = records.chunks(CHUNK).zip(records.chunks(CHUNK).skip(1));
    if edges.any(|(a, b)| a.last() == b.first()) || records.par_chunks(CHUNK).any(repeats) {
        records.dedup();
    }
}

impl<R: Record> Sorted<R> {
    /// Hands on the records, ascending, in batches.
    pub(super) fn for_each_batch(
        &self,
        mut batch: impl FnMut(&[R]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        match self {
            Self::InMemory(records) => records.chunks(BATCH).try_for_each(batch),
            Self::Spilled(runs) => runs.for_each_merged(&mut batch),
        }
    }
}
