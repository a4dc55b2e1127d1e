//! Sorted runs on disk, and their merge.
//!
//! All runs of a sort are in one temporary file that has no name (or loses it at once, if the system needs
//! one), so no end of the process leaves anything behind.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::progress::Counter;
use crate::writer::record::Record;
use crate::writer::run_merge::{Merge, Reader, unreadable};
use crate::writer::temporary;

/// The most runs merged at once: beyond, groups of runs are merged into longer ones first.
const MAX_FAN_IN: usize = 256;

/// Bytes written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Records delivered at once.
pub(super) const BATCH: usize = 1 << 18;

/// Sorted runs of records in a temporary file.
pub(crate) struct SpilledRuns<R> {
    file: File,
    directory: PathBuf,
    /// Range of each run, in records.
    runs: Vec<Range<u64>>,
    /// Memory for reading, in bytes, all runs together.
    memory: usize,
    records: PhantomData<R>,
}

impl<R: Record> SpilledRuns<R> {
    pub(super) fn create(directory: &Path, memory: usize) -> Result<Self, BuildError> {
        let file = temporary::file(directory)?;
        Ok(Self { file, directory: directory.to_owned(), runs: Vec::new(), memory, records: PhantomData })
    }

    #[cold]
    fn unwritable(&self, source: io::Error) -> BuildError {
        BuildError::Io { doing: "write a temporary file to", path: self.directory.clone(), source }
    }

    /// Returns the start of the next run.
    fn end(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// Appends a run.
    pub(super) fn push(&mut self, sorted: &[R], done: &Counter) -> Result<(), BuildError> {
        let start = self.end();
        self.write(sorted, start, done)?;
        self.runs.push(start..start + sorted.len() as u64);
        Ok(())
    }

    /// Appends records to the last run, which has none above them.
    pub(super) fn extend_last(&mut self, sorted: &[R], done: &Counter) -> Result<(), BuildError> {
        self.push(sorted, done)?;
        if let [.., before, last] = self.runs.as_mut_slice() {
            before.end = last.end;
            self.runs.pop();
        }
        Ok(())
    }

    /// Writes records after the last run. What an earlier attempt wrote in part, and failed, lies
    /// there, too: it is written over.
    fn write(&mut self, records: &[R], at: u64, done: &Counter) -> Result<(), BuildError> {
        self.file.seek(SeekFrom::Start(at * R::BYTES as u64)).map_err(|error| self.unwritable(error))?;
        let mut bytes = Vec::with_capacity(WRITE_BYTES.min(records.len() * R::BYTES));
        for piece in records.chunks(WRITE_BYTES / R::BYTES) {
            done.check()?;
            bytes.resize(piece.len() * R::BYTES, 0);
            for (record, bytes) in piece.iter().zip(bytes.chunks_exact_mut(R::BYTES)) {
                record.write(bytes);
            }
            self.file.write_all(&bytes).map_err(|error| self.unwritable(error))?;
        }
        Ok(())
    }

    /// Delivers all records, run after run, in batches that each fit into memory.
    pub(super) fn for_each_unmerged(
        &self,
        mut batch: impl FnMut(&[R]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mut reader = Reader::new(&self.file, 0..self.end(), usize::MAX);
        let mut records = Vec::with_capacity(BATCH);
        loop {
            records.clear();
            while records.len() < BATCH {
                match reader.next().map_err(|error| unreadable(&self.directory, error))? {
                    Some(record) => records.push(record),
                    None => break,
                }
            }
            if records.is_empty() {
                return Ok(());
            }
            batch(&records)?;
        }
    }

    /// Merges groups of runs until few enough are left to be merged at once.
    pub(super) fn prepare(&mut self, done: &Counter) -> Result<(), BuildError> {
        while self.runs.len() > MAX_FAN_IN {
            let mut longer = Self::create(&self.directory, self.memory)?;
            for group in self.runs.chunks(MAX_FAN_IN) {
                let start = longer.end();
                let mut written = 0;
                self.merge(group, |batch| {
                    longer.write(batch, start + written, done)?;
                    written += batch.len() as u64;
                    Ok(())
                })?;
                longer.runs.push(start..start + written);
            }
            *self = longer;
        }
        Ok(())
    }

    /// Delivers all records, ascending, each once, in batches.
    pub(super) fn for_each_merged(
        &self,
        batch: impl FnMut(&[R]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        self.merge(&self.runs, batch)
    }

    fn merge_of(&self, runs: &[Range<u64>]) -> Result<Merge<'_, R>, BuildError> {
        Merge::new((&self.file, &self.directory), runs, self.memory)
    }

    /// Returns all records, ascending, each once.
    pub(super) fn merged(&self) -> Result<Merge<'_, R>, BuildError> {
        self.merge_of(&self.runs)
    }

    fn merge(
        &self,
        runs: &[Range<u64>],
        mut batch: impl FnMut(&[R]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mut merge = self.merge_of(runs)?;
        let mut records: Vec<R> = Vec::with_capacity(BATCH);
        while let Some(record) = merge.next()? {
            records.push(record);
            if records.len() == BATCH {
                batch(&records)?;
                records.clear();
            }
        }
        if records.is_empty() { Ok(()) } else { batch(&records) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::{Phase, Report};

    /// Counts for no callback.
    fn silent() -> Counter {
        Counter::new(Report::default(), Phase::Read, None)
    }

    fn runs(lists: &[Vec<u64>]) -> SpilledRuns<u64> {
        let mut runs = SpilledRuns::create(&std::env::temp_dir(), 1 << 16).unwrap();
        lists.iter().for_each(|list| runs.push(list, &silent()).unwrap());
        runs.prepare(&silent()).unwrap();
        runs
    }

    fn merged(runs: &SpilledRuns<u64>) -> Vec<u64> {
        let mut all = Vec::new();
        runs.for_each_merged(|batch| {
            all.extend_from_slice(batch);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn runs_merge_into_one_without_repeats() {
        assert!(merged(&runs(&[])).is_empty());
        assert_eq!(merged(&runs(&[vec![1, 5], vec![], vec![0, 1, 9], vec![5]])), [0, 1, 5, 9]);
    }

    #[test]
    fn more_runs_than_are_merged_at_once_are_merged_in_steps() {
        let lists: Vec<Vec<u64>> = (0..700u64).map(|i| vec![i, i + 1, 1_000_000 - i]).collect();
        let mut expected: Vec<u64> = lists.concat();
        expected.sort_unstable();
        expected.dedup();
        let runs = runs(&lists);
        assert!(runs.runs.len() <= MAX_FAN_IN);
        assert_eq!(merged(&runs), expected);
    }

    #[test]
    fn what_a_failed_attempt_left_behind_is_written_over() {
        let mut runs = runs(&[vec![3, 4]]);
        // A disk that was full for a while: a part of a run is there, and the run is not.
        runs.write(&[77, 78, 79], runs.end(), &silent()).unwrap();
        runs.push(&[1, 5], &silent()).unwrap();
        assert_eq!(merged(&runs), [1, 3, 4, 5]);
    }

    #[test]
    fn unmerged_records_all_come() {
        let runs = runs(&[vec![3, 4], vec![1]]);
        let mut all = Vec::new();
        runs.for_each_unmerged(|batch| {
            all.extend_from_slice(batch);
            Ok(())
        })
        .unwrap();
        assert_eq!(all, [3, 4, 1]);
    }
}
