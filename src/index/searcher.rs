//! The [`Searcher`] of users: queries, one at a time. `index/search.rs` has the steps of each.

use std::fmt;

use crate::error::{ReadError, check_distance};
use crate::ids::{Ids, StoredId};
use crate::index::search::{self, Limited, Search, WaveCheck};
use crate::index::shingles::SimilarSearch;
use crate::index::{Index, IndexRef, Match};
use crate::memory::give_back;
use crate::progress::{Phase, Progress, Report, Stopped, keeping};
use crate::shingles::{Condition, SimilarDocument};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

/// Queries an index with reused memory: it allocates nothing after the first few queries, and frees the memory
/// of an unusually large answer. Every thread needs its own searcher. [`Index::batch_with`] answers thousands of
/// queries several times as fast.
///
/// It is generic over the reference to the index: [`Index::searcher`] borrows it, and [`Searcher::new`] also
/// takes an `Arc`, so that a service can store searchers next to the index.
///
/// ```
/// use std::sync::Arc;
///
/// use hamdex::{Builder, Index, Searcher};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("small.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// (0..1000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab))?;
/// builder.finish()?;
///
/// let index = Index::<u64>::open(&path)?;
/// let mut searcher = index.searcher();
/// assert_eq!(searcher.first(1, 3)?.map(|m| m.fingerprint), Some(0));
/// assert_eq!(searcher.nearest(0x0123_4567_89aa, 1)?[0].distance, 1);
///
/// let index = Arc::new(index);
/// let mut owned = Searcher::new(Arc::clone(&index));
/// let thread = std::thread::spawn(move || owned.within(1, 3).map(<[_]>::len));
/// assert_eq!(thread.join().unwrap()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Searcher<R: IndexRef> {
    index: R,
    core: Core<R::Fingerprint>,
}

/// The memory of a searcher, without the index.
struct Core<F> {
    search: Search<F>,
    similar: SimilarSearch,
    matches: Vec<Match<F>>,
    report: Report,
}

type Within<F> = fn(&mut Core<F>, &Index<F>, F, u32, usize) -> Result<(), ReadError>;
type First<F> = fn(&mut Core<F>, &Index<F>, F, u32) -> Result<Option<Match<F>>, ReadError>;
type ForEach<F> = fn(&mut Core<F>, &Index<F>, F, u32, &mut VisitMatch<'_, F>) -> Result<(), ReadError>;
type VisitMatch<'v, F> = dyn FnMut(Match<F>) -> Result<(), Stopped> + 'v;

per_width! {
    compiled_within: Within = limited_within;
    compiled_nearest: Within = nearest_within;
    compiled_first: First = first;
    compiled_for_each: ForEach = |core, index, query, distance, visit| {
        core.for_each_of(index, &[query], distance, |_, found| Ok(visit(found)?))
    };
}

impl<F: Fingerprint> Index<F> {
    /// Returns a searcher: the reusable memory of queries. Each thread needs its own.
    #[must_use]
    pub fn searcher(&self) -> Searcher<&Self> {
        Searcher::new(self)
    }
}

impl<F: Fingerprint, R: IndexRef<Fingerprint = F>> Searcher<R> {
    /// Returns a searcher of an index that it borrows or shares.
    #[must_use]
    pub fn new(index: R) -> Self {
        Self {
            index,
            core: Core {
                search: Search::default(),
                similar: SimilarSearch::default(),
                matches: Vec::new(),
                report: Report::default(),
            },
        }
    }

    /// Returns the index.
    #[must_use]
    pub fn index(&self) -> &Index<F> {
        &self.index
    }

    /// Sets the callback and the cancellations of queries that read many blocks: see
    /// [the crate](crate#threads-memory-progress). A query of few blocks, as at usual distances, calls nothing. A
    /// cancellation is for good: after a cancelled query, the searcher answers again with others.
    pub fn report_to(&mut self, report: Report) {
        self.core.report = report;
    }

    /// Returns all stored fingerprints within `distance` of `query`, nearest first, then by fingerprint.
    ///
    /// Any distance up to the width is exact; one beyond the design's takes longer. [`Searcher::nearest_within`] limits
    /// the number of matches, if there may be more than fit into memory.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the distance exceeds the width.
    pub fn within(&mut self, query: F, distance: u32) -> Result<&[Match<F>], ReadError> {
        compiled_within()(&mut self.core, &self.index, query, distance, usize::MAX)?;
        Ok(&self.core.matches)
    }

    /// As [`Self::within`], at most `limit` of them.
    #[inline]
    pub(crate) fn limited_within(
        &mut self,
        query: F,
        distance: u32,
        limit: usize,
    ) -> Result<&[Match<F>], ReadError> {
        limited_within(&mut self.core, &self.index, query, distance, limit)?;
        Ok(&self.core.matches)
    }

    /// Returns the first fingerprint found within `distance` of `query`, if any: always the same one for the
    /// same file, not always the nearest.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the distance exceeds the width.
    pub fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, ReadError> {
        compiled_first()(&mut self.core, &self.index, query, distance)
    }

    /// Returns the `count` stored fingerprints nearest to `query`, nearest first, then by fingerprint; all of
    /// them if there are no more.
    ///
    /// If they are further away than the design's distance, more and more of the file is read, at worst all of
    /// table 0: [`Searcher::nearest_within`] bounds that, and [`Searcher::report_to`] can end it.
    ///
    /// # Errors
    /// When a block that is read is damaged.
    pub fn nearest(&mut self, query: F, count: usize) -> Result<&[Match<F>], ReadError> {
        self.nearest_within(query, count, F::BITS)
    }

    /// Returns the `count` nearest of the stored fingerprints within `distance` of `query`, nearest first, then
    /// by fingerprint; all of these if there are no more. Takes memory for about twice as many matches, however
    /// many there are.
    ///
    /// ```
    /// # use hamdex::{Builder, Index};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("small.hamdex");
    /// # let mut builder = Builder::<u64>::new(&path)?;
    /// # [0x0f, 0x1f, 0xff].into_iter().try_for_each(|fingerprint| builder.push(fingerprint))?;
    /// # builder.finish()?;
    /// let index = Index::<u64>::open(&path)?;
    /// let mut searcher = index.searcher();
    /// // Of 0x0f, 0x1f and 0xff the last one is too far away.
    /// let distances: Vec<u32> = searcher.nearest_within(0x0f, 3, 2)?.iter().map(|m| m.distance).collect();
    /// assert_eq!(distances, [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block that is read is damaged, or the distance exceeds the width.
    pub fn nearest_within(
        &mut self,
        query: F,
        count: usize,
        distance: u32,
    ) -> Result<&[Match<F>], ReadError> {
        compiled_nearest()(&mut self.core, &self.index, query, distance, count)?;
        Ok(&self.core.matches)
    }

    /// Returns the ids of a fingerprint, as [`Index::ids`] gives them, without allocating. To go through the
    /// matches of one searcher, look up their ids with another, or with [`Index::ids_of`].
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids(&mut self, fingerprint: F) -> Result<Ids<'_>, ReadError> {
        self.index.ids_through(fingerprint, &mut self.core.search.scanner)
    }

    /// Returns the ids of each of these matches, in their order, as [`Index::ids_of`] gives them.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids_of(&mut self, matches: &[Match<F>]) -> Result<Vec<Ids<'_>>, ReadError> {
        self.index.ids_of_through(matches, &mut self.core.search.scanner)
    }

    /// Calls `visit` with every stored fingerprint within `distance` of `query`, each once, in no
    /// particular order. An error of `visit` ends it.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the distance exceeds the width; the error of `visit`.
    pub fn for_each<E: From<ReadError>>(
        &mut self,
        query: F,
        distance: u32,
        mut visit: impl FnMut(Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { index, core } = self;
        keeping(|keep| {
            compiled_for_each()(core, index, query, distance, &mut |found| keep.error(visit(found)))
        })
    }

    /// Calls `visit` with the place of a query, and every stored fingerprint within `distance` of that, each once for
    /// each query, in no particular order of either. Some queries together take less time than one after the other,
    /// since all wait for memory at once.
    ///
    /// # Errors
    /// When a block that is read is damaged; the error of `visit`.
    #[inline]
    pub(crate) fn for_each_of<E: From<ReadError>>(
        &mut self,
        queries: &[F],
        distance: u32,
        visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.core.for_each_of(&self.index, queries, distance, visit)
    }

    /// As [`Self::for_each_of`], with the cancellation check of the caller.
    #[inline]
    pub(crate) fn for_each_of_while<E: From<ReadError>>(
        &mut self,
        queries: &[F],
        distance: u32,
        check_wave: WaveCheck<'_>,
        visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        for_each_of(&self.index, &mut self.core.search, queries, distance, check_wave, visit)
    }

    /// Returns the documents that meet a condition with a set of shingles, which ascend, each once: the most similar
    /// first, then by id; at most `limit`. None is missed, and none is compared by fingerprints.
    ///
    /// ```
    /// use hamdex::similar::{Condition, Measure};
    /// use hamdex::{BuildOptions, Builder, Index};
    ///
    /// let mut builder = Builder::in_memory(BuildOptions::new().ids(true).shingles(true))?;
    /// for (id, shingles) in [(7, [1, 2, 3, 4]), (9, [4, 5, 6, 7])] {
    ///     builder.push_with_id(0x00ff_u64 << id, id)?;
    ///     builder.push_shingles(id, &shingles)?;
    /// }
    /// let index = Index::<u64>::from_bytes(builder.into_inner()?.0)?;
    /// let condition = Condition::new(Measure::Resemblance, 0.7).expect("it is a share");
    /// let similar = index.searcher().similar(&[1, 2, 3], &condition, 10)?;
    /// assert_eq!((similar[0].id.id, similar[0].similarity), (7, 0.75));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the index has no shingles, or a block or page that is read is damaged.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, ReadError> {
        let part = self.index.similar_part()?;
        let mut found = Vec::new();
        self.core.similar.for_each(part, (shingles, condition), &self.core.report, |id, similarity| {
            found.push(SimilarDocument { id: StoredId { part: 0, id }, similarity });
        })?;
        SimilarDocument::keep_nearest(&mut found, limit);
        Ok(found)
    }
}

impl<F: Fingerprint> Core<F> {
    #[inline]
    fn for_each_of<E: From<ReadError>>(
        &mut self,
        index: &Index<F>,
        queries: &[F],
        distance: u32,
        visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { search, report, .. } = self;
        let check_wave =
            |done, all| report.progressed(Progress::new(Phase::Query, done as u64, Some(all as u64)));
        for_each_of(index, search, queries, distance, &check_wave, visit)
    }

    /// The nearest within a distance, by a walk through table 0.
    fn nearest_by_walk(
        &mut self,
        index: &Index<F>,
        query: F,
        count: usize,
        most: u32,
    ) -> Result<(), ReadError> {
        let Self { search, matches, report, .. } = self;
        let check_wave =
            |done, all| report.progressed(Progress::new(Phase::Query, done as u64, Some(all as u64)));
        search::walk(index, search, query, (count, most), (&check_wave, &mut |_| Ok(true)), matches)
    }
}

#[inline]
fn limited_within<F: Fingerprint>(
    core: &mut Core<F>,
    index: &Index<F>,
    query: F,
    distance: u32,
    limit: usize,
) -> Result<(), ReadError> {
    let mut matches = std::mem::take(&mut core.matches);
    give_back(&mut matches);
    let mut limited = Limited::new(&mut matches, limit);
    let outcome = core.for_each_of(index, &[query], distance, |_, found| {
        limited.push(found);
        Ok(())
    });
    limited.finish();
    core.matches = matches;
    outcome
}

fn nearest_within<F: Fingerprint>(
    core: &mut Core<F>,
    index: &Index<F>,
    query: F,
    distance: u32,
    count: usize,
) -> Result<(), ReadError> {
    check_distance::<F>(distance)?;
    let most = distance;
    let mut distance = search::first_distance(count, most, index.design.distance());
    loop {
        limited_within(core, index, query, distance, count)?;
        if core.matches.len() >= count.min(index.len() as usize) || distance == most {
            return Ok(());
        }
        // Increases the distance by one, until that would cost as much as a walk.
        distance += 1;
        if search::is_walk_cheaper(index, distance) {
            return core.nearest_by_walk(index, query, count, most);
        }
    }
}

fn first<F: Fingerprint>(
    core: &mut Core<F>,
    index: &Index<F>,
    query: F,
    distance: u32,
) -> Result<Option<Match<F>>, ReadError> {
    let mut first = None;
    let outcome = core.for_each_of(index, &[query], distance, |_, found| {
        first = Some(found);
        Err(ReadError::from(Stopped))
    });
    if first.is_some() { Ok(first) } else { outcome.map(|()| None) }
}

#[inline]
fn for_each_of<F: Fingerprint, E: From<ReadError>>(
    index: &Index<F>,
    search: &mut Search<F>,
    queries: &[F],
    distance: u32,
    check_wave: WaveCheck<'_>,
    visit: impl FnMut(usize, Match<F>) -> Result<(), E>,
) -> Result<(), E> {
    check_distance::<F>(distance)?;
    let plan = index.plan(distance);
    search.locate(index, queries, plan)?;
    search.read_ahead(index);
    search.scan(index, queries, plan, check_wave, visit)
}

impl<R: IndexRef> fmt::Debug for Searcher<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Searcher").field("index", &*self.index).finish_non_exhaustive()
    }
}
