//! The shingles of a file's documents.
//!
//! The file lists the documents of each shingle. The sets of the documents are put together again from these lists, part
//! by part: each part takes one pass over all lists, and memory for its own sets.

use std::fmt;
use std::ops::{ControlFlow, Range};

use crate::codec::Scratch;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::index::Index;
use crate::index::lists::{PairLists, PairMemory};
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::names::directory::Directory;
use crate::similar::{PairTable, ShingleTable};
use crate::table::runs_of;

/// Memory of a set per shingle.
const SHINGLE_BYTES: u64 = size_of::<u64>() as u64;

/// Memory of a set beside its shingles: its start and its end.
const SET_BYTES: u64 = 2 * size_of::<usize>() as u64;

/// Runs of blocks between cancellation checks.
const RUNS_AT_ONCE: usize = 1 << 9;

/// The shingles of an index's documents: made by [`Index::shingles`](crate::Index::shingles).
#[derive(Clone, Copy)]
pub struct Shingles<'a> {
    documents: Directory<'a>,
    pairs: &'a PairTable,
    /// The file, and how it is read ahead.
    source: (&'a Mapping, &'a ReadAhead),
}

impl<F> Index<F> {
    /// Returns whether the ids have the shingles of their documents.
    #[must_use]
    pub fn has_shingles(&self) -> bool {
        self.shingles.is_some()
    }

    /// Returns the shingles of the documents; `None` if there are none.
    ///
    /// # Errors
    /// When the head of their directory is damaged, or an earlier version has written the file
    /// ([`ReadErrorKind::OldShingles`]). The rest of the index can still be queried.
    pub fn shingles(&self) -> Result<Option<Shingles<'_>>, ReadError> {
        let Some(table) = &self.shingles else { return Ok(None) };
        let (file, path) = (self.data.as_ref(), self.path.as_deref());
        let open = || match table {
            ShingleTable::Old => Err(ReadErrorKind::OldShingles.into()),
            ShingleTable::Listed { directory, pairs } => {
                let documents = pairs.documents(file, directory, path)?;
                Ok(Some(Shingles { documents, pairs, source: (&self.data, &self.read_ahead) }))
            }
        };
        open().map_err(|error: ReadError| error.of_file(path))
    }
}

impl<'a> Shingles<'a> {
    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.documents.len()
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ids of the documents, and the number of shingles of each.
    pub(crate) fn documents(&self) -> Directory<'a> {
        self.documents
    }

    /// Returns the table of pairs.
    pub(crate) fn pairs(&self) -> &'a PairTable {
        self.pairs
    }

    /// Returns the lists, to be searched.
    pub(crate) fn lists<'s>(&self, memory: &'s mut PairMemory) -> PairLists<'s>
    where
        'a: 's,
    {
        PairLists::new((self.pairs, self.documents), self.source, memory)
    }

    /// Divides the documents into parts for [`Shingles::for_each_in`], each of which takes at most `memory` bytes; more
    /// only for a document that takes more alone.
    ///
    /// # Errors
    /// When a page of the directory is damaged.
    pub fn parts(&self, memory: u64) -> Result<Vec<Range<u64>>, ReadError> {
        self.find_parts(memory).map_err(|error| error.of_file(self.documents.path()))
    }

    fn find_parts(&self, memory: u64) -> Result<Vec<Range<u64>>, ReadError> {
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < self.len() {
            let first = self.documents.start(start)?;
            let fits = |end: u64| {
                let shingles = self.documents.start(end)?.saturating_sub(first);
                let bytes = shingles.saturating_mul(SHINGLE_BYTES).saturating_add((end - start) * SET_BYTES);
                Ok::<_, ReadError>(bytes <= memory)
            };
            // The last end that fits, by halves.
            let (mut end, mut too_far) = (start + 1, self.len() + 1);
            while too_far - end > 1 {
                let middle = end + (too_far - end) / 2;
                if fits(middle)? {
                    end = middle;
                } else {
                    too_far = middle;
                }
            }
            parts.push(start..end);
            start = end;
        }
        Ok(parts)
    }

    /// Calls `visit` with the id and the shingles of every document of a part, by id, until it breaks. Reads all lists of
    /// the file once, whatever the part is.
    ///
    /// # Errors
    /// When a block or a page is damaged, or there is no memory for the sets of the part.
    pub fn for_each_in<B>(
        &self,
        part: Range<u64>,
        visit: impl FnMut(u64, &[u64]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, ReadError> {
        self.for_each_while(part, &|| Ok(()), visit)
    }

    /// As [`Shingles::for_each_in`]; `check_cancelled` is called while the lists are read, and its error ends that.
    ///
    /// # Errors
    /// As for [`Shingles::for_each_in`]; an error of `check_cancelled`.
    pub fn for_each_while<B>(
        &self,
        part: Range<u64>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        mut visit: impl FnMut(u64, &[u64]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, ReadError> {
        let run = || {
            let sets = Sets::read(self, part.clone(), &Err, check_cancelled)?;
            for (number, place) in part.enumerate() {
                let set = sets.get(number).ok_or_else(|| self.incomplete(place))?;
                if let ControlFlow::Break(value) = visit(self.documents.id(place)?, set) {
                    return Ok(ControlFlow::Break(value));
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        run().map_err(|error: ReadError| error.of_file(self.documents.path()))
    }

    /// Calls `visit` with the id and the shingles of every document of a part whose blocks can be read.
    ///
    /// # Errors
    /// When a page of the directory is damaged, or there is no memory for the sets of the part.
    pub(crate) fn for_each_readable(
        &self,
        part: Range<u64>,
        visit: &mut dyn FnMut(u64, &[u64]),
    ) -> Result<(), ReadError> {
        let sets = Sets::read(self, part.clone(), &|_| Ok(()), &|| Ok(()))?;
        for (number, place) in part.enumerate() {
            if let Some(set) = sets.get(number) {
                visit(self.documents.id(place)?, set);
            }
        }
        Ok(())
    }

    #[cold]
    fn incomplete(&self, place: u64) -> ReadError {
        let what = format_args!("document {place} has more or fewer than its directory says");
        ReadError::damaged(Place::Shingles, what)
    }

    /// Returns the last pair of a block.
    pub(crate) fn key(&self, block: usize) -> u128 {
        self.pairs.table().keys.in_file(self.source.0.as_ref()).get(block)
    }

    /// Appends the pairs of some blocks.
    pub(crate) fn decode(
        &self,
        blocks: Range<usize>,
        scratch: &mut Scratch<u128>,
        pairs: &mut Vec<u128>,
    ) -> Result<(), ReadError> {
        let ((data, read_ahead), table) = (self.source, self.pairs.table());
        read_ahead.blocks(data, table, blocks.clone());
        table.decode_run(data.as_ref(), blocks, scratch, pairs)
    }

    /// Calls `visit` with the pairs of some blocks at a time, ascending. The error of a damaged block goes to `damaged`,
    /// which may return it to end here.
    pub(crate) fn for_each_run(
        &self,
        damaged: &dyn Fn(ReadError) -> Result<(), ReadError>,
        visit: &mut dyn FnMut(&[u128]) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let ((data, read_ahead), table) = (self.source, self.pairs.table());
        let (mut windows, mut scratch) = (read_ahead.windows(data), Scratch::default());
        let mut pairs = Vec::new();
        for run in runs_of(0..table.keys.len()) {
            windows.reach(table, run.start);
            pairs.clear();
            if table.decode_run(data.as_ref(), run.clone(), &mut scratch, &mut pairs).is_ok() {
                visit(&pairs)?;
                continue;
            }
            for block in run {
                pairs.clear();
                match table.decode(data.as_ref(), block, &mut scratch, &mut pairs) {
                    Ok(()) => visit(&pairs)?,
                    Err(error) => damaged(error)?,
                }
            }
        }
        Ok(())
    }
}

/// The sets of some documents, in memory.
struct Sets {
    /// One set after the other.
    shingles: Vec<u64>,
    /// The start of each set, and the end of the last.
    starts: Vec<usize>,
    /// The end of what has been found of each set.
    ends: Vec<usize>,
}

impl Sets {
    /// Reads the sets of the documents at some places. Damaged blocks go to `damaged`.
    fn read(
        stored: &Shingles<'_>,
        part: Range<u64>,
        damaged: &dyn Fn(ReadError) -> Result<(), ReadError>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<Self, ReadError> {
        let head = stored.pairs.head();
        let mut sets = Self::with_room(stored, part.clone())?;
        let mut runs = 0usize;
        stored.for_each_run(damaged, &mut |pairs| {
            if runs.is_multiple_of(RUNS_AT_ONCE) {
                check_cancelled()?;
            }
            runs += 1;
            for &pair in pairs {
                let place = stored.pairs.place_of(stored.source.0.as_ref(), pair)?;
                let number = place.wrapping_sub(part.start) as usize;
                let Some(end) = sets.ends.get_mut(number) else { continue };
                // One that is too long is found so, and does not go on in the next.
                if *end < sets.starts[number + 1] {
                    sets.shingles[*end] = head.shingle_of(pair);
                }
                *end += 1;
            }
            Ok(())
        })?;
        Ok(sets)
    }

    /// Returns as many empty sets, with the room that their directory says.
    fn with_room(stored: &Shingles<'_>, part: Range<u64>) -> Result<Self, ReadError> {
        let documents = &stored.documents;
        let first = documents.start(part.start)?;
        let last = documents.start(part.end)?.saturating_sub(first).min(stored.pairs.head().pairs) as usize;
        let count = (part.end - part.start) as usize;
        let mut sets = Self { shingles: Vec::new(), starts: Vec::new(), ends: Vec::new() };
        let is_room = sets.shingles.try_reserve_exact(last).is_ok()
            && sets.starts.try_reserve_exact(count + 1).is_ok()
            && sets.ends.try_reserve_exact(count).is_ok();
        if !is_room {
            return Err(ReadErrorKind::OutOfMemory { bytes: last as u64 * SHINGLE_BYTES }.into());
        }
        for place in part.start..=part.end {
            match documents.start(place)?.checked_sub(first).map(|start| start as usize) {
                Some(start) if start <= last && sets.starts.last() <= Some(&start) => sets.starts.push(start),
                _ => {
                    return Err(documents.damaged(format_args!("the start of entry {place} is out of order")));
                }
            }
        }
        sets.ends.extend_from_slice(&sets.starts[..count]);
        sets.shingles.resize(last, 0);
        Ok(sets)
    }

    /// Returns the set of that number; `None` if it has more or fewer shingles than its directory says.
    fn get(&self, number: usize) -> Option<&[u64]> {
        let (start, end) = (self.starts[number], self.ends[number]);
        (end == self.starts[number + 1]).then(|| &self.shingles[start..end])
    }
}

impl fmt::Debug for Shingles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shingles").field("len", &self.len()).finish_non_exhaustive()
    }
}
