//! The common interface of everything that can be queried: [`FingerprintSet`], and what its methods take and return.
//!
//! - [`Description`]: its width, distance, size, ids, names and recipe
//! - [`MatchIds`], [`StoredId`]: the ids of a match
//! - [`ShinglePart`]: the shingles of documents
//! - [`SetEntries`]: all fingerprints with their ids
//!
//! `indexes` implements the trait for an index, and for several indexes as one.

mod indexes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::iter::FusedIterator;
use std::ops::Range;

pub use crate::ids::StoredId;
pub use crate::sorted_union::SortedUnion;

use crate::batch::BatchOptions;
use crate::codec::Codec;
use crate::error::{ReadError, SetError};
use crate::format::FileId;
use crate::ids::Ids;
use crate::index::{Index, Match};
use crate::join::{Pair, PairsOptions};
use crate::progress::{Report, keeping};
use crate::shingles::{Condition, SimilarDocument};
use crate::verify::{Verified, VerifyOptions};
use hamdex_fingerprint::Fingerprint;

/// The result of a visitor of a set: an error ends the visit.
pub type Visited = Result<(), SetError>;

/// The fingerprints of a set, ascending, each with its ids: made by [`FingerprintSet::read_entries`].
pub type SetEntries<'s, F> = Box<dyn Iterator<Item = Result<(F, MatchIds<'s>), SetError>> + 's>;

/// A set of fingerprints that can be queried: an [`Index`], a [`MultiIndex`](crate::MultiIndex), a
/// snapshot of a store, or a set of shards.
///
/// Programs that open any kind of set hold a `Box<dyn FingerprintSet<F>>`. Calls through it are made per
/// query or per batch, never per block.
///
/// ```
/// use hamdex::{BuildOptions, Builder, FingerprintSet, Index};
///
/// let mut builder = Builder::in_memory(BuildOptions::new().ids(true))?;
/// builder.push_with_id(0x00ff_u64, 17)?;
/// let set: Box<dyn FingerprintSet<u64>> = Box::new(Index::from_bytes(builder.into_inner()?.0)?);
///
/// assert_eq!(set.describe().fingerprints, 1);
/// let mut searcher = set.open_searcher();
/// let found = searcher.nearest_within(0x01ff, usize::MAX, 3)?.to_vec();
/// assert_eq!(found[0].distance, 1);
/// let ids = searcher.ids_of(&found, 10)?.remove(0);
/// assert_eq!(ids.map(|stored| stored.id).collect::<Vec<_>>(), [17]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FingerprintSet<F: Fingerprint>: Send + Sync {
    /// Returns the properties of the set.
    fn describe(&self) -> Description;

    /// Returns the set as an index, if it is one: for work on the file itself, as merges are.
    fn as_index(&self) -> Option<&Index<F>> {
        None
    }

    /// Returns a searcher, which holds the memory that queries use again and again: one per thread.
    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_>;

    /// Calls `visit` with the place of each query and all fingerprints within `distance` of it, nearest first,
    /// then by fingerprint; in the order of the queries, including queries without a match. A caller with errors of its
    /// own calls `batch_with` of the object.
    ///
    /// # Errors
    /// When a block that is read is damaged, the distance exceeds the width, the work is cancelled, or the
    /// system refuses something; the error of `visit`.
    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut dyn FnMut(usize, &[Match<F>]) -> Visited,
    ) -> Result<(), SetError>;

    /// Calls `visit` with all pairs of fingerprints within `distance` of each other, each once, some thousands at a time.
    ///
    /// # Errors
    /// As for [`FingerprintSet::visit_batch`].
    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Visited,
    ) -> Result<(), SetError>;

    /// Returns the number of pairs at each distance from 0 to `distance`. There are none at 0.
    ///
    /// # Errors
    /// As for [`FingerprintSet::visit_batch`].
    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError>;

    /// Returns every fingerprint that is not below `from`, ascending, and its ids.
    ///
    /// # Errors
    /// When a file of the set cannot be opened. Each item is an error when a block or page is damaged.
    fn read_entries(&self, from: F) -> Result<SetEntries<'_, F>, SetError>;

    /// Returns the name of an id of this set; `None` if its ids have no names.
    ///
    /// # Errors
    /// When a page that is read is damaged, or the id is not stored.
    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError>;

    /// Divides the documents into parts, in their order, for [`FingerprintSet::visit_shingles`], each of which takes at
    /// most `memory` bytes; more only for a document that takes more alone. `None` unless the set
    /// [has shingles](Description::has_shingles).
    ///
    /// # Errors
    /// When a page that is read is damaged.
    fn shingle_parts(&self, memory: u64) -> Result<Option<Vec<ShinglePart>>, SetError>;

    /// Calls `visit` with the id and the shingles of every document of a part that is stored. Each part reads all
    /// shingles of its file, so a few large ones take less time than many small ones. `check_cancelled` is called
    /// meanwhile, and its error ends the reading.
    ///
    /// # Errors
    /// When a page or a block is damaged, or there is no memory for the part; an error of `check_cancelled` or `visit`.
    fn visit_shingles(
        &self,
        part: &ShinglePart,
        check_cancelled: &dyn Fn() -> Result<(), ReadError>,
        visit: &mut dyn FnMut(StoredId, &[u64]) -> Visited,
    ) -> Result<(), SetError>;

    /// Checks that no page of a mapped file was missing when it was read: results from a lost set may be
    /// wrong. Only of use in a program that has called
    /// [`Mapping::survive_lost_pages`](crate::Mapping::survive_lost_pages). It reads nothing.
    ///
    /// # Errors
    /// When a file was truncated, or could not be read, since it was opened.
    fn check_files(&self) -> Result<(), SetError>;

    /// Reads the whole set and checks everything.
    ///
    /// # Errors
    /// The first damage; when no thread can be started; or when the work is cancelled.
    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError>;
}

/// Visits by callers that have errors of their own.
impl<F: Fingerprint> dyn FingerprintSet<F> + '_ {
    /// As [`FingerprintSet::visit_batch`]; an error of `visit` is returned as it is.
    ///
    /// # Errors
    /// As there.
    pub fn batch_with<E: From<SetError>>(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| {
            let visit = &mut |place, found: &[Match<F>]| keep.error(visit(place, found));
            self.visit_batch(queries, distance, options, visit)
        })
    }

    /// As [`FingerprintSet::visit_pairs`]; an error of `visit` is returned as it is.
    ///
    /// # Errors
    /// As there.
    pub fn pairs_with<E: From<SetError>>(
        &self,
        distance: u32,
        options: &PairsOptions,
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| self.visit_pairs(distance, options, &mut |pairs| keep.error(visit(pairs))))
    }
}

/// Queries a [`FingerprintSet`], one query at a time.
pub trait SetSearcher<F: Fingerprint> {
    /// Returns the `count` nearest of the stored fingerprints within `distance` of `query`, nearest first, then by
    /// fingerprint; all of these if there are no more.
    ///
    /// # Errors
    /// When a block that is read is damaged, the distance exceeds the width, or the query is cancelled.
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError>;

    /// Returns any stored fingerprint within `distance` of `query`; not always the nearest.
    ///
    /// # Errors
    /// As for [`SetSearcher::nearest_within`].
    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError>;

    /// Returns the first `most` ids of each of these matches with the number of all, in their order: empty lists if the
    /// set has no ids. Memory is bounded by the ids returned, however many ids a fingerprint has.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError>;

    /// Returns the documents that meet a condition with a set of shingles, which ascend, each once: the most similar
    /// first, then by id; at most `limit`. The set must [have shingles](Description::has_shingles) made as these are.
    ///
    /// # Errors
    /// When the set has no shingles, a block or page that is read is damaged, or the query is cancelled.
    fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, SetError>;

    /// Sets the progress callback and the cancellations of queries that read many blocks, from now on.
    fn report_to(&mut self, report: Report);
}

/// The properties of a [`FingerprintSet`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// The width of the fingerprints, in bits.
    pub width: u32,
    /// The greatest distance, in bits, for which the set is made. Queries beyond it are as exact, and take longer.
    pub distance: u32,
    /// The name of the design; `None` if parts of the set may differ in it.
    pub design: Option<String>,
    /// The codec of the blocks; `None` if parts of the set may differ in it.
    pub codec: Option<Codec>,
    /// The number of fingerprints; at most, unless [`Description::is_counted`].
    pub fingerprints: u64,
    /// Whether [`Description::fingerprints`] is exact. It is not if a fingerprint may be in several files.
    pub is_counted: bool,
    /// Whether fingerprints have ids.
    pub has_ids: bool,
    /// Whether ids have names.
    pub has_names: bool,
    /// Whether ids have the shingles of their documents.
    pub has_shingles: bool,
    /// Whether fingerprints are found by id, and ids by name, without a pass over the set.
    pub has_lookups: bool,
    /// The metadata, the recipe of the fingerprints among it.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// The id of the file; `None` unless the set is one index file.
    pub file_id: Option<FileId>,
}

impl Description {
    /// Returns the properties of an empty set without ids, for implementations of
    /// [`FingerprintSet`] in other crates, which set the rest.
    #[must_use]
    pub fn new(width: u32, distance: u32) -> Self {
        Self {
            width,
            distance,
            design: None,
            codec: None,
            fingerprints: 0,
            is_counted: true,
            has_ids: false,
            has_names: false,
            has_shingles: false,
            has_lookups: false,
            metadata: BTreeMap::new(),
            file_id: None,
        }
    }
}

/// A part of the documents of a set, for one thread: returned by
/// [`FingerprintSet::shingle_parts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShinglePart {
    /// The number of the file, as the set counts its files.
    pub file: usize,
    /// The places of the documents in that file.
    pub documents: Range<u64>,
}

/// The first ids of a match, ascending within each part, and the number of all. Ids of an index are read one by one as
/// the iterator advances.
#[derive(Debug, Clone)]
pub struct MatchIds<'a> {
    source: Source<'a>,
    /// The number of ids that are still to be returned.
    left: usize,
    all: u64,
}

#[derive(Debug, Clone)]
enum Source<'a> {
    Read(Ids<'a>),
    Listed(std::vec::IntoIter<StoredId>),
}

impl MatchIds<'_> {
    /// Returns these ids as the first of so many.
    #[must_use]
    pub fn first_of(ids: Vec<StoredId>, all: u64) -> Self {
        Self { left: ids.len(), all, source: Source::Listed(ids.into_iter()) }
    }

    /// Returns the number of all ids of the match, including ids that the iterator does not return.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.all
    }

    /// Returns at most `most` of them.
    #[must_use]
    pub fn limit(self, most: usize) -> Self {
        Self { left: self.left.min(most), ..self }
    }
}

impl<'a> From<Ids<'a>> for MatchIds<'a> {
    fn from(ids: Ids<'a>) -> Self {
        Self { left: ids.len(), all: ids.len() as u64, source: Source::Read(ids) }
    }
}

impl From<Vec<StoredId>> for MatchIds<'_> {
    fn from(ids: Vec<StoredId>) -> Self {
        let all = ids.len() as u64;
        Self::first_of(ids, all)
    }
}

impl From<Vec<u64>> for MatchIds<'_> {
    fn from(ids: Vec<u64>) -> Self {
        ids.into_iter().map(|id| StoredId { part: 0, id }).collect::<Vec<_>>().into()
    }
}

impl Iterator for MatchIds<'_> {
    type Item = StoredId;

    fn next(&mut self) -> Option<StoredId> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.source {
            Source::Read(ids) => ids.next().map(|id| StoredId { part: 0, id }),
            Source::Listed(ids) => ids.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for MatchIds<'_> {}

impl FusedIterator for MatchIds<'_> {}

/// Returns the first `most` ids of a fingerprint that several indexes store, each with the number of its index, and the
/// number of all: numbers ascend, each once; ids that have names are those of each index in turn, since each numbers its
/// names on its own.
#[must_use]
pub fn ids_of_parts(lists: Vec<(usize, Ids<'_>)>, have_names: bool, most: usize) -> MatchIds<'static> {
    let counts: Vec<u64> = lists.iter().map(|(_, ids)| ids.len() as u64).collect();
    let stored = lists.into_iter().map(|(part, ids)| ids.map(move |id| StoredId { part, id }));
    let (first, all) = if have_names {
        (stored.flatten().take(most).collect(), counts.iter().sum())
    } else {
        unite_ids(stored.collect(), &counts, false, most)
    };
    MatchIds::first_of(first, all)
}

/// Unites ascending lists of the ids of a fingerprint, of which several may have the same number: returns the first
/// `most` and the number of all. `counts` has the length of each list; a single one, or lists of different ids, are
/// counted without being read.
#[must_use]
pub fn unite_ids(
    lists: Vec<impl Iterator<Item = StoredId>>,
    counts: &[u64],
    are_distinct: bool,
    most: usize,
) -> (Vec<StoredId>, u64) {
    let known = (are_distinct || lists.len() < 2).then(|| counts.iter().sum());
    let mut union = SortedUnion::of(
        lists.into_iter().map(|list| list.map(|StoredId { part, id }| Ok::<_, Infallible>(((id, part), ())))),
    );
    let (mut first, mut all, mut last) = (Vec::new(), 0, None);
    while known.is_none() || first.len() < most {
        let Some(Ok(((id, part), ..))) = union.next() else { break };
        if last.replace(id) != Some(id) {
            all += 1;
            if first.len() < most {
                first.push(StoredId { part, id });
            }
        }
    }
    (first, known.unwrap_or(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_limited_and_all_of_them_counted() {
        let ids = MatchIds::from(vec![1, 2, 3]).limit(2);
        assert_eq!((ids.len(), ids.all()), (2, 3));
        assert_eq!(ids.map(|stored| stored.id).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn lists_are_united() {
        let stored = |part: usize, ids: &[u64]| -> std::vec::IntoIter<StoredId> {
            ids.iter().map(|&id| StoredId { part, id }).collect::<Vec<_>>().into_iter()
        };
        let lists = || vec![stored(0, &[1, 4, 9]), stored(1, &[4, 5]), stored(2, &[])];
        let expected = [(0, 1), (0, 4), (1, 5), (0, 9)].map(|(part, id)| StoredId { part, id });
        for most in [0, 1, 2, 4, 9] {
            let (first, all) = unite_ids(lists(), &[3, 2, 0], false, most);
            assert_eq!((&*first, all), (&expected[..most.min(4)], 4), "{most}");
        }
        // Distinct ids, and a single list, are not read beyond the wanted number.
        let endless = |from: u64, step| (from..).step_by(step).map(|id| StoredId { part: 0, id });
        assert_eq!(unite_ids(vec![endless(0, 2), endless(1, 2)], &[1 << 60, 1 << 60], true, 3).1, 1 << 61);
        let (first, all) = unite_ids(vec![endless(7, 1)], &[1 << 60], false, 2);
        assert_eq!((first.len(), all), (2, 1 << 60));
    }
}
