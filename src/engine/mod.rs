//! The work for each width, compiled in this crate once.
//!
//! - [`widths`]: the functions for 64 and for 128 bits

mod widths;

use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use crate::build::{BuildOptions, Builder, SealedIndex, Summary};
use crate::error::{BuildError, ReadError};
use crate::ids::Ids;
use crate::index::{
    BatchOptions, Entry, FoundIn, Index, Indexes, IndexesSearcher, Match, MatchVisitor, OpenOptions, Pair,
    Pairs, Searcher, UnitedMatches, Verified, VerifyOptions,
};
use crate::mapping::Mapping;
use crate::merge::Merger;
use hamdex_fingerprint::Fingerprint;

/// Several indexes queried as one, held by all who use them.
pub type SharedIndexes<F> = Indexes<Arc<Index<F>>>;

/// All entries of an index, or some, in order.
pub type BoxedEntries<'i, F> = Box<dyn Iterator<Item = Result<Entry<'i, F>, ReadError>> + Send + 'i>;

/// Receives the place of each query, and its matches, until it breaks.
pub type UnitedVisitor<'v, F> = dyn FnMut(usize, UnitedMatches<'_, F>) -> ControlFlow<()> + 'v;

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

    /// Writes an index of records in order, to a writer: [`Builder::to_writer`] with
    /// [`BuildOptions::sorted`]. Where the index has no ids, those of the records do not count. `names` are those of
    /// the ids, by ascending id; none where the index has none.
    ///
    /// # Errors
    /// As there; what `names` returns.
    fn write_sorted(
        options: BuildOptions<Self>,
        records: &mut dyn Iterator<Item = (Self, u64)>,
        names: &mut dyn Iterator<Item = Result<(u64, &[u8]), ReadError>>,
        writer: &mut (dyn Write + Send),
    ) -> Result<Summary, BuildError>;

    /// [`Merger::write_to`].
    ///
    /// # Errors
    /// As there.
    fn merge_to(merger: Merger<'_, Self>, writer: &mut (dyn Write + Send)) -> Result<Summary, BuildError>;

    /// [`OpenOptions::from_mapping`].
    ///
    /// # Errors
    /// As there.
    fn open_mapping(data: Mapping, path: &Path, options: &OpenOptions) -> Result<Index<Self>, ReadError>;

    /// [`Index::places`].
    ///
    /// # Errors
    /// As there.
    fn places(index: &Index<Self>, fingerprint: Self) -> Result<Range<u64>, ReadError>;

    /// [`Index::rank`].
    ///
    /// # Errors
    /// As there.
    fn rank(index: &Index<Self>, fingerprint: Self) -> Result<u64, ReadError>;

    /// [`Index::entries`] that are not below a fingerprint.
    fn entries(index: &Index<Self>, from: Self) -> BoxedEntries<'_, Self>;

    /// Restores, in memory, the parts of a damaged file that follow from others, so that it can be opened: header,
    /// footer, trailer, keys and id directory. The bytes are as many as the file had when it was written, with this file
    /// id.
    fn mend(file: &mut [u8], file_id: [u8; 16]);

    /// Calls `visit` with every pair of a damaged file that can be read: its place where that is known, its fingerprint
    /// and its id, 0 where there are no ids. What one table has lost is taken from others.
    fn for_each_readable(index: &Index<Self>, visit: &mut dyn FnMut(Option<u64>, Self, u64));

    /// [`IndexesSearcher::within`].
    ///
    /// # Errors
    /// As there.
    fn within_all<'s>(
        searcher: &'s mut IndexesSearcher<Arc<Index<Self>>>,
        query: Self,
        distance: u32,
    ) -> Result<UnitedMatches<'s, Self>, ReadError>;

    /// [`IndexesSearcher::nearest_within`].
    ///
    /// # Errors
    /// As there.
    fn nearest_within_all<'s>(
        searcher: &'s mut IndexesSearcher<Arc<Index<Self>>>,
        query: Self,
        count: usize,
        distance: u32,
    ) -> Result<UnitedMatches<'s, Self>, ReadError>;

    /// [`IndexesSearcher::first`].
    ///
    /// # Errors
    /// As there.
    fn first_of_all(
        searcher: &mut IndexesSearcher<Arc<Index<Self>>>,
        query: Self,
        distance: u32,
    ) -> Result<Option<FoundIn<Self>>, ReadError>;

    /// [`Indexes::batch_with`].
    ///
    /// # Errors
    /// As there.
    fn batch_of_all(
        indexes: &SharedIndexes<Self>,
        queries: &[Self],
        distance: u32,
        options: &BatchOptions,
        visit: &mut UnitedVisitor<'_, Self>,
    ) -> Result<ControlFlow<()>, ReadError>;

    /// [`Indexes::pairs`].
    fn pairs_of_all(indexes: &SharedIndexes<Self>, distance: u32) -> Pairs<'_, Self>;
}
