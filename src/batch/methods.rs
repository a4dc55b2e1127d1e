//! Batches as users start them.

use std::ops::ControlFlow;

use crate::batch::chunks::Chunks;
use crate::batch::gather::Batch;
use crate::batch::options::BatchOptions;
use crate::error::ReadError;
use crate::index::handle::Index;
use crate::index::matches::{Match, MatchVisitor};
use crate::widths::per_width;
use hamdex_fingerprint::Fingerprint;

type Answer<F> = fn(&mut Chunks<'_, F>, &[F], &mut MatchVisitor<'_, F>) -> Result<ControlFlow<()>, ReadError>;

per_width! {
    compiled_answer: Answer = answer;
}

fn answer<F: Fingerprint>(
    chunks: &mut Chunks<'_, F>,
    queries: &[F],
    visit: &mut MatchVisitor<'_, F>,
) -> Result<ControlFlow<()>, ReadError> {
    chunks.answer(queries, visit)
}

impl<F: Fingerprint> Index<F> {
    /// Returns all stored fingerprints within `distance` of each query: as [`Searcher::within`] returns them,
    /// but for thousands of queries several times as fast, since queries that meet in a block share the work,
    /// and by all threads: see [`BatchOptions`].
    ///
    /// All matches are in memory then; [`Index::batch_with`] hands them on one query at a time.
    ///
    /// ```
    /// use hamdex::{Builder, Index};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("small.hamdex");
    /// let mut builder = Builder::<u64>::new(&path)?;
    /// (0..1000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab))?;
    /// builder.finish()?;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let queries = [0x0123_4567_89ab, 1, 0x0123_4567_89ab];
    /// let batch = index.batch(&queries, 1)?;
    /// assert_eq!(batch.matches(0)[0].fingerprint, 0x0123_4567_89ab);
    /// assert_eq!(batch.iter().map(<[_]>::len).collect::<Vec<_>>(), [1, 1, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Searcher::within`]: crate::Searcher::within
    ///
    /// # Errors
    /// When a block that is read is damaged, or the distance exceeds the width.
    pub fn batch(&self, queries: &[F], distance: u32) -> Result<Batch<F>, ReadError> {
        let mut batch = Batch::with_capacity(queries.len());
        let _ = self.batch_with(queries, distance, &BatchOptions::new(), |_, matches| {
            batch.push(matches);
            ControlFlow::Continue(())
        })?;
        Ok(batch)
    }

    /// Calls `visit` with the place of each query and all stored fingerprints within `distance` of it, nearest
    /// first, then by fingerprint; in the order of the queries, including queries without a match, until it
    /// breaks. Returns whether it did.
    ///
    /// Memory stays within that of the options, however many queries and matches there are, except the
    /// matches of a single query.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use hamdex::{BatchOptions, Builder, Index, Strategy};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("small.hamdex");
    /// let mut builder = Builder::<u64>::new(&path)?;
    /// (0..1000).try_for_each(|i| builder.push(i * 0x0123_4567_89ab))?;
    /// builder.finish()?;
    ///
    /// let index = Index::<u64>::open(&path)?;
    /// let queries: Vec<u64> = (0..500).map(|i| i * 0x0246_8acf_1356 + 1).collect();
    /// let options = BatchOptions::new().strategy(Strategy::Scan).memory(64 << 20);
    /// let mut with_a_match = 0;
    /// let outcome = index.batch_with(&queries, 3, &options, |query, matches| {
    ///     assert!(matches.iter().all(|m| m.distance == (m.fingerprint ^ queries[query]).count_ones()));
    ///     with_a_match += usize::from(!matches.is_empty());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert!(outcome.is_continue());
    /// assert_eq!(with_a_match, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block that is read is damaged, and queries before it may have been visited; or the distance exceeds the
    /// width.
    pub fn batch_with(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        mut visit: impl FnMut(usize, &[Match<F>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        compiled_answer()(&mut Chunks::new(self, distance, options)?, queries, &mut visit)
    }
}
