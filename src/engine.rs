//! The work for each width, compiled in this crate once.

use std::ops::ControlFlow;
use std::path::Path;

use crate::build::{Builder, SealedIndex};
use crate::error::{BuildError, ReadError};
use crate::ids::Ids;
use crate::index::{
    BatchOptions, Entry, Index, Match, MatchVisitor, OpenOptions, Pair, Pairs, Searcher, Verified,
    VerifyOptions,
};
use crate::merge::Merger;
use hamdex_fingerprint::Fingerprint;

/// What takes long to compile, for both widths: each function does the same as the method that it is named after.
///
/// Methods that are generic are compiled in every crate that calls them, for each width again, which takes a
/// minute for all of the engine. A program that serves both widths calls these functions instead, where `F: Engine`:
/// they have been compiled with this crate. Others need not know of them.
///
/// ```
/// use hamdex::{Builder, Engine};
///
/// fn build<F: Engine>(path: &std::path::Path, fingerprints: &[F]) -> Result<u64, hamdex::BuildError> {
///     let mut builder = Builder::new(path)?;
///     fingerprints.iter().try_for_each(|&fingerprint| F::push(&mut builder, fingerprint))?;
///     Ok(F::seal(builder)?.publish()?.fingerprints)
/// }
///
/// let directory = tempfile::tempdir()?;
/// assert_eq!(build(&directory.path().join("narrow"), &[1u64, 2, 2])?, 2);
/// assert_eq!(build(&directory.path().join("wide"), &[1u128])?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Engine: Fingerprint {
    /// [`Builder::push`].
    ///
    /// # Errors
    /// As there.
    fn push(builder: &mut Builder<Self>, fingerprint: Self) -> Result<(), BuildError>;

    /// [`Builder::push_with_id`].
    ///
    /// # Errors
    /// As there.
    fn push_with_id(builder: &mut Builder<Self>, fingerprint: Self, id: u64) -> Result<(), BuildError>;

    /// [`Builder::seal`].
    ///
    /// # Errors
    /// As there.
    fn seal(builder: Builder<Self>) -> Result<SealedIndex, BuildError>;

    /// [`Merger::seal`].
    ///
    /// # Errors
    /// As there.
    fn merge(merger: Merger<'_, Self>, path: &Path) -> Result<SealedIndex, BuildError>;

    /// [`OpenOptions::open`].
    ///
    /// # Errors
    /// As there.
    fn open(path: &Path, options: &OpenOptions) -> Result<Index<Self>, ReadError>;

    /// [`Index::ids`].
    ///
    /// # Errors
    /// As there.
    fn ids(index: &Index<Self>, fingerprint: Self) -> Result<Ids<'_>, ReadError>;

    /// Calls `visit` with each of [`Index::entries`], until it breaks.
    ///
    /// # Errors
    /// When a block is damaged.
    fn for_each_entry(
        index: &Index<Self>,
        visit: &mut dyn FnMut(Entry<'_, Self>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError>;

    /// [`Searcher::within`].
    ///
    /// # Errors
    /// As there.
    fn within<'s>(
        searcher: &'s mut Searcher<&Index<Self>>,
        query: Self,
        distance: u32,
    ) -> Result<&'s [Match<Self>], ReadError>;

    /// [`Searcher::first`].
    ///
    /// # Errors
    /// As there.
    fn first(
        searcher: &mut Searcher<&Index<Self>>,
        query: Self,
        distance: u32,
    ) -> Result<Option<Match<Self>>, ReadError>;

    /// [`Searcher::nearest_within`].
    ///
    /// # Errors
    /// As there.
    fn nearest_within<'s>(
        searcher: &'s mut Searcher<&Index<Self>>,
        query: Self,
        count: usize,
        distance: u32,
    ) -> Result<&'s [Match<Self>], ReadError>;

    /// [`Searcher::ids_of`].
    ///
    /// # Errors
    /// As there.
    fn ids_of<'s>(
        searcher: &'s mut Searcher<&Index<Self>>,
        matches: &[Match<Self>],
    ) -> Result<Vec<Ids<'s>>, ReadError>;

    /// [`Index::batch_with`].
    ///
    /// # Errors
    /// As there.
    fn batch_with(
        index: &Index<Self>,
        queries: &[Self],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, Self>,
    ) -> Result<ControlFlow<()>, ReadError>;

    /// [`Pairs::for_each_batch`].
    ///
    /// # Errors
    /// As there.
    fn for_each_batch(
        pairs: &Pairs<'_, Self>,
        visit: &mut dyn FnMut(&[Pair<Self>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError>;

    /// [`Pairs::count_by_distance`].
    ///
    /// # Errors
    /// As there.
    fn count_by_distance(pairs: &Pairs<'_, Self>) -> Result<Vec<u64>, ReadError>;

    /// [`Index::pairs`].
    fn pairs(index: &Index<Self>, distance: u32) -> Pairs<'_, Self>;

    /// [`Index::verify_with`].
    ///
    /// # Errors
    /// As there.
    fn verify(index: &Index<Self>, options: &VerifyOptions) -> Result<Verified, ReadError>;
}

macro_rules! impl_engine {
    ($type:ty) => {
        impl Engine for $type {
            fn push(builder: &mut Builder<Self>, fingerprint: Self) -> Result<(), BuildError> {
                builder.push(fingerprint)
            }

            fn push_with_id(
                builder: &mut Builder<Self>,
                fingerprint: Self,
                id: u64,
            ) -> Result<(), BuildError> {
                builder.push_with_id(fingerprint, id)
            }

            fn seal(builder: Builder<Self>) -> Result<SealedIndex, BuildError> {
                builder.seal()
            }

            fn merge(merger: Merger<'_, Self>, path: &Path) -> Result<SealedIndex, BuildError> {
                merger.seal(path)
            }

            fn open(path: &Path, options: &OpenOptions) -> Result<Index<Self>, ReadError> {
                options.open(path)
            }

            fn ids(index: &Index<Self>, fingerprint: Self) -> Result<Ids<'_>, ReadError> {
                index.ids(fingerprint)
            }

            fn for_each_entry(
                index: &Index<Self>,
                visit: &mut dyn FnMut(Entry<'_, Self>) -> ControlFlow<()>,
            ) -> Result<ControlFlow<()>, ReadError> {
                for entry in index.entries() {
                    if visit(entry?).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Ok(ControlFlow::Continue(()))
            }

            fn within<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                query: Self,
                distance: u32,
            ) -> Result<&'s [Match<Self>], ReadError> {
                searcher.within(query, distance)
            }

            fn first(
                searcher: &mut Searcher<&Index<Self>>,
                query: Self,
                distance: u32,
            ) -> Result<Option<Match<Self>>, ReadError> {
                searcher.first(query, distance)
            }

            fn nearest_within<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                query: Self,
                count: usize,
                distance: u32,
            ) -> Result<&'s [Match<Self>], ReadError> {
                searcher.nearest_within(query, count, distance)
            }

            fn ids_of<'s>(
                searcher: &'s mut Searcher<&Index<Self>>,
                matches: &[Match<Self>],
            ) -> Result<Vec<Ids<'s>>, ReadError> {
                searcher.ids_of(matches)
            }

            fn batch_with(
                index: &Index<Self>,
                queries: &[Self],
                distance: u32,
                options: &BatchOptions,
                visit: &mut MatchVisitor<'_, Self>,
            ) -> Result<ControlFlow<()>, ReadError> {
                index.batch_with(queries, distance, options, visit)
            }

            fn for_each_batch(
                pairs: &Pairs<'_, Self>,
                visit: &mut dyn FnMut(&[Pair<Self>]) -> ControlFlow<()>,
            ) -> Result<ControlFlow<()>, ReadError> {
                pairs.for_each_batch(visit)
            }

            fn count_by_distance(pairs: &Pairs<'_, Self>) -> Result<Vec<u64>, ReadError> {
                pairs.count_by_distance()
            }

            fn pairs(index: &Index<Self>, distance: u32) -> Pairs<'_, Self> {
                index.pairs(distance)
            }

            fn verify(index: &Index<Self>, options: &VerifyOptions) -> Result<Verified, ReadError> {
                index.verify_with(options)
            }
        }
    };
}

impl_engine!(u64);
impl_engine!(u128);
