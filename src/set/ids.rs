//! The ids of a match.

use std::iter::FusedIterator;

use crate::ids::Ids;

/// An id, and the part of the set that it is stored in: parts of which ids have names number their ids independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredId {
    /// The number of the part: of a shard in its manifest; 0 in a set of one part.
    pub part: usize,
    /// The id.
    pub id: u64,
}

/// The ids of a match, ascending within each part. Ids of an index are read one by one as the iterator
/// advances.
#[derive(Debug, Clone)]
pub struct MatchIds<'a>(Source<'a>);

#[derive(Debug, Clone)]
enum Source<'a> {
    Read(Ids<'a>),
    Listed(std::vec::IntoIter<StoredId>),
}

impl<'a> From<Ids<'a>> for MatchIds<'a> {
    fn from(ids: Ids<'a>) -> Self {
        Self(Source::Read(ids))
    }
}

impl From<Vec<StoredId>> for MatchIds<'_> {
    fn from(ids: Vec<StoredId>) -> Self {
        Self(Source::Listed(ids.into_iter()))
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
        match &mut self.0 {
            Source::Read(ids) => ids.next().map(|id| StoredId { part: 0, id }),
            Source::Listed(ids) => ids.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Source::Read(ids) => ids.size_hint(),
            Source::Listed(ids) => ids.size_hint(),
        }
    }
}

impl ExactSizeIterator for MatchIds<'_> {}

impl FusedIterator for MatchIds<'_> {}
