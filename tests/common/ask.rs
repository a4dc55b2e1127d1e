//! All queries of an index, in one list of answers.

use hamdex::{Fingerprint, Index, ReadError};

use super::pairs;

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<F> {
    Matches(Vec<(u32, F)>),
    Ids(Vec<u64>),
    Stored(bool),
    Names(Vec<Option<Vec<u8>>>),
}

/// Asks each kind of question about one query, below, at and above the usual distance.
pub fn ask<F: Fingerprint>(index: &Index<F>, query: F) -> Vec<Result<Answer<F>, ReadError>> {
    let mut searcher = index.searcher();
    let mut all = Vec::new();
    for distance in [1, 3, 6] {
        all.push(searcher.within(query, distance).map(|found| Answer::Matches(pairs(found))));
    }
    let first = searcher.first(query, 3);
    all.push(first.map(|found| Answer::Matches(pairs(found.as_slice()))));
    all.push(searcher.nearest(query, 3).map(|found| Answer::Matches(pairs(found))));
    let mut visited = Vec::new();
    let outcome = searcher.for_each(query, 2, |found| {
        visited.push((found.distance, found.fingerprint));
        Ok::<_, ReadError>(())
    });
    all.push(outcome.map(|_| Answer::Matches(visited)));
    all.push(index.contains(query).map(Answer::Stored));
    all.push(index.ids(query).map(|ids| Answer::Ids(ids.collect())));
    all.push(names(index, query).map(Answer::Names));
    all
}

/// The names of a fingerprint's ids, and of a few others.
fn names<F: Fingerprint>(index: &Index<F>, query: F) -> Result<Vec<Option<Vec<u8>>>, ReadError> {
    let Some(names) = index.names()? else { return Ok(Vec::new()) };
    let ids = index.ids(query)?.chain([0, 7, 100, u64::MAX]);
    ids.map(|id| Ok(names.get(id)?.map(<[u8]>::to_vec))).collect()
}

/// The answers of a whole file.
pub fn truth<F: Fingerprint>(file: &[u8], queries: &[F]) -> Vec<Vec<Answer<F>>> {
    let index = Index::<F>::from_bytes(file).unwrap();
    let answers = |&query| ask(&index, query).into_iter().map(Result::unwrap).collect();
    queries.iter().map(answers).collect()
}
