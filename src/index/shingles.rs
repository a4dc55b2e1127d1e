//! The shingles of a file's documents.
//!
//! The file lists the documents of each shingle. The sets of the documents are put together again from these lists, part
//! by part: each part takes one pass over all lists, and memory for its own sets.

use std::fmt;
use std::ops::Range;

use crate::codec::Scratch;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::index::Index;
use crate::index::lists::{PairLists, PairMemory};
use crate::index::read_ahead::ReadAhead;
use crate::index::sets::{OnDamage, SET_BYTES, SHINGLE_BYTES, Sets, VisitPairs};
use crate::mapping::Mapping;
use crate::names::directory::Directory;
use crate::similar::{PairTable, ShingleTable};
use crate::table::runs_of;

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

    /// Divides the documents into parts for [`Shingles::for_each_while`], each of which takes at most `memory` bytes; more
    /// only for a document that takes more alone.
    ///
    /// # Errors
    /// When a page of the directory is damaged.
    pub fn parts(&self, memory: u64) -> Result<Vec<Range<u64>>, ReadError> {
        self.find_parts(memory, |place| self.documents.start(place))
            .map_err(|error| error.of_file(self.documents.path()))
    }

    /// As [`Shingles::parts`], for [`Shingles::for_each_readable`]: sets in a damaged page of the directory take no room.
    pub(crate) fn readable_parts(&self, memory: u64) -> Vec<Range<u64>> {
        self.find_parts(memory, |place| Ok(self.documents.readable_start(place))).unwrap_or_default()
    }

    fn find_parts(
        &self,
        memory: u64,
        start_of: impl Fn(u64) -> Result<u64, ReadError>,
    ) -> Result<Vec<Range<u64>>, ReadError> {
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < self.len() {
            let first = start_of(start)?;
            let fits = |end: u64| {
                let shingles = start_of(end)?.saturating_sub(first);
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

    /// Calls `visit` with the id and the shingles of every document of a part, by id. Reads all lists of the file once,
    /// whatever the part is; `check_cancelled` is called meanwhile, and its error ends that.
    ///
    /// # Errors
    /// When a block or a page is damaged, or there is no memory for the sets of the part; an error of `check_cancelled`
    /// or `visit`.
    pub fn for_each_while<E: From<ReadError>>(
        &self,
        part: Range<u64>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        mut visit: impl FnMut(u64, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let part = part.start.min(part.end).min(self.len())..part.end.min(self.len());
        let failed = |error: ReadError| error.of_file(self.documents.path());
        let sets = self.sets(part.clone(), &Err, check_cancelled).map_err(failed)?;
        for (number, place) in part.enumerate() {
            let set = sets.get(number).ok_or_else(|| failed(self.incomplete(place)))?;
            visit(self.documents.id(place).map_err(failed)?, set)?;
        }
        Ok(())
    }

    /// Calls `visit` with the id and the shingles of every document of a part whose blocks, and whose entry of the
    /// directory, can be read.
    ///
    /// # Errors
    /// When there is no memory for the sets of the part.
    pub(crate) fn for_each_readable(
        &self,
        part: Range<u64>,
        visit: &mut dyn FnMut(u64, &[u64]),
    ) -> Result<(), ReadError> {
        let sets = self.sets(part.clone(), &|_| Ok(()), &|| Ok(()))?;
        for (number, place) in part.enumerate() {
            if let (Some(set), Ok(id)) = (sets.get(number), self.documents.id(place)) {
                visit(id, set);
            }
        }
        Ok(())
    }

    fn sets(
        &self,
        part: Range<u64>,
        damaged: &OnDamage<'_>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<Sets, ReadError> {
        let for_each_run = |visit: &mut VisitPairs<'_>| self.for_each_run(damaged, visit);
        Sets::read((&self.documents, self.pairs), part, damaged, for_each_run, check_cancelled)
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
        damaged: &OnDamage<'_>,
        visit: &mut VisitPairs<'_>,
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

impl fmt::Debug for Shingles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shingles").field("len", &self.len()).finish_non_exhaustive()
    }
}
