//! All stored fingerprints, in natural order: table 0, block by block; and places, which are stable numbers for them.

use std::fmt;
use std::ops::Range;

use crate::codec::{Scratch, entry_count};
use crate::error::{Place, ReadError};
use crate::ids::Ids;
use crate::ids::reader::IdWalk;
use crate::index::Index;
use crate::index::read_ahead::Windows;
use crate::table::scanner::Scanner;
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// The most blocks that are decoded together.
const MAX_BLOCKS_AT_ONCE: usize = 8;

/// A stored fingerprint and its ids.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Entry<'i, F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// Its ids, ascending; none if the index holds no ids.
    pub ids: Ids<'i>,
}

/// All entries of an index, ascending by fingerprint; made by [`Index::entries`].
///
/// It reads block by block, and prefetches if the file is not in memory, in an amount that does not depend on
/// the number of entries. It ends after the first error.
pub struct Entries<'i, F> {
    walk: Walk<'i, F>,
    /// Position of the ids of the next entry.
    ids: Option<IdWalk>,
}

/// All fingerprints of an index, ascending; made by [`Index::fingerprints`].
pub struct Fingerprints<'i, F> {
    walk: Walk<'i, F>,
}

/// Goes through blocks of table 0.
struct Walk<'i, F> {
    index: &'i Index<F>,
    /// The blocks not yet decoded.
    blocks: Range<usize>,
    /// Entries below this are left out.
    least: F,
    scratch: Scratch<F>,
    /// The entries of a few blocks, and which of them comes next.
    values: Vec<F>,
    next: usize,
    /// Number of blocks to decode together next time.
    at_once: usize,
    windows: Windows<'i>,
}

type DecodeSome<F> = fn(&mut Walk<'_, F>) -> Result<(), ReadError>;

per_width! {
    compiled_decode: DecodeSome = decode_some;
}

impl<F: Fingerprint> Index<F> {
    /// Returns all fingerprints with their ids, ascending.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().ids(true))?;
    /// for (fingerprint, id) in [(5_u64, 1), (5, 2), (7, 1), (9, 3)] {
    ///     builder.push_with_id(fingerprint, id)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// let mut found = Vec::new();
    /// for entry in index.entries().from(6) {
    ///     let entry = entry?;
    ///     found.extend(entry.ids.map(|id| (entry.fingerprint, id)));
    /// }
    /// assert_eq!(found, [(7, 1), (9, 3)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn entries(&self) -> Entries<'_, F> {
        Entries { walk: Walk::of_all(self), ids: None }
    }

    /// Returns all fingerprints, ascending.
    #[must_use]
    pub fn fingerprints(&self) -> Fingerprints<'_, F> {
        Fingerprints { walk: Walk::of_all(self) }
    }
}

impl<F: Fingerprint> Entries<'_, F> {
    /// Skips all entries below this fingerprint.
    #[must_use]
    pub fn from(mut self, least: F) -> Self {
        self.walk.skip_below(least);
        self.ids = None;
        self
    }

    /// Divides the unread entries into at most `parts` parts for several threads, about equally large and one
    /// after the other.
    #[must_use]
    pub fn split(self, parts: usize) -> Vec<Self> {
        self.walk.split(parts).into_iter().map(|walk| Self { walk, ids: None }).collect()
    }
}

impl<F: Fingerprint> Fingerprints<'_, F> {
    /// Skips all fingerprints below this one.
    #[must_use]
    pub fn from(mut self, least: F) -> Self {
        self.walk.skip_below(least);
        self
    }

    /// Divides the unread fingerprints into parts: see [`Entries::split`].
    #[must_use]
    pub fn split(self, parts: usize) -> Vec<Self> {
        self.walk.split(parts).into_iter().map(|walk| Self { walk }).collect()
    }
}

impl<'i, F: Fingerprint> Walk<'i, F> {
    fn of_all(index: &'i Index<F>) -> Self {
        Self::of(index, 0..index.tables[0].keys.len(), F::ZERO)
    }

    fn of(index: &'i Index<F>, blocks: Range<usize>, least: F) -> Self {
        let windows = index.read_ahead.windows(&index.data);
        let (scratch, values) = (Scratch::default(), Vec::new());
        Self { index, blocks, least, scratch, values, next: 0, at_once: 1, windows }
    }

    /// Returns the blocks with entries that have not been returned.
    fn unread_blocks(&self) -> Range<usize> {
        let keys = self.index.tables[0].keys.in_file(self.index.data.as_ref());
        let begun = self.values.get(self.next).map(|&value| keys.find(value));
        begun.unwrap_or(self.blocks.start)..self.blocks.end
    }

    /// Returns the least that the next entry can be.
    fn next_least(&self) -> F {
        self.values.get(self.next).copied().unwrap_or(self.least)
    }

    fn skip_below(&mut self, least: F) {
        let (least, mut blocks) = (least.max(self.next_least()), self.unread_blocks());
        let keys = self.index.tables[0].keys.in_file(self.index.data.as_ref());
        blocks.start = blocks.start.max(keys.find(least)).min(blocks.end);
        *self = Self::of(self.index, blocks, least);
    }

    fn split(self, parts: usize) -> Vec<Self> {
        let blocks = self.unread_blocks();
        let each = blocks.len().div_ceil(parts.max(1)).max(1);
        let part = |start| Self::of(self.index, start..blocks.end.min(start + each), self.next_least());
        blocks.clone().step_by(each).map(part).collect()
    }

    /// Returns the next fingerprint. `opened` is called with the first of the blocks that are decoded for it, and the
    /// number of their first entry that is not left out.
    #[inline]
    fn advance(
        &mut self,
        opened: impl FnMut(usize, usize) -> Result<(), ReadError>,
    ) -> Option<Result<F, ReadError>> {
        if self.next == self.values.len() {
            match self.open_next(opened) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.end();
                    return Some(Err(self.index.error(error)));
                }
            }
        }
        self.next += 1;
        Some(Ok(self.values[self.next - 1]))
    }

    /// Leaves out all that has not been read.
    fn end(&mut self) {
        self.blocks.start = self.blocks.end;
        self.values.clear();
        self.next = 0;
    }

    fn open_next(
        &mut self,
        mut opened: impl FnMut(usize, usize) -> Result<(), ReadError>,
    ) -> Result<bool, ReadError> {
        while self.next == self.values.len() {
            if self.blocks.is_empty() {
                return Ok(false);
            }
            let first = self.blocks.start;
            compiled_decode()(self)?;
            let least = self.least;
            self.next = self.values.partition_point(|&value| value < least);
            opened(first, self.next)?;
        }
        Ok(true)
    }
}

/// Decodes a few blocks together, which takes less time than one after the other; at first one, in case that
/// no more is wanted.
fn decode_some<F: Fingerprint>(walk: &mut Walk<'_, F>) -> Result<(), ReadError> {
    let table = &walk.index.tables[0];
    let file = walk.index.data.as_ref();
    let first = walk.blocks.start;
    let run = first..walk.blocks.end.min(first + walk.at_once);
    walk.at_once = MAX_BLOCKS_AT_ONCE.min(2 * walk.at_once);
    run.clone().for_each(|block| walk.windows.reach(table, block));
    walk.values.clear();
    walk.blocks.start = run.end;
    let decoded = table.decode_run(file, run, &mut walk.scratch, &mut walk.values);
    match (decoded, walk.values.last()) {
        // The entries before the damage are intact; the error comes next.
        (Err(_), Some(&last)) => walk.blocks.start = table.keys.in_file(file).find(last) + 1,
        (decoded, _) => decoded?,
    }
    Ok(())
}

impl<F: Fingerprint> Iterator for Fingerprints<'_, F> {
    type Item = Result<F, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.walk.advance(|_, _| Ok(()))
    }
}

impl<'i, F: Fingerprint> Iterator for Entries<'i, F> {
    type Item = Result<Entry<'i, F>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.walk.index;
        let Some(table) = &index.ids else {
            let fingerprint = self.walk.advance(|_, _| Ok(()))?;
            return Some(fingerprint.map(|fingerprint| Entry { fingerprint, ids: Ids::NONE }));
        };
        let (file, place) = (index.data.as_ref(), &mut self.ids);
        let fingerprint = self.walk.advance(|block, entry| {
            *place = Some(table.walk(file, block, entry)?);
            Ok(())
        })?;
        let entry = fingerprint.and_then(|fingerprint| {
            let place = self.ids.as_mut().expect("a block has been opened");
            let ids = table.next(file, place).map_err(|error| index.error(error))?;
            Ok(Entry { fingerprint, ids })
        });
        if entry.is_err() {
            self.walk.end();
        }
        Some(entry)
    }
}

impl<F: Fingerprint> fmt::Debug for Entries<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}

impl<F: Fingerprint> fmt::Debug for Fingerprints<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprints").finish_non_exhaustive()
    }
}

type Places<F> = fn(&Index<F>, F) -> Result<Range<u64>, ReadError>;
type PlaceOf<F> = fn(&Index<F>, F, u64) -> Result<Option<u64>, ReadError>;
type Rank<F> = fn(&Index<F>, F) -> Result<u64, ReadError>;
type FingerprintAt<F> = fn(&Index<F>, u64) -> Result<F, ReadError>;

per_width! {
    compiled_places: Places = places;
    compiled_place_of: PlaceOf = place_of;
    compiled_rank: Rank = rank;
    compiled_fingerprint_at: FingerprintAt = fingerprint_at;
}

impl<F: Fingerprint> Index<F> {
    /// Returns the number of places: one for each pair of fingerprint and id, or for each fingerprint if the
    /// index has no ids.
    #[must_use]
    pub fn place_count(&self) -> u64 {
        self.ids.as_ref().map_or(self.len(), |ids| ids.record.count)
    }

    /// Returns the places of a fingerprint: none if it is not stored. Places number the pairs of fingerprint
    /// and id in natural order, from 0; or the fingerprints, if the index has no ids. The first place belongs
    /// to the first of [`Index::ids`].
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// ```
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().ids(true))?;
    /// for (fingerprint, id) in [(5_u64, 1), (5, 2), (7, 1)] {
    ///     builder.push_with_id(fingerprint, id)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// assert_eq!((index.places(5)?, index.places(7)?, index.place_count()), (0..2, 2..3, 3));
    /// assert!(index.places(6)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn places(&self, fingerprint: F) -> Result<Range<u64>, ReadError> {
        compiled_places()(self, fingerprint)
    }

    /// Returns the [place](Index::places) of a fingerprint with this id: `None` if it is not stored with it. If the
    /// index has no ids, the id does not matter. Of many ids of a fingerprint it reads few.
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn place_of(&self, fingerprint: F, id: u64) -> Result<Option<u64>, ReadError> {
        compiled_place_of()(self, fingerprint, id)
    }

    /// Returns the fingerprint at a place: see [`Index::places`].
    ///
    /// Without ids, the first call reads all of table 0.
    ///
    /// # Panics
    /// When the place is not below [`Index::place_count`].
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn fingerprint_at(&self, place: u64) -> Result<F, ReadError> {
        assert!(place < self.place_count(), "place {place} of {}", self.place_count());
        compiled_fingerprint_at()(self, place)
    }

    /// Returns the number of stored fingerprints below this one.
    ///
    /// The first call reads all of table 0.
    ///
    /// # Errors
    /// When a block that is read is damaged.
    pub fn rank(&self, fingerprint: F) -> Result<u64, ReadError> {
        compiled_rank()(self, fingerprint)
    }

    /// Returns the number of fingerprints before each block of table 0.
    pub(super) fn ranks(&self) -> Result<&[u64], ReadError> {
        if let Some(ranks) = self.ranks.get() {
            return Ok(ranks);
        }
        let (table, file) = (&self.tables[0], self.data.as_ref());
        let mut windows = self.read_ahead.windows(&self.data);
        let (mut ranks, mut rank) = (Vec::with_capacity(table.keys.len()), 0);
        for block in 0..table.keys.len() {
            windows.reach(table, block);
            let bytes = table.block(file, block).map_err(|error| self.error(error))?;
            ranks.push(rank);
            rank += entry_count(bytes) as u64;
        }
        Ok(self.ranks.get_or_init(|| ranks.into()))
    }
}

fn places<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Result<Range<u64>, ReadError> {
    let Some((block, entry)) = index.find(fingerprint, &mut Scanner::default())? else { return Ok(0..0) };
    if let Some(ids) = &index.ids {
        return ids.places(index.data.as_ref(), block, entry).map_err(|error| index.error(error));
    }
    let place = index.ranks()?[block] + entry as u64;
    Ok(place..place + 1)
}

fn place_of<F: Fingerprint>(index: &Index<F>, fingerprint: F, id: u64) -> Result<Option<u64>, ReadError> {
    let mut places = places(index, fingerprint)?;
    match &index.ids {
        Some(ids) => ids.find(index.data.as_ref(), places, id).map_err(|error| index.error(error)),
        None => Ok(places.next()),
    }
}

fn fingerprint_at<F: Fingerprint>(index: &Index<F>, place: u64) -> Result<F, ReadError> {
    let file = index.data.as_ref();
    let (block, entry) = match &index.ids {
        Some(ids) => ids.entry_at(file, place).map_err(|error| index.error(error))?,
        None => {
            let ranks = index.ranks()?;
            let block = ranks.partition_point(|&rank| rank <= place) - 1;
            (block, place - ranks[block])
        }
    };
    let mut values = Vec::new();
    let decoded = index.tables[0].decode(file, block, &mut Scratch::default(), &mut values);
    decoded.map_err(|error| index.error(error))?;
    let found = usize::try_from(entry).ok().and_then(|entry| values.get(entry)).copied();
    found.ok_or_else(|| {
        index.error(match &index.ids {
            Some(_) => ReadError::damaged(Place::IdDirectory, "it leads beyond a block"),
            None => {
                ReadError::damaged(Place::Table { table: 0 }, "it holds fewer entries than the footer says")
            }
        })
    })
}

fn rank<F: Fingerprint>(index: &Index<F>, fingerprint: F) -> Result<u64, ReadError> {
    let file = index.data.as_ref();
    let block = index.tables[0].keys.in_file(file).find(fingerprint);
    let Some(&before) = index.ranks()?.get(block) else { return Ok(index.len()) };
    let mut values = Vec::new();
    let decoded = index.tables[0].decode(file, block, &mut Scratch::default(), &mut values);
    decoded.map_err(|error| index.error(error))?;
    Ok(before + values.partition_point(|&value| value < fingerprint) as u64)
}
