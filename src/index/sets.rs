//! Sets of shingles by document, put together from the lists of the documents of each shingle.
//!
//! The pairs of a file come by shingle, and the next one is of any document. Written to its set at once, each would wait
//! for memory. So they are first written to groups of neighbouring sets, one after the other in each, and then divided
//! within a group, which fits into the processor's cache.

use std::ops::Range;

use crate::error::{ReadError, ReadErrorKind};
use crate::names::directory::Directory;
use crate::shingles;
use crate::similar::PairTable;

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
