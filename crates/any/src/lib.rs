//! Opens whatever a path names: an index file, a store or a set of shards, of fingerprints of any width.
//!
//! - [`open`] inspects a path and returns an [`AnySet`], which can be queried whatever its kind.
//! - [`AnySet::typed`] gives the set at its width, for work on whole arrays of fingerprints; [`for_width`] compiles
//!   such work once per width.
//!
//! ```
//! use hamdex::{BuildOptions, Builder};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("news.hamdex");
//! let mut builder = Builder::<u64>::with_options(&path, BuildOptions::new().ids(true))?;
//! builder.push_with_id(0x00ff, 17)?;
//! builder.finish()?;
//!
//! let set = hamdex_any::open(&path)?;
//! assert_eq!((set.description().width, set.description().fingerprints), (64, 1));
//! let mut searcher = set.searcher();
//! assert_eq!(searcher.nearest_within(0x01ff_u64.into(), 10, 3)?[0].distance, 1);
//! assert_eq!(searcher.ids(10)?.remove(0).map(|stored| stored.id).collect::<Vec<_>>(), [17]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use hamdex::for_width;
use hamdex::set::{Description, MatchIds, StoredId};
use hamdex::similar::{Condition, SimilarDocument};
use hamdex::{
    Category, Fingerprint, FingerprintSet, Match, OpenOptions, ReadErrorKind, Report, SetError, SetSearcher,
    Verified, VerifyOptions,
};
use hamdex_shards::Shards;
use hamdex_store::{ReadOptions, StoreReader};

fn width_of(kind: Kind, path: &Path) -> Result<u32, SetError> {
    Ok(match kind {
        Kind::File => hamdex::width(path)?,
        Kind::Store => hamdex_store::width(path)?,
        Kind::Shards => hamdex_shards::width(path)?,
    })
}

fn open_typed<F: Fingerprint>(
    kind: Kind,
    path: &Path,
    options: &OpenOptions,
) -> Result<Arc<dyn FingerprintSet<F>>, SetError> {
    Ok(match kind {
        Kind::File => Arc::new(options.open::<F>(path)?),
        Kind::Shards => Arc::new(Shards::<F>::open(path, options)?),
        Kind::Store => {
            let options = ReadOptions::new().in_memory(options.is_in_memory());
            Arc::new(StoreReader::<F>::open_with(path, options)?.into_snapshot())
        }
    })
}

/// The width of the fingerprints that a path names, in bits.
///
/// # Errors
/// As for [`open`].
pub fn width(path: impl AsRef<Path>) -> Result<u32, SetError> {
    let path = path.as_ref();
    width_of(Kind::of(path)?, path)
}

/// Opens an index file, a store as it is now, or a set of shards, by mapping their files.
///
/// # Errors
/// When there is none of these, it is damaged, or the system refuses something.
pub fn open(path: impl AsRef<Path>) -> Result<AnySet, SetError> {
    open_with(path, &OpenOptions::new())
}

/// As [`open`], with options. Of those, a store knows [`OpenOptions::in_memory`] only.
///
/// # Errors
/// As for [`open`].
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<AnySet, SetError> {
    let path = path.as_ref();
    let kind = Kind::of(path)?;
    for_width!(width_of(kind, path)?, F => Ok(AnySet::new::<F>(kind, open_typed(kind, path, options)?)))
}

/// Opens an index file. A directory is refused.
///
/// # Errors
/// As for [`open`].
pub fn open_file(path: impl AsRef<Path>, options: &OpenOptions) -> Result<AnySet, SetError> {
    let path = path.as_ref();
    let width = width_of(Kind::File, path)?;
    for_width!(width, F => Ok(AnySet::new::<F>(Kind::File, open_typed(Kind::File, path, options)?)))
}

/// The kind of container that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An index file.
    File,
    /// The directory of a store.
    Store,
    /// The directory of a set of shards.
    Shards,
}

impl Kind {
    /// Inspects a path: the beginning of the manifest distinguishes a set of shards from a store. A path that cannot
    /// be looked at counts as a file, and opening it fails.
    ///
    /// # Errors
    /// When the system refuses to read a manifest.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, SetError> {
        let path = path.as_ref();
        if !path.is_dir() {
            return Ok(Self::File);
        }
        Ok(if hamdex_shards::is_set(path)? { Self::Shards } else { Self::Store })
    }

    /// As [`Kind::of`]; `None` if the path is not a container. A damaged container is one, and so is any file whose name
    /// ends in `.hamdex`.
    ///
    /// # Errors
    /// When there is nothing, or the system refuses to read it.
    pub fn recognise(path: impl AsRef<Path>) -> Result<Option<Self>, SetError> {
        let path = path.as_ref();
        let kind = Self::of(path)?;
        let is_there = match kind {
            Self::Shards => true,
            Self::Store => !matches!(hamdex_store::width(path), Err(hamdex_store::Error::NotAStore { .. })),
            Self::File => match hamdex::width(path) {
                Err(error) if matches!(error.kind(), ReadErrorKind::NotHamdex) => {
                    path.extension().is_some_and(|ending| ending == "hamdex")
                }
                Err(error) if matches!(error.kind(), ReadErrorKind::Io { .. }) => return Err(error.into()),
                _ => true,
            },
        };
        Ok(is_there.then_some(kind))
    }
}

/// An index, a snapshot of a store, or a set of shards, of any width. A clone is cheap.
#[derive(Clone)]
pub struct AnySet {
    kind: Kind,
    description: Arc<Description>,
    set: Width<Arc<dyn FingerprintSet<u64>>, Arc<dyn FingerprintSet<u128>>>,
}

/// One of two things that differ in the width of fingerprints.
#[derive(Clone)]
enum Width<N, W> {
    Bits64(N),
    Bits128(W),
}

/// Does the same with either of a [`Width`].
macro_rules! either {
    ($any:expr, $set:ident => $work:expr) => {
        match $any {
            Width::Bits64($set) => $work,
            Width::Bits128($set) => $work,
        }
    };
}

impl AnySet {
    /// Erases the width of a set of this kind.
    pub fn new<F: Fingerprint>(kind: Kind, set: Arc<dyn FingerprintSet<F>>) -> Self {
        let description = Arc::new(set.describe());
        let set: &dyn Any = &set;
        let narrow = set.downcast_ref().map(|set| Width::Bits64(Arc::clone(set)));
        let set = narrow.or_else(|| set.downcast_ref().map(|set| Width::Bits128(Arc::clone(set))));
        Self { kind, description, set: set.expect("fingerprints have one of these widths") }
    }

    /// The kind of container.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The properties of the set.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The set at its width; `None` if it has another width.
    #[must_use]
    pub fn typed<F: Fingerprint>(&self) -> Option<&Arc<dyn FingerprintSet<F>>> {
        either!(&self.set, set => (set as &dyn Any).downcast_ref())
    }

    /// A searcher, which holds the memory that queries use again and again: one per thread.
    #[must_use]
    pub fn searcher(&self) -> AnySearcher<'_> {
        let of_width = match &self.set {
            Width::Bits64(set) => Width::Bits64(OfWidth::new(&**set)),
            Width::Bits128(set) => Width::Bits128(OfWidth::new(&**set)),
        };
        AnySearcher { of_width, matches: Vec::new() }
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that is read is damaged, or the fingerprint has more bits than those of the set.
    pub fn contains(&self, fingerprint: AnyFingerprint) -> Result<bool, SetError> {
        Ok(self.searcher().first(fingerprint, 0)?.is_some())
    }

    /// The name of an id of this set; `None` if its ids have no names.
    ///
    /// # Errors
    /// When a page that is read is damaged, or the id is not stored.
    pub fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        either!(&self.set, set => set.name_of(id))
    }

    /// Checks that no page of a mapped file was gone when it was read: see [`FingerprintSet::check_files`].
    ///
    /// # Errors
    /// When a file was truncated, or could not be read, since it was opened.
    pub fn check_files(&self) -> Result<(), SetError> {
        either!(&self.set, set => set.check_files())
    }

    /// Reads the whole set and checks everything.
    ///
    /// # Errors
    /// The first damage; when no thread can be started; or when the work is cancelled.
    pub fn verify(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        either!(&self.set, set => set.verify_all(options))
    }
}

impl fmt::Debug for AnySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySet").field("kind", &self.kind).field("description", &self.description).finish()
    }
}

/// A fingerprint of up to 256 bits: four words, the most significant first.
///
/// ```
/// use hamdex_any::AnyFingerprint;
///
/// let fingerprint = AnyFingerprint::from(0x00ff_u64);
/// assert_eq!(fingerprint.words(), [0, 0, 0, 0xff]);
/// assert_eq!(fingerprint.narrow::<u64>(), Some(0x00ff));
/// assert_eq!(AnyFingerprint::from(u128::MAX).narrow::<u64>(), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnyFingerprint([u64; 4]);

impl AnyFingerprint {
    /// The fingerprint as four words, the most significant first.
    #[must_use]
    pub fn words(self) -> [u64; 4] {
        self.0
    }

    /// The fingerprint as a number of this width; `None` if it has more bits.
    #[must_use]
    pub fn narrow<F: Fingerprint>(self) -> Option<F> {
        let [first, second, high, low] = self.0;
        let number = u128::from(high) << 64 | u128::from(low);
        let narrow = F::truncate(number);
        (first == 0 && second == 0 && narrow.to_u128() == number).then_some(narrow)
    }

    /// A fingerprint of one of the widths of index files.
    #[must_use]
    pub fn of<F: Fingerprint>(fingerprint: F) -> Self {
        let number = fingerprint.to_u128();
        Self([0, 0, (number >> 64) as u64, number as u64])
    }
}

impl From<u64> for AnyFingerprint {
    fn from(fingerprint: u64) -> Self {
        Self::of(fingerprint)
    }
}

impl From<u128> for AnyFingerprint {
    fn from(fingerprint: u128) -> Self {
        Self::of(fingerprint)
    }
}

/// A stored fingerprint near a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnyMatch {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: AnyFingerprint,
}

/// A query with more bits than the fingerprints of the set.
#[derive(Debug, thiserror::Error)]
#[error("the query has more than the {width} bits of the stored fingerprints")]
struct TooWide {
    width: u32,
}

/// Queries an [`AnySet`], using the same memory again and again.
pub struct AnySearcher<'s> {
    of_width: Width<OfWidth<'s, u64>, OfWidth<'s, u128>>,
    matches: Vec<AnyMatch>,
}

/// The searcher of a set, and the matches of its last query.
struct OfWidth<'s, F> {
    searcher: Box<dyn SetSearcher<F> + Send + 's>,
    matches: Vec<Match<F>>,
}

impl<'s, F: Fingerprint> OfWidth<'s, F> {
    fn new(set: &'s dyn FingerprintSet<F>) -> Self {
        Self { searcher: set.open_searcher(), matches: Vec::new() }
    }

    fn narrow(query: AnyFingerprint) -> Result<F, SetError> {
        query.narrow().ok_or_else(|| SetError::new(Category::Input, TooWide { width: F::BITS }))
    }

    fn nearest_within(
        &mut self,
        query: AnyFingerprint,
        count: usize,
        distance: u32,
    ) -> Result<impl Iterator<Item = AnyMatch>, SetError> {
        self.matches.clear();
        self.matches.extend_from_slice(self.searcher.nearest_within(
            Self::narrow(query)?,
            count,
            distance,
        )?);
        Ok(self.matches.iter().map(widen))
    }

    fn first(&mut self, query: AnyFingerprint, distance: u32) -> Result<Option<AnyMatch>, SetError> {
        self.matches.clear();
        self.matches.extend(self.searcher.first(Self::narrow(query)?, distance)?);
        Ok(self.matches.first().map(widen))
    }
}

fn widen<F: Fingerprint>(found: &Match<F>) -> AnyMatch {
    AnyMatch { distance: found.distance, fingerprint: AnyFingerprint::of(found.fingerprint) }
}

impl AnySearcher<'_> {
    /// The `count` nearest of the stored fingerprints within `distance` of `query`, nearest first, then by fingerprint;
    /// all of these if there are no more.
    ///
    /// # Errors
    /// When a block that is read is damaged, the query has more bits than the fingerprints of the set, or the query is
    /// cancelled.
    pub fn nearest_within(
        &mut self,
        query: AnyFingerprint,
        count: usize,
        distance: u32,
    ) -> Result<&[AnyMatch], SetError> {
        self.matches.clear();
        either!(&mut self.of_width, of => self.matches.extend(of.nearest_within(query, count, distance)?));
        Ok(&self.matches)
    }

    /// Some stored fingerprint within `distance` of `query`, if there is one; not always the nearest.
    ///
    /// # Errors
    /// As for [`AnySearcher::nearest_within`].
    pub fn first(&mut self, query: AnyFingerprint, distance: u32) -> Result<Option<AnyMatch>, SetError> {
        either!(&mut self.of_width, of => of.first(query, distance))
    }

    /// The first `most` ids of each match of the last query with the number of all, in the order of the matches: empty
    /// lists if the set has no ids.
    ///
    /// # Errors
    /// When a block or page that is read is damaged.
    pub fn ids(&mut self, most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        either!(&mut self.of_width, of => of.searcher.ids_of(&of.matches, most))
    }

    /// The documents that meet a condition with a set of shingles, which ascend, each once: the most similar first, then
    /// by id; at most `limit`. The set must have shingles made as these are.
    ///
    /// # Errors
    /// When the set has no shingles, a block or page that is read is damaged, or the query is cancelled.
    pub fn similar(
        &mut self,
        shingles: &[u64],
        condition: &Condition,
        limit: usize,
    ) -> Result<Vec<SimilarDocument>, SetError> {
        either!(&mut self.of_width, of => of.searcher.similar(shingles, condition, limit))
    }

    /// Sets the progress callback and the cancellations of queries that read many blocks, from now on.
    pub fn report_to(&mut self, report: Report) {
        either!(&mut self.of_width, of => of.searcher.report_to(report));
    }
}

impl fmt::Debug for AnySearcher<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnySearcher").finish_non_exhaustive()
    }
}
