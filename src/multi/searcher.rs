//! Queries of several indexes, one at a time: fingerprints near a query, and documents similar to a set of shingles.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::error::{ReadError, check_distance};
use crate::ids::StoredId;
use crate::index::search::{self, Limited, Search, is_walk_cheaper};
use crate::index::shingles::SimilarSearch;
use crate::index::{Index, Match};
use crate::memory::give_back;
use crate::multi::{MemoryPart, MultiIndex, keep_nearest};
use crate::progress::{Phase, Progress, Report, Stopped, keeping};
use crate::shingles::{Condition, SimilarDocument};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Queries several indexes as one, with reused memory. Made by [`MultiIndex::searcher`]; every
/// thread has its own.
pub struct MultiSearcher<F> {
    pub(crate) indexes: MultiIndex<F>,
    /// One for each index.
    pub(super) searches: Vec<Search<F>>,
    /// The nearest in memory.
    recent: Vec<Match<F>>,
    /// The answer to the last query.
    matches: Vec<Match<F>>,
    pub(crate) similar: SimilarSearch,
    pub(crate) report: Report,
}

type Nearest<F> = fn(&mut MultiSearcher<F>, F, u32, usize) -> Result<(), ReadError>;
type ForEach<F> = fn(&mut MultiSearcher<F>, F, u32, &mut Visit<'_, F>) -> Result<(), ReadError>;
type Visit<'v, F> = dyn FnMut(usize, Match<F>) -> Result<(), Stopped> + 'v;

per_width! {
    compiled_nearest: Nearest = nearest_within;
    compiled_for_each: ForEach = for_each;
}

impl<F: Fingerprint> MultiIndex<F> {
    /// Returns a searcher: the reusable memory of queries. Each thread needs its own.
    #[must_use]
    pub fn searcher(&self) -> MultiSearcher<F> {
        MultiSearcher::new(self.clone())
    }
}

impl<F: Fingerprint> MultiSearcher<F> {
    fn new(indexes: MultiIndex<F>) -> Self {
        let searches = indexes.as_slice().iter().map(|_| Search::default()).collect();
        let (recent, matches, similar, report) = Default::default();
        Self { indexes, searches, recent, matches, similar, report }
    }

    /// Switches to this part in memory, or to none.
    pub fn turn_to_memory(&mut self, part: Option<Arc<dyn MemoryPart<F>>>) {
        self.indexes.memory = part;
    }

    /// Returns the indexes.
    #[must_use]
    pub fn indexes(&self) -> &MultiIndex<F> {
        &self.indexes
    }

    /// Sets the callback and the cancellations of queries that read many blocks: see
    /// [the crate](crate#threads-memory-progress). A query of few blocks, as at usual distances, calls nothing. A
    /// cancellation is for good: after a cancelled query, the searcher answers again with others.
    pub fn report_to(&mut self, report: Report) {
        self.report = report;
    }

    /// Returns the report, for work beside the searcher that it ends as well.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns all fingerprints stored within `distance` of `query` that count, each once, nearest first, then by
    /// fingerprint.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], ReadError> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Returns the first fingerprint found within `distance` of `query` that counts, if any.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, ReadError> {
        let mut first = None;
        let outcome = self.for_each(query, distance, |_, found| {
            first = Some(found);
            Err(ReadError::from(Stopped))
        });
        if first.is_some() { Ok(first) } else { outcome.map(|()| None) }
    }

    /// Returns the `count` nearest of the fingerprints stored within `distance` of `query` that count, nearest first,
    /// then by fingerprint; all of these if there are no more.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width.
    pub fn nearest_within(
        &mut self,
        query: F,
        count: usize,
        distance: u32,
    ) -> Result<&[Match<F>], ReadError> {
        compiled_nearest()(self, query, distance, count)?;
        Ok(&self.matches)
    }

    /// Returns the answer of the last query by [`MultiSearcher::nearest_within`].
    #[must_use]
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// Unites the nearest of each index, among which the nearest of all are.
    fn walk(&mut self, query: F, count: usize, most: u32) -> Result<(), ReadError> {
        let Self { indexes, searches, matches: all, report, .. } = self;
        all.clear();
        let check_wave =
            |done, all| report.progressed(Progress::new(Phase::Query, done as u64, Some(all as u64)));
        let mut matches = Vec::new();
        for (number, (index, search)) in indexes.as_slice().iter().zip(searches).enumerate() {
            let mut counts = |found: &Match<F>| indexes.counts(number, found);
            search::walk(&**index, search, query, (count, most), (&check_wave, &mut counts), &mut matches)?;
            all.append(&mut matches);
        }
        keep_nearest(all, count, 0);
        Ok(())
    }

    /// Returns the numbers of the indexes in which a fingerprint is stored and counts, ascending; that after the last
    /// index stands for the part in memory.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails.
    pub fn indexes_of(&mut self, fingerprint: F) -> Result<Vec<usize>, ReadError> {
        Ok(self.matches_of(fingerprint)?.into_iter().map(|(number, _)| number).collect())
    }

    /// As [`MultiSearcher::indexes_of`], with the match in each of them.
    pub(crate) fn matches_of(&mut self, fingerprint: F) -> Result<Vec<(usize, Match<F>)>, ReadError> {
        let mut found = Vec::new();
        self.for_each(fingerprint, 0, |number, one| {
            found.push((number, one));
            Ok::<_, ReadError>(())
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Calls `visit` with the number of an index and every match in it that counts, in no particular order: a fingerprint
    /// comes once for each index that it is in, those in memory first and perhaps several times, with the number after
    /// that of the last index. An error of `visit` ends it.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width; the error of `visit`.
    pub fn for_each<E: From<ReadError>>(
        &mut self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| {
            compiled_for_each()(self, query, distance, &mut |number, found| keep.error(visit(number, found)))
        })
    }

    /// Unites the `limit` nearest matches of all indexes.
    fn unite(&mut self, query: F, distance: u32, limit: usize) -> Result<(), ReadError> {
        let mut matches = std::mem::take(&mut self.matches);
        give_back(&mut matches);
        // No fingerprint is in more than all of the indexes.
        let mut limited = Limited::new(&mut matches, limit.saturating_mul(self.searches.len()));
        let outcome = for_each_in_files(self, query, distance, |_, found| {
            limited.push(found);
            Ok(())
        });
        keep_nearest(&mut matches, limit, 0);
        self.matches = matches;
        outcome
    }

    /// Unites the `count` nearest of the indexes within `most` bits.
    fn nearest_in_files(&mut self, query: F, most: u32, count: usize) -> Result<(), ReadError> {
        let mut distance = search::first_distance(count, most, self.indexes.distance());
        loop {
            self.unite(query, distance, count)?;
            if self.matches.len() >= count || distance == most {
                return Ok(());
            }
            // Increases the distance by one, until that would cost as much as a walk.
            distance += 1;
            if self.indexes.as_slice().iter().any(|index| is_walk_cheaper(&**index, distance)) {
                return self.walk(query, count, most);
            }
        }
    }
}

fn nearest_within<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    query: F,
    distance: u32,
    count: usize,
) -> Result<(), ReadError> {
    check_distance::<F>(distance)?;
    let MultiSearcher { indexes, recent, .. } = searcher;
    give_back(recent);
    indexes.nearest_in_memory(query, distance, count, recent);
    // With enough matches in memory, the indexes matter only within the distance of the last one; if that is 0, not at
    // all.
    match count.checked_sub(1).and_then(|last| recent.get(last)).map(|last| last.distance) {
        Some(0) => searcher.matches.clear(),
        last => searcher.nearest_in_files(query, last.unwrap_or(distance), count)?,
    }
    if !searcher.recent.is_empty() {
        searcher.matches.extend(&searcher.recent);
        keep_nearest(&mut searcher.matches, count, 0);
    }
    Ok(())
}

fn for_each<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    query: F,
    distance: u32,
    visit: &mut Visit<'_, F>,
) -> Result<(), ReadError> {
    check_distance::<F>(distance)?;
    let memory = searcher.indexes.as_slice().len();
    searcher.indexes.for_each_in_memory(query, distance, |found| visit(memory, found))?;
    for_each_in_files(searcher, query, distance, visit)
}

fn for_each_in_files<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    query: F,
    distance: u32,
    mut visit: impl FnMut(usize, Match<F>) -> Result<(), Stopped>,
) -> Result<(), ReadError> {
    let MultiSearcher { indexes, searches, report, .. } = searcher;
    let each = || indexes.as_slice().iter().map(|index| -> &Index<F> { index });
    // All look-ups, then one wave of reads, then all scans: neither memory nor storage is waited for index by index.
    for (index, search) in each().zip(&mut *searches) {
        search.locate(index, &[query], index.plan(distance))?;
    }
    for (index, search) in each().zip(&*searches) {
        search.read_ahead(index);
    }
    let check_wave =
        |done, all| report.progressed(Progress::new(Phase::Query, done as u64, Some(all as u64)));
    for (number, (index, search)) in each().zip(&mut *searches).enumerate() {
        search.scan(index, &[query], index.plan(distance), &check_wave, |_, found| {
            if indexes.counts(number, &found)? {
                visit(number, found)?;
            }
            Ok::<_, ReadError>(())
        })?;
    }
    Ok(())
}

impl<F: Fingerprint> fmt::Debug for MultiSearcher<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiSearcher").field("indexes", &self.indexes).finish_non_exhaustive()
    }
}

impl<F: Fingerprint> MultiSearcher<F> {
    /// Calls `visit` with the number of an index, an id and the similarity of every document that meets a condition
    /// with a set of shingles, which ascend. Filters, which are of fingerprints, do not apply.
    ///
    /// # Errors
    /// When an index has no shingles, or a block or page that is read is damaged; an error of `visit`.
    pub fn for_each_similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        mut visit: impl FnMut(usize, u64, f64) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut found = Vec::new();
        for (number, index) in self.indexes.as_slice().iter().enumerate() {
            let part = index.similar_part()?;
            found.clear();
            self.similar.for_each(part, (shingles, condition), &self.report, |id, similarity| {
                found.push((id, similarity));
            })?;
            found.iter().try_for_each(|&(id, similarity)| visit(number, id, similarity))?;
        }
        Ok(())
    }

    /// Returns the documents of all indexes that meet a condition with a set of shingles, as
    /// [`Searcher::similar`](crate::Searcher::similar) does. An id without a name is one document, in any number of
    /// indexes.
    ///
    /// # Errors
    /// When an index has no shingles, or a block or page that is read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, ReadError> {
        let has_names = self.indexes.as_slice().iter().any(|index| index.has_names());
        let mut found = Vec::new();
        self.for_each_similar(shingles, condition, |number, id, similarity| {
            let part = if has_names { number } else { 0 };
            found.push(SimilarDocument { id: StoredId { part, id }, similarity });
            Ok(())
        })?;
        if !has_names {
            SimilarDocument::keep_nearest(&mut found, usize::MAX);
            let mut ids = HashSet::new();
            found.retain(|one| ids.insert(one.id.id));
        }
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}
