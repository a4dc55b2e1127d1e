//! Queries of several indexes, one at a time.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::{ReadError, check_distance};
use crate::index::nearest::{self, Limited, is_walk_cheaper};
use crate::index::search::Search;
use crate::index::similar::SimilarSearch;
use crate::index::{Index, Match};
use crate::memory::give_back;
use crate::multi::{FoundIn, MemoryPart, MultiIndex, MultiMatches, United};
use crate::progress::{Phase, Progress, ProgressCallback, Report, Stopped, keeping};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Queries several indexes as one, with reused memory. Made by [`MultiIndex::searcher`]; every
/// thread has its own.
pub struct MultiSearcher<F> {
    pub(crate) indexes: MultiIndex<F>,
    /// One for each index.
    pub(super) searches: Vec<Search<F>>,
    /// The nearest in memory.
    recent: Vec<FoundIn<F>>,
    united: United<F>,
    /// The united matches alone.
    matches: Vec<Match<F>>,
    pub(crate) similar: SimilarSearch,
    pub(crate) report: Report,
}

type Nearest<F> = fn(&mut MultiSearcher<F>, F, u32, usize) -> Result<(), ReadError>;
type ForEach<F> = fn(&mut MultiSearcher<F>, F, u32, &mut Visit<'_, F>) -> Result<(), ReadError>;
type Visit<'v, F> = dyn FnMut(FoundIn<F>) -> Result<(), Stopped> + 'v;

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
        let (recent, united, matches, similar, report) = Default::default();
        Self { indexes, searches, recent, united, matches, similar, report }
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

    /// Sets a callback for queries that read many blocks, which may stop the query: see
    /// [the crate](crate#threads-memory-progress). A query of few blocks, as at usual distances, calls nothing.
    #[must_use]
    pub fn progress(mut self, report: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.report = Report::to(report);
        self
    }

    /// As [`Self::progress`], of a searcher that is in use.
    pub fn report_to(&mut self, report: ProgressCallback) {
        self.report = Report::from(report);
    }

    /// Returns all fingerprints stored within `distance` of `query` that count, nearest first, then by fingerprint;
    /// each once, with the indexes that it is in.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<MultiMatches<'_, F>, ReadError> {
        self.nearest_within(query, usize::MAX, distance)
    }

    /// Returns the first fingerprint found within `distance` of `query` that counts, if any, with one of the
    /// indexes that it is in.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<FoundIn<F>>, ReadError> {
        let mut first = None;
        let outcome = self.for_each(query, distance, |found| {
            first = Some(found);
            Err(ReadError::from(Stopped))
        });
        if first.is_some() { Ok(first) } else { outcome.map(|()| None) }
    }

    /// Returns the `count` fingerprints nearest to `query` that count, nearest first, then by fingerprint; all of them
    /// if there are no more. See [`MultiSearcher::nearest_within`], which bounds it.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails.
    pub fn nearest(&mut self, query: F, count: usize) -> Result<MultiMatches<'_, F>, ReadError> {
        self.nearest_within(query, count, F::BITS)
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
    ) -> Result<MultiMatches<'_, F>, ReadError> {
        compiled_nearest()(self, query, distance, count)?;
        Ok(self.united.matches())
    }

    /// As [`MultiSearcher::nearest_within`], without the indexes that each match is in.
    ///
    /// # Errors
    /// As for [`MultiSearcher::nearest_within`].
    pub fn nearest_matches(
        &mut self,
        query: F,
        count: usize,
        distance: u32,
    ) -> Result<&[Match<F>], ReadError> {
        compiled_nearest()(self, query, distance, count)?;
        let Self { united, matches, .. } = self;
        give_back(matches);
        matches.clear();
        matches.extend(united.matches().iter().map(|found| found.found_in[0].found));
        Ok(matches)
    }

    /// Returns the last answer of [`MultiSearcher::nearest_matches`].
    #[must_use]
    pub fn matches(&self) -> &[Match<F>] {
        &self.matches
    }

    /// Gathers the nearest of each index: the nearest of all are among them, and each of these in all indexes that it
    /// is in.
    fn walk(&mut self, query: F, count: usize, most: u32) -> Result<(), ReadError> {
        let Self { indexes, searches, united, report, .. } = self;
        let all = united.all_mut();
        all.clear();
        let check_wave =
            |done, all| report.report(Progress::new(Phase::Query, done as u64, Some(all as u64)));
        let mut matches = Vec::new();
        for (number, (index, search)) in indexes.as_slice().iter().zip(searches).enumerate() {
            let mut counts = |found: &Match<F>| indexes.counts(number, found);
            nearest::walk(&**index, search, query, (count, most), (&check_wave, &mut counts), &mut matches)?;
            all.extend(matches.iter().map(|&found| FoundIn { found, index: number }));
        }
        Ok(())
    }

    /// Returns whether a fingerprint is stored in any index in which it counts.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the filter fails.
    pub fn contains(&mut self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.first(fingerprint, 0)?.is_some())
    }

    /// Returns the ids of a fingerprint in all indexes in which it counts, ascending, each once.
    ///
    /// # Errors
    /// When a block or page that is read is damaged, or the filter fails.
    pub fn ids(&mut self, fingerprint: F) -> Result<Vec<u64>, ReadError> {
        let found = self.within(fingerprint, 0)?.get(0);
        let found = found.map_or_else(Vec::new, |found| found.found_in.to_vec());
        self.ids_of(&found)
    }

    /// Returns the ids of a match in the indexes that it was found in, ascending, each once. See
    /// [`Index::ids_of`](crate::Index::ids_of).
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids_of(&mut self, found_in: &[FoundIn<F>]) -> Result<Vec<u64>, ReadError> {
        let mut ids = Vec::new();
        for FoundIn { found, index } in found_in {
            let Some(search) = self.searches.get_mut(*index) else { continue };
            let index = &self.indexes.as_slice()[*index];
            let lists = index.ids_of_through(std::slice::from_ref(found), &mut search.scanner)?;
            ids.extend(lists.into_iter().flatten());
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Calls `visit` with every match in every index that counts, in no particular order: a fingerprint comes once for
    /// each index that it is in, those in memory first and perhaps several times. An error of `visit` ends it.
    ///
    /// # Errors
    /// When a block that is read is damaged, the filter fails, or the distance exceeds the width; the error of `visit`.
    pub fn for_each<E: From<ReadError>>(
        &mut self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(FoundIn<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        keeping(|keep| compiled_for_each()(self, query, distance, &mut |found| keep.error(visit(found))))
    }

    /// Unites the `limit` nearest matches of all indexes.
    fn unite(&mut self, query: F, distance: u32, limit: usize) -> Result<(), ReadError> {
        let mut united = std::mem::take(&mut self.united);
        let all = united.all_mut();
        give_back(all);
        // No fingerprint is in more than all of the indexes.
        let mut limited = Limited::new(all, limit.saturating_mul(self.searches.len()));
        let outcome = for_each_in_files(self, query, distance, |found| {
            limited.push(found);
            Ok(())
        });
        united.unite(limit);
        self.united = united;
        outcome
    }

    /// Unites the `count` nearest of the indexes within `most` bits.
    fn nearest_in_files(&mut self, query: F, most: u32, count: usize) -> Result<(), ReadError> {
        let mut distance = nearest::first_distance(count, most, self.indexes.distance());
        loop {
            self.unite(query, distance, count)?;
            if self.united.matches().len() >= count || distance == most {
                return Ok(());
            }
            // Increases the distance by one, until that would cost as much as a walk.
            distance += 1;
            if self.indexes.as_slice().iter().any(|index| is_walk_cheaper(&**index, distance)) {
                self.walk(query, count, most)?;
                self.united.unite(count);
                return Ok(());
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
    match count.checked_sub(1).and_then(|last| recent.get(last)).map(|last| last.found.distance) {
        Some(0) => searcher.united.all_mut().clear(),
        last => searcher.nearest_in_files(query, last.unwrap_or(distance), count)?,
    }
    if !searcher.recent.is_empty() {
        searcher.united.all_mut().extend(&searcher.recent);
        searcher.united.unite(count);
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
    searcher.indexes.for_each_in_memory(query, distance, &mut *visit)?;
    for_each_in_files(searcher, query, distance, visit)
}

fn for_each_in_files<F: Fingerprint>(
    searcher: &mut MultiSearcher<F>,
    query: F,
    distance: u32,
    mut visit: impl FnMut(FoundIn<F>) -> Result<(), Stopped>,
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
    let check_wave = |done, all| report.report(Progress::new(Phase::Query, done as u64, Some(all as u64)));
    for (number, (index, search)) in each().zip(&mut *searches).enumerate() {
        search.scan(index, &[query], index.plan(distance), &check_wave, |_, found| {
            if indexes.counts(number, &found)? {
                visit(FoundIn { found, index: number })?;
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
