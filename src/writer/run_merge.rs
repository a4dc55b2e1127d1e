//! The merge of sorted runs, record by record.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

use hamdex_atomic_file::read_exact_at;

use crate::error::BuildError;
use crate::writer::record::Record;

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
                // In place: the heap is put right when `head` goes.
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
pub(super) fn unreadable(directory: &Path, source: io::Error) -> BuildError {
    BuildError::Io { doing: "read a temporary file in", path: directory.to_owned(), source }
}

/// Reads a stretch of the file, record by record.
pub(super) struct Reader<'a, R> {
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
