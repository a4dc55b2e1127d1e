//! The shingles of a file's documents: the documents similar to a set of shingles, and the sets of documents.
//!
//! The file lists the documents of each shingle. The sets of the documents are put together again from these lists, part
//! by part: each part takes one pass over all lists, and memory for its own sets. The pairs of a file come by shingle, and
//! the next one is of any document. Written to its set at once, each would wait for memory. So they are first written to
//! groups of neighbouring sets, one after the other in each, and then divided within a group, which fits into the
//! processor's cache.

use std::fmt;
use std::ops::Range;

use crate::codec::Scratch;
use crate::error::{Place, ReadError, ReadErrorKind};
use crate::index::Index;
use crate::index::lists::{PairLists, PairMemory};
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::names::directory::Directory;
use crate::progress::{Phase, Progress, Report};
use crate::shingles::{self, Alike, Condition, PairTable, Search, ShingleTable};
use crate::sorting::partition_point;
use crate::table::runs_of;
use hamdex_fingerprint::Fingerprint;

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
            // A document that does not fit alone is a part, too.
            let end = partition_point(start + 2..self.len() + 1, fits)? - 1;
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

/// The memory of searches, used again and again.
#[derive(Debug, Default)]
pub(crate) struct SimilarSearch {
    search: Search,
    pairs: PairMemory,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the documents to search.
    ///
    /// # Errors
    /// When the index has no shingles, or a page that is read is damaged.
    pub(crate) fn similar_part(&self) -> Result<Shingles<'_>, ReadError> {
        self.shingles()?.ok_or_else(|| self.error(ReadErrorKind::NoShingles.into()))
    }
}

impl SimilarSearch {
    /// Calls `visit` with the id and the similarity of each document of a part that meets a condition with a set of
    /// shingles, which ascend.
    pub(crate) fn for_each(
        &mut self,
        part: Shingles<'_>,
        (shingles, condition): (&[u64], &Condition),
        report: &Report,
        mut visit: impl FnMut(u64, f64),
    ) -> Result<(), ReadError> {
        let Self { search, pairs } = self;
        let mut lists = part.lists(pairs);
        let check = || Ok(report.progressed(Progress::new(Phase::Query, 0, None))?);
        let mut run = || {
            for &Alike { place, size, shared } in search.run(&mut lists, shingles, condition, &check)? {
                visit(part.documents().id(place)?, condition.share(shared, shingles.len(), size));
            }
            Ok(())
        };
        run().map_err(|error: ReadError| error.of_file(part.documents().path()))
    }
}

/// Memory of a set per shingle.
pub(super) const SHINGLE_BYTES: u64 = size_of::<u64>() as u64;

/// Memory of a set beside its shingles: its start and its end.
pub(super) const SET_BYTES: u64 = 2 * size_of::<usize>() as u64;

/// Bytes of a group of sets, about.
const GROUP_BYTES: usize = 1 << 19;

/// Bits of the number of a set in its group, below those of the shingle in a word.
const NUMBER_BITS: u32 = u64::BITS - shingles::BITS;

/// Steps between cancellation checks: runs of blocks, or groups.
const STEPS_AT_ONCE: usize = 1 << 9;

/// Takes the error of a damaged block or page, and returns it to end the reading.
pub(super) type OnDamage<'d> = dyn Fn(ReadError) -> Result<(), ReadError> + 'd;

/// Takes pairs.
pub(super) type VisitPairs<'v> = dyn FnMut(&[u128]) -> Result<(), ReadError> + 'v;

/// The sets of some documents, in memory.
pub(super) struct Sets {
    /// One set after the other.
    shingles: Vec<u64>,
    /// The start of each set, and the end of the last.
    starts: Vec<usize>,
    /// The end of what has been found of each set; beyond all ends if that is too much.
    ends: Vec<usize>,
    /// The numbers of sets whose start or end cannot be read, ascending.
    unknown: Vec<usize>,
}

/// The room of the sets of a group.
struct Group {
    /// The end of what has been written.
    filled: usize,
    end: usize,
    is_too_full: bool,
}

impl Sets {
    /// Reads the sets of the documents at some places. `for_each_run` calls its argument with the pairs of some blocks at a
    /// time, ascending. The error of an entry of the directory goes to `damaged`.
    pub(super) fn read(
        (documents, pairs): (&Directory<'_>, &PairTable),
        part: Range<u64>,
        damaged: &OnDamage<'_>,
        for_each_run: impl FnOnce(&mut VisitPairs<'_>) -> Result<(), ReadError>,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<Self, ReadError> {
        let (head, file) = (pairs.head(), documents.file());
        let mut sets = Self::with_room(documents, pairs.most_pairs(file), part.clone(), damaged)?;
        let (bits, mut groups, mut runs) = (sets.group_bits(), sets.groups(), 0usize);
        for_each_run(&mut |run| {
            if runs.is_multiple_of(STEPS_AT_ONCE) {
                check_cancelled()?;
            }
            runs += 1;
            for &pair in run {
                let number = pairs.place_of(file, pair)?.wrapping_sub(part.start);
                if number >= part.end - part.start || sets.is_unknown(number) {
                    continue;
                }
                let group = &mut groups[(number >> bits) as usize];
                if group.filled < group.end {
                    let number = number & ((1 << bits) - 1);
                    sets.shingles[group.filled] = head.shingle_of(pair) << NUMBER_BITS | number;
                    group.filled += 1;
                } else {
                    group.is_too_full = true;
                }
            }
            Ok(())
        })?;
        let mut words = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            if number.is_multiple_of(STEPS_AT_ONCE) {
                check_cancelled()?;
            }
            sets.divide(number << bits, group, &mut words);
            if group.is_too_full {
                // Of which set the last ones are is not known.
                sets.ends.iter_mut().skip(number << bits).take(1 << bits).for_each(|end| *end = usize::MAX);
            }
        }
        for &number in &sets.unknown {
            sets.ends[number] = usize::MAX;
        }
        Ok(sets)
    }

    /// Divides the words of the group whose first set has that number; `words` is memory that is reused.
    fn divide(&mut self, first: usize, group: &Group, words: &mut Vec<u64>) {
        let Self { shingles, starts, ends, .. } = self;
        words.clear();
        words.extend_from_slice(&shingles[starts[first]..group.filled]);
        for &word in &*words {
            let number = first + (word & ((1 << NUMBER_BITS) - 1)) as usize;
            let end = &mut ends[number];
            // One that is too long is found so, and does not go on in the next.
            if *end < starts[number + 1] {
                shingles[*end] = word >> NUMBER_BITS;
            }
            *end += 1;
        }
    }

    /// Returns whether the start or the end of a set cannot be read, so that it has no room.
    #[inline]
    fn is_unknown(&self, number: u64) -> bool {
        !self.unknown.is_empty() && self.unknown.binary_search(&(number as usize)).is_ok()
    }

    /// Returns the number of sets in a group, as a power of two.
    fn group_bits(&self) -> u32 {
        let shingles = GROUP_BYTES / SHINGLE_BYTES as usize;
        let per_set = (self.shingles.len() / self.ends.len().max(1)).max(1);
        (shingles / per_set).max(1).ilog2().min(NUMBER_BITS)
    }

    /// Returns the groups, empty.
    fn groups(&self) -> Vec<Group> {
        let (sets, count) = (1 << self.group_bits(), self.ends.len());
        let group = |first: usize| Group {
            filled: self.starts[first],
            end: self.starts[count.min(first + sets)],
            is_too_full: false,
        };
        (0..count).step_by(sets).map(group).collect()
    }

    /// Returns as many empty sets, with the room that their directory says. A set whose start or end cannot be read has
    /// none.
    fn with_room(
        documents: &Directory<'_>,
        pairs: u64,
        part: Range<u64>,
        damaged: &OnDamage<'_>,
    ) -> Result<Self, ReadError> {
        let first = documents.readable_start(part.start);
        let last = documents.readable_start(part.end).saturating_sub(first).min(pairs) as usize;
        let count = (part.end - part.start) as usize;
        let mut sets =
            Self { shingles: Vec::new(), starts: Vec::new(), ends: Vec::new(), unknown: Vec::new() };
        let no_memory =
            |shingles: usize| ReadErrorKind::OutOfMemory { bytes: shingles as u64 * SHINGLE_BYTES };
        let is_room =
            sets.starts.try_reserve_exact(count + 1).is_ok() && sets.ends.try_reserve_exact(count).is_ok();
        if !is_room {
            return Err(no_memory(last).into());
        }
        // The last start that can be read, and the shingles before it of sets that have no room.
        let (mut before, mut passed, mut is_known) = (0, 0, true);
        for (number, place) in (part.start..=part.end).enumerate() {
            let start = documents.start(place).and_then(|start| {
                let start = start.checked_sub(first).map(|start| start as usize);
                start.filter(|start| (before..=last).contains(start)).ok_or_else(|| {
                    documents.damaged(format_args!("the start of entry {place} is out of order"))
                })
            });
            if start.is_err() || !is_known {
                sets.unknown.extend(number.checked_sub(1));
            }
            match start {
                Ok(start) => {
                    passed += if is_known { 0 } else { start - before };
                    (before, is_known) = (start, true);
                }
                Err(error) => {
                    damaged(error)?;
                    is_known = false;
                }
            }
            sets.starts.push(before - passed);
        }
        let shingles = before - passed;
        sets.shingles.try_reserve_exact(shingles).map_err(|_| no_memory(shingles))?;
        sets.ends.extend_from_slice(&sets.starts[..count]);
        sets.shingles.resize(shingles, 0);
        Ok(sets)
    }

    /// Returns the set of that number; `None` if it has more or fewer shingles than its directory says, or that is damaged.
    pub(super) fn get(&self, number: usize) -> Option<&[u64]> {
        let (start, end) = (self.starts[number], self.ends[number]);
        (end == self.starts[number + 1]).then(|| &self.shingles[start..end])
    }
}
