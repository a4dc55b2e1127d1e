//! An open index: all queries of a file go through [`Index`].
//!
//! - [`open`]: from bytes to an index, checking all that later reads rely on
//! - [`searcher`]: one query at a time
//! - [`search`]: the steps of a query, and a walk to the nearest of many
//! - [`ids_of`]: the ids of matches, and fingerprints by id and by name
//! - [`read_ahead`]: hints to storage, before its bytes are read
//! - [`entries`]: all entries, in natural order, and numbers for them
//! - [`shingles`]: the shingles of documents, their sets in memory, and the documents similar to a set
//! - [`lists`]: the lists of shingles of a file
//! - [`view`]: a table, for merging

mod entries;
mod ids_of;
mod lists;
mod open;
pub(crate) mod read_ahead;
pub(crate) mod search;
pub(crate) mod searcher;
pub(crate) mod shingles;
mod view;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

pub use entries::{Entries, Entry};
pub use ids_of::Lookups;
pub use open::{Checksums, OpenOptions, width};
use read_ahead::ReadAhead;
pub use searcher::Searcher;
pub use shingles::Shingles;
pub(crate) use view::{SortedBlocks, TableView};

use crate::codec::Codec;
use crate::design::{Design, IndexShape, PLAN_VISITS, Plan};
use crate::error::{ReadError, ReadErrorKind};
use crate::filter_bits::Geometry;
use crate::format::footer::Footer;
use crate::format::section::Section;
use crate::format::{FileId, Header};
use crate::ids::reader::IdTable;
use crate::lookup::LookupTable;
use crate::mapping::Mapping;
use crate::names::{NameTable, Names};
use crate::shingles::ShingleTable;
use crate::table::Table;
use hamdex_fingerprint::Fingerprint;

/// An index of fingerprints of type `F` (`u64` or `u128`): a mapped file ([`Index::open`]) or bytes in memory
/// ([`Index::from_bytes`]).
///
/// It is `Send + Sync`; every thread queries it through a [`Searcher`](crate::Searcher) of its own. Many queries at
/// once are for [`Index::batch_with`].
///
/// ```
/// use hamdex::{Builder, Index};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("news.hamdex");
/// let mut builder = Builder::<u64>::new(&path)?;
/// for fingerprint in [0x00ff, 0x01ff, 0xabcd_ef01_2345_6789] {
///     builder.push(fingerprint)?;
/// }
/// builder.finish()?;
///
/// let index = Index::<u64>::open(&path)?;
/// let mut searcher = index.searcher();
/// let near: Vec<u64> = searcher.within(0x00ff, 3)?.iter().map(|m| m.fingerprint).collect();
/// assert_eq!(near, [0x00ff, 0x01ff]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Index<F> {
    /// Its path, for errors.
    pub(crate) path: Option<Box<Path>>,
    pub(crate) data: Mapping,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) header: Header,
    pub(crate) footer: Footer,
    pub(crate) design: Design<F>,
    pub(crate) tables: Vec<Table<F>>,
    pub(crate) ids: Option<IdTable>,
    pub(crate) names: Option<NameTable>,
    pub(crate) shingles: Option<ShingleTable>,
    /// The places of ids, and those of names.
    pub(crate) id_lookup: Option<LookupTable>,
    pub(crate) name_lookup: Option<LookupTable>,
    pub(crate) metadata_section: Section,
    pub(crate) metadata: BTreeMap<String, Vec<u8>>,
    /// The plan for each distance, made at its first query.
    plans: Box<[OnceLock<Planned<F>>]>,
    /// Number of fingerprints before each block of table 0, counted when first needed.
    ranks: OnceLock<Box<[u64]>>,
}

/// The plan for a distance, and the number of blocks that a query of it reads, estimated.
struct Planned<F> {
    plan: Plan<F>,
    blocks: f64,
}

impl<F: Fingerprint> Index<F> {
    /// Returns the number of distinct fingerprints.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.footer.fingerprints
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the design.
    #[must_use]
    pub fn design(&self) -> &Design<F> {
        &self.design
    }

    /// Returns the codec of the blocks.
    #[must_use]
    pub fn codec(&self) -> Codec {
        self.footer.layout.codec
    }

    /// Returns the user's metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.metadata
    }

    /// Returns whether the index has ids.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// Returns whether the ids have names.
    #[must_use]
    pub fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Returns the names of the ids; `None` if they have none. Reads only the few bytes of the head of the
    /// names; each name is read, and its checksum verified, when it is looked up.
    ///
    /// # Errors
    /// When these bytes are damaged. The rest of the index can still be queried.
    pub fn names(&self) -> Result<Option<Names<'_>>, ReadError> {
        match &self.names {
            Some(names) => {
                let names = names.open(self.data.as_ref(), self.path.as_deref());
                names.map(Some).map_err(|error| self.error(error))
            }
            None => Ok(None),
        }
    }

    /// Returns the id of the file, which its contents and the options of its build determine: files with the same id
    /// are the same, byte for byte.
    #[must_use]
    pub fn file_id(&self) -> FileId {
        self.header.file_id
    }

    /// Returns the file's tag in matches.
    #[inline]
    pub(crate) fn tag(&self) -> u32 {
        self.header.file_id.tag()
    }

    /// Returns an error that names the file.
    #[cold]
    pub(crate) fn error(&self, error: ReadError) -> ReadError {
        error.of_file(self.path.as_deref())
    }

    /// Checks that no page of the mapped file was gone when it was read: results of an index that is lost may be wrong.
    /// It can only be in a program that has called
    /// [`Mapping::survive_lost_pages`](crate::Mapping::survive_lost_pages). It reads nothing.
    ///
    /// # Errors
    /// When the file was truncated, or could not be read, since it was opened.
    pub fn check_file(&self) -> Result<(), ReadError> {
        if self.data.is_lost() { Err(self.error(ReadErrorKind::Lost.into())) } else { Ok(()) }
    }

    /// Returns the probes for a distance.
    pub(crate) fn plan(&self, distance: u32) -> &Plan<F> {
        &self.planned(distance).plan
    }

    /// Returns the number of blocks that a query at a distance reads, estimated.
    pub(crate) fn expected_blocks(&self, distance: u32) -> f64 {
        self.planned(distance).blocks
    }

    fn planned(&self, distance: u32) -> &Planned<F> {
        let distance = distance.min(F::BITS);
        self.plans[distance as usize].get_or_init(|| {
            let (layout, filters) = (self.footer.layout, self.filters());
            let shape = IndexShape { count: self.len(), layout, filters: &filters };
            // Which plan a distance has does not depend on the queries before: the first match that one finds neither.
            let is_beyond = distance > self.design.distance() + 1;
            let before = is_beyond.then(|| &self.planned(distance - 1).plan);
            let plan = self.design.plan_after(before, distance, shape, &mut { PLAN_VISITS });
            let blocks = plan.blocks(shape);
            Planned { plan, blocks }
        })
    }

    /// Returns the filters of the tables.
    fn filters(&self) -> Vec<Option<Geometry>> {
        self.tables.iter().map(|table| table.filter.as_ref().map(|filter| *filter.geometry())).collect()
    }
}

impl<F: Fingerprint> fmt::Debug for Index<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("bits", &F::BITS)
            .field("design", &self.design.name())
            .field("distance", &self.design.distance())
            .field("fingerprints", &self.footer.fingerprints)
            .finish_non_exhaustive()
    }
}

/// A reference to an index: `&Index`, `Arc<Index>`, `Box<Index>`, or a type of yours with a [`Deref`] that
/// always returns the same index.
///
/// A [`Searcher`](crate::Searcher) of an `Arc` borrows nothing, so a service can keep searchers next to the index.
pub trait IndexRef: Deref<Target = Index<Self::Fingerprint>> {
    /// The type of the fingerprints.
    type Fingerprint: Fingerprint;
}

impl<F: Fingerprint, R: Deref<Target = Index<F>>> IndexRef for R {
    type Fingerprint = F;
}

/// A stored fingerprint near a query.
///
/// Its ids are returned by [`Index::ids`](crate::Index::ids), or faster by
/// [`Searcher::ids_of`](crate::Searcher::ids_of), since a match may know their place. Two matches are equal if
/// distance and fingerprint are; the place of the ids does not count.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Match<F> {
    /// The Hamming distance to the query.
    pub distance: u32,
    /// The stored fingerprint.
    pub fingerprint: F,
    pub(crate) entry: EntryPlace,
}

/// The position of an entry in table 0 of a file, from which its ids are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryPlace {
    block: u32,
    number: u16,
    /// The tag of the file, so that it is not taken for an entry of another one.
    tag: u32,
}

impl EntryPlace {
    /// The position of a match found in another table, or by other means. No block has that number.
    const UNKNOWN: Self = Self { block: u32::MAX, number: 0, tag: 0 };

    /// Returns an entry of the file with that tag.
    #[inline]
    pub(crate) fn new(block: u32, number: usize, tag: u32) -> Self {
        // A block has at most 65,535 entries.
        Self { block, number: number as u16, tag }
    }

    /// Returns the block, and the number of the entry in it, if it is known for the file with that tag.
    #[inline]
    fn of_file(self, tag: u32) -> Option<(usize, usize)> {
        let is_known = self.block != Self::UNKNOWN.block && self.tag == tag;
        is_known.then_some((self.block as usize, usize::from(self.number)))
    }
}

impl<F: Fingerprint> Match<F> {
    /// Returns `fingerprint` as a match of `query`.
    #[must_use]
    pub fn new(query: F, fingerprint: F) -> Self {
        Self::at_distance(fingerprint.distance(query), fingerprint)
    }

    /// Returns a match at a known distance whose entry in the file is unknown.
    #[inline]
    pub(crate) fn at_distance(distance: u32, fingerprint: F) -> Self {
        Self { distance, fingerprint, entry: EntryPlace::UNKNOWN }
    }
}

impl<F: PartialEq> PartialEq for Match<F> {
    fn eq(&self, other: &Self) -> bool {
        self.distance == other.distance && self.fingerprint == other.fingerprint
    }
}

impl<F: Eq> Eq for Match<F> {}

impl<F: Ord> PartialOrd for Match<F> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<F: Ord> Ord for Match<F> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.cmp(&other.distance).then_with(|| self.fingerprint.cmp(&other.fingerprint))
    }
}

impl<F: Hash> Hash for Match<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.distance.hash(state);
        self.fingerprint.hash(state);
    }
}
