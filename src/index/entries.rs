//! All stored fingerprints, in natural order: table 0, block by block.

use std::fmt;
use std::ops::Range;

use crate::codec::Scratch;
use crate::error::ReadError;
use crate::ids::Ids;
use crate::ids::reader::IdWalk;
use crate::index::Index;
use crate::index::read_ahead::Windows;
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
