//! From lists to the documents that meet a condition: written once, for every kind of part that has lists.
//!
//! It ends as soon as more shingles have no list than a similar document may lack, and later when no candidate can meet
//! the condition any more.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::error::{Place, ReadError};
use crate::memory::{KEPT, give_back};
use crate::shingles::{self, Condition};

/// The time of a look-up in a list, in entries of a list that is read.
const LOOK_UP_COST: u64 = 16;

/// The fewest shingles that are looked up at once, so that their waits for memory overlap.
const FEWEST_AT_ONCE: usize = 32;

/// Places between two checks for cancellation.
const PLACES_AT_ONCE: usize = 1 << 16;

/// The list of the documents of a part that have a shingle; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The shingle.
    pub shingle: u64,
    /// The number of documents, about.
    pub length: u64,
    /// Its place in the part, as the part counts.
    pub at: Range<u64>,
}

/// A part of a set that has, for each shingle, a list of the documents that have it. Documents are numbers, which are
/// called places.
pub trait Lists {
    /// Appends the lists of these shingles, which ascend. A shingle that no document has gets none.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    fn find(&mut self, shingles: &[u64], lists: &mut Vec<List>) -> Result<(), ReadError>;

    /// Calls `visit` with the places of a list of [`Lists::find`], ascending.
    ///
    /// # Errors
    /// When a block is damaged; an error of `visit`.
    fn for_each(
        &mut self,
        list: &List,
        visit: &mut dyn FnMut(u64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError>;

    /// Returns whether a place is in a list of [`Lists::find`].
    ///
    /// # Errors
    /// When a block is damaged.
    fn contains(&mut self, list: &List, place: u64) -> Result<bool, ReadError>;

    /// Returns the number of shingles of a document.
    ///
    /// # Errors
    /// When a page that is read is damaged.
    fn size(&self, place: u64) -> Result<usize, ReadError>;

    /// Returns the error of a part in which a document is in more lists than it has shingles.
    #[cold]
    fn contradiction(&self, place: u64) -> ReadError {
        ReadError::damaged(Place::Shingles, format_args!("document {place} has more than it says"))
    }
}

/// A document that meets a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Alike {
    /// Its place.
    pub place: u64,
    /// The number of its shingles.
    pub size: usize,
    /// The number of shingles that it shares with the query.
    pub shared: usize,
}

/// A document that may meet the condition.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    place: u64,
    size: usize,
    /// The number of shared shingles, so far.
    shared: usize,
    /// The fewest with which it meets the condition.
    least: usize,
}

/// The memory of a search, used again and again.
#[derive(Debug, Default)]
pub struct Search {
    lists: Vec<List>,
    /// The places of candidates in `candidates`.
    numbers: HashMap<u64, u32, BuildHasherDefault<PlaceHasher>>,
    candidates: Vec<Candidate>,
    /// The places of a list.
    places: Vec<u64>,
    found: Vec<Alike>,
}

impl Search {
    /// Empties the memory, and gives back most of it if the last search needed little.
    fn clear(&mut self) {
        let Self { lists, numbers, candidates, places, found } = self;
        give_back(lists);
        give_back(candidates);
        give_back(places);
        give_back(found);
        if numbers.len() < numbers.capacity() / 8 {
            numbers.shrink_to(KEPT);
        }
        lists.clear();
        numbers.clear();
        candidates.clear();
        found.clear();
    }

    /// Returns the documents of a part that meet a condition with a set of shingles, each once, ascending, by place.
    /// `check_cancelled` is called from time to time.
    ///
    /// # Errors
    /// When a block or page that is read is damaged; an error of `check_cancelled`.
    pub fn run(
        &mut self,
        part: &mut impl Lists,
        shingles: &[u64],
        condition: &Condition,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
    ) -> Result<&[Alike], ReadError> {
        self.clear();
        let Self { lists, numbers, candidates, places, found } = self;
        debug_assert!(shingles.is_sorted_by(|one, other| one < other));
        // No document has what is beyond the bits of a shingle.
        let wanted = &shingles[..shingles.partition_point(|shingle| shingle >> shingles::BITS == 0)];
        let with_any = condition.least_shared_with_any(shingles.len());
        let Some(spare) = shingles.len().checked_sub(with_any) else { return Ok(found) };
        let mut missing = shingles.len() - wanted.len();
        for some in wanted.chunks(FEWEST_AT_ONCE.max(spare + spare / 4)) {
            let before = lists.len();
            part.find(some, lists)?;
            missing += some.len() - (lists.len() - before);
            // Most shingles of a new text are in no document: it is known to be new before all have been looked up.
            if missing > spare {
                return Ok(found);
            }
        }
        let Some(more) = lists.len().checked_sub(with_any) else { return Ok(found) };
        lists.sort_unstable_by_key(|list| list.length);

        // Every document that meets the condition is in one of the first lists.
        let (first, rest) = lists.split_at(more + 1);
        for (number, list) in first.iter().enumerate() {
            check_cancelled()?;
            places.clear();
            part.for_each(list, &mut |place| {
                places.push(place);
                if places.len().is_multiple_of(PLACES_AT_ONCE) { check_cancelled() } else { Ok(()) }
            })?;
            // Documents that are met here first can be in these lists alone.
            let left = lists.len() - number;
            for (number, &place) in places.iter().enumerate() {
                if number % PLACES_AT_ONCE == PLACES_AT_ONCE - 1 {
                    check_cancelled()?;
                }
                if let Some(&candidate) = numbers.get(&place) {
                    candidates[candidate as usize].shared += 1;
                    continue;
                }
                let size = part.size(place)?;
                let least = condition.least_shared(shingles.len(), size);
                if least <= left {
                    numbers.insert(place, candidates.len() as u32);
                    candidates.push(Candidate { place, size, shared: 1, least });
                }
            }
        }
        candidates.sort_unstable_by_key(|candidate| candidate.place);
        for (number, list) in rest.iter().enumerate() {
            let left = rest.len() - number;
            candidates.retain(|candidate| candidate.shared + left >= candidate.least);
            if candidates.is_empty() {
                return Ok(found);
            }
            check_cancelled()?;
            if list.length <= LOOK_UP_COST * candidates.len() as u64 {
                count_all(part, list, candidates, check_cancelled)?;
            } else {
                for (number, candidate) in candidates.iter_mut().enumerate() {
                    if number % PLACES_AT_ONCE == PLACES_AT_ONCE - 1 {
                        check_cancelled()?;
                    }
                    candidate.shared += usize::from(part.contains(list, candidate.place)?);
                }
            }
        }
        for &Candidate { place, size, shared, .. } in &*candidates {
            if shared > size {
                return Err(part.contradiction(place));
            }
            if condition.is_met(shared, shingles.len(), size) {
                found.push(Alike { place, size, shared });
            }
        }
        Ok(found)
    }
}

/// Counts a list for the candidates in it, by reading it.
fn count_all(
    part: &mut impl Lists,
    list: &List,
    candidates: &mut [Candidate],
    check_cancelled: &dyn Fn() -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let (mut next, mut read) = (0, 0usize);
    part.for_each(list, &mut |place| {
        read += 1;
        if read.is_multiple_of(PLACES_AT_ONCE) {
            check_cancelled()?;
        }
        // A few steps, then by halves: the list may have many more places than there are candidates, or fewer.
        while next < candidates.len() && candidates[next].place < place {
            next += 1;
            if candidates.get(next + 8).is_some_and(|later| later.place < place) {
                next += candidates[next..].partition_point(|candidate| candidate.place < place);
            }
        }
        if let Some(candidate) = candidates.get_mut(next).filter(|candidate| candidate.place == place) {
            candidate.shared += 1;
        }
        Ok(())
    })
}

/// Hashes places, which are small numbers, by one multiplication.
#[derive(Debug, Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("places are numbers of 64 bits");
    }

    fn write_u64(&mut self, place: u64) {
        // The golden ratio's digits; the table takes its place from either end of the hash.
        let product = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}
