//! The ids of a match.

use std::convert::Infallible;
use std::iter::FusedIterator;

use crate::ids::{Ids, StoredId};
use crate::sorted_union::SortedUnion;

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
