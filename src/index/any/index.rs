//! The index.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::codec::Codec;
use crate::error::{ReadError, ReadErrorKind};
use crate::format::header::FileId;
use crate::ids::Ids;
use crate::index::any::{narrow, widen};
use crate::index::batch::BatchOptions;
use crate::index::handle::Index;
use crate::index::matches::MatchVisitor;
use crate::index::open::{OpenOptions, width};
use crate::index::pairs::Pair;
use crate::index::verify::{Verified, VerifyOptions};
use crate::names::Names;
use hamdex_fingerprint::Fingerprint;

/// An index of whichever width the file has: for bindings and programs that learn of the width when they open it.
///
/// Fingerprints go in and out as `u128`; those of 64 bits are the numbers below 2⁶⁴, and a query beyond that is
/// an error in an index of 64 bits. Programs that know the width use [`Index`], which this is made of.
///
/// ```
/// use hamdex::{AnyIndex, Builder};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// builder.push(0x00ff)?;
/// builder.finish()?;
///
/// let index = AnyIndex::open(&path)?;
/// assert_eq!((index.width(), index.len()), (64, 1));
/// assert_eq!(index.searcher().within(0x01ff, 3)?[0].fingerprint, 0x00ff);
/// assert!(index.contains(1 << 64).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyIndex {
    /// Of fingerprints of 64 bits.
    Bits64(Index<u64>),
    /// Of fingerprints of 128 bits.
    Bits128(Index<u128>),
}

/// Does the same with an index of either width.
macro_rules! either {
    ($any:expr, $index:ident => $result:expr) => {
        match $any {
            AnyIndex::Bits64($index) => $result,
            AnyIndex::Bits128($index) => $result,
        }
    };
}

impl AnyIndex {
    /// Opens a file by mapping it; see [`Index::open`].
    ///
    /// # Errors
    /// When the file cannot be read, or is not a whole hamdex file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_with(path.as_ref(), &OpenOptions::new())
    }

    /// As [`AnyIndex::open`], with options.
    ///
    /// # Errors
    /// As for [`AnyIndex::open`].
    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, ReadError> {
        match width(path)? {
            u128::BITS => options.open(path).map(Self::Bits128),
            _ => options.open(path).map(Self::Bits64),
        }
    }

    /// The width of the fingerprints, in bits: 64 or 128.
    #[must_use]
    pub fn width(&self) -> u32 {
        either!(self, index => index.footer.width)
    }

    /// The number of distinct fingerprints.
    #[must_use]
    pub fn len(&self) -> u64 {
        either!(self, index => index.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the index holds ids.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        either!(self, index => index.has_ids())
    }

    /// The names of the ids; `None` if they have none: see [`Index::names`].
    ///
    /// # Errors
    /// When what says how they are listed is damaged.
    pub fn names(&self) -> Result<Option<Names<'_>>, ReadError> {
        either!(self, index => index.names())
    }

    /// The distance for which the design is made.
    #[must_use]
    pub fn distance(&self) -> u32 {
        either!(self, index => index.design().distance())
    }

    /// The name of the design.
    #[must_use]
    pub fn design(&self) -> &str {
        either!(self, index => index.design().name())
    }

    /// How blocks are coded.
    #[must_use]
    pub fn codec(&self) -> Codec {
        either!(self, index => index.footer.layout.codec)
    }

    /// The id of the file: see [`Index::file_id`].
    #[must_use]
    pub fn file_id(&self) -> FileId {
        either!(self, index => index.file_id())
    }

    /// The user's metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Vec<u8>> {
        either!(self, index => index.metadata())
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that matters is damaged, or the fingerprint is too wide.
    pub fn contains(&self, fingerprint: u128) -> Result<bool, ReadError> {
        either!(self, index => index.contains(narrow(index, fingerprint)?))
    }

    /// The ids of a fingerprint, ascending: see [`Index::ids`].
    ///
    /// # Errors
    /// When a block or page that matters is damaged, or the fingerprint is too wide.
    pub fn ids(&self, fingerprint: u128) -> Result<Ids<'_>, ReadError> {
        either!(self, index => index.ids(narrow(index, fingerprint)?))
    }

    /// The stored fingerprints within `distance` of each query: see [`Index::batch_with`].
    ///
    /// # Errors
    /// When a block that matters is damaged, or a query is too wide, before any is answered.
    pub fn batch_with(
        &self,
        queries: &[u128],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, u128>,
    ) -> Result<ControlFlow<()>, ReadError> {
        either!(self, index => {
            let queries = queries.iter().map(|&query| narrow(index, query)).collect::<Result<Vec<_>, _>>()?;
            let mut wide = Vec::new();
            index.batch_with(&queries, distance, options, |place, matches| {
                wide.clear();
                wide.extend(matches.iter().map(widen));
                visit(place, &wide)
            })
        })
    }

    /// All pairs of stored fingerprints within `distance`, some thousands at a time: see [`Index::pairs`] and
    /// [`Pairs::for_each_batch`](crate::Pairs::for_each_batch).
    ///
    /// # Errors
    /// When a block is damaged.
    pub fn for_each_pair(
        &self,
        distance: u32,
        visit: &mut dyn FnMut(&[Pair<u128>]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let mut wide = Vec::new();
        either!(self, index => index.pairs(distance).for_each_batch(|pairs| {
            wide.clear();
            wide.extend(pairs.iter().map(|pair| Pair::of(pair.a.to_u128(), pair.b.to_u128())));
            visit(&wide)
        }))
    }

    /// Reads the whole file and checks everything: see [`Index::verify`].
    ///
    /// # Errors
    /// The first damage found; when no thread can be started; or when the progress callback stops the work.
    pub fn verify_with(&self, options: &VerifyOptions) -> Result<Verified, ReadError> {
        either!(self, index => index.verify_with(options))
    }

    /// The index, if its fingerprints have 64 bits.
    ///
    /// # Errors
    /// When they have 128.
    pub fn into_64(self) -> Result<Index<u64>, ReadError> {
        match self {
            Self::Bits64(index) => Ok(index),
            Self::Bits128(index) => {
                Err(index.error(ReadErrorKind::Width { found: 128, expected: 64 }.into()))
            }
        }
    }

    /// The index, if its fingerprints have 128 bits.
    ///
    /// # Errors
    /// When they have 64.
    pub fn into_128(self) -> Result<Index<u128>, ReadError> {
        match self {
            Self::Bits128(index) => Ok(index),
            Self::Bits64(index) => Err(index.error(ReadErrorKind::Width { found: 64, expected: 128 }.into())),
        }
    }
}
