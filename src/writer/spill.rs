//! Sorted runs on disk, and their merge.
//!
//! All runs of a sort are in one temporary file that has no name (or loses it at once, if the system needs
//! one), so no end of the process leaves anything behind.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::progress::Counter;
use crate::writer::Record;
use hamdex_atomic_file::read_exact_at;

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
        let file = file(directory)?;
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

/// Bytes read at once from a run: the fewest and the most.
const READ_BYTES: Range<usize> = 1 << 12..1 << 20;

/// Merges runs, record by record.
pub(crate) struct Merge<'a, R> {
    /// Of the file, for errors.
    directory: &'a Path,
    readers: Vec<Reader<'a, R>>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
    last: Option<R>,
}

impl<'a, R: Record> Merge<'a, R> {
    /// Merges runs of a file in `directory`, each given by its records, and reads with that much memory.
    pub(super) fn new(
        (file, directory): (&'a File, &'a Path),
        runs: &[Range<u64>],
        memory: usize,
    ) -> Result<Self, BuildError> {
        let buffer = memory / runs.len().max(1);
        let readers = runs.iter().map(|run| Reader::new(file, run.clone(), buffer)).collect();
        let heads = BinaryHeap::with_capacity(runs.len());
        let mut merge = Self { directory, readers, heads, last: None };
        for number in 0..merge.readers.len() {
            let record = merge.read(number)?;
            merge.heads.extend(record.map(|record| Reverse((record, number))));
        }
        Ok(merge)
    }

    /// Returns the next record of a run.
    #[inline]
    fn read(&mut self, number: usize) -> Result<Option<R>, BuildError> {
        self.readers[number].next().map_err(|source| unreadable(self.directory, source))
    }

    /// Returns the next record of all that is not one that has been returned.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<R>, BuildError> {
        while let Some(&Reverse((record, number))) = self.heads.peek() {
            let next = self.read(number)?;
            let mut head = self.heads.peek_mut().expect("it has been peeked at");
            match next {
                // In place: `head` restores the heap when it is dropped.
                Some(next) => *head = Reverse((next, number)),
                None => drop(std::collections::binary_heap::PeekMut::pop(head)),
            }
            if self.last.replace(record) != Some(record) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

/// Returns the error of a temporary file in that directory. To be made when reading has failed only: an allocation per
/// record costs a hundred times the merge if the allocator has little room.
#[cold]
fn unreadable(directory: &Path, source: io::Error) -> BuildError {
    BuildError::Io { doing: "read a temporary file in", path: directory.to_owned(), source }
}

/// Reads a stretch of the file, record by record.
struct Reader<'a, R> {
    file: &'a File,
    /// The records not yet read.
    left: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
    buffer_records: usize,
    records: PhantomData<R>,
}

impl<'a, R: Record> Reader<'a, R> {
    /// Reads about `buffer_bytes` at once.
    pub(super) fn new(file: &'a File, run: Range<u64>, buffer_bytes: usize) -> Self {
        let buffer_records = buffer_bytes.clamp(READ_BYTES.start, READ_BYTES.end) / R::BYTES;
        Self { file, left: run, buffer: Vec::new(), at: 0, buffer_records, records: PhantomData }
    }

    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Option<R>> {
        if self.at == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        let record = R::read(&self.buffer[self.at..]);
        self.at += R::BYTES;
        Ok(Some(record))
    }

    #[cold]
    fn fill(&mut self) -> io::Result<bool> {
        let records = (self.left.end - self.left.start).min(self.buffer_records as u64);
        self.buffer.resize(records as usize * R::BYTES, 0);
        self.at = 0;
        read_exact_at(self.file, &mut self.buffer, self.left.start * R::BYTES as u64)?;
        self.left.start += records;
        Ok(records > 0)
    }
}

/// Bytes gathered before they are written.
const GATHER_BYTES: usize = 1 << 20;

/// Makes a temporary file.
pub(super) fn file(directory: &Path) -> Result<File, BuildError> {
    tempfile::tempfile_in(directory).map_err(|source| BuildError::Io {
        doing: "create a temporary file",
        path: directory.to_owned(),
        source,
    })
}

/// Creates a temporary file for the bytes of a section that is written later.
pub(super) fn spool(directory: &Path) -> Result<io::BufWriter<File>, BuildError> {
    Ok(io::BufWriter::with_capacity(GATHER_BYTES, file(directory)?))
}

/// Turns a spool round, for reading.
pub(super) fn rewind(spool: io::BufWriter<File>) -> io::Result<io::BufReader<File>> {
    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(io::BufReader::with_capacity(GATHER_BYTES, file))
}

/// A spool that can be read until the build is stopped.
pub(super) struct Watched<'d> {
    pub(super) spool: io::BufReader<File>,
    pub(super) done: &'d Counter,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.done.check().map_err(|_| io::Error::other("the build is stopped"))?;
        self.spool.read(buffer)
    }
}

/// Returns the error of using a temporary file.
#[cold]
pub(super) fn failed(temp_dir: &Path, source: io::Error) -> BuildError {
    BuildError::Io { doing: "use a temporary file in", path: temp_dir.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use crate::progress::{Phase, Report};

    use super::*;

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
