//! An open index: everything that is asked of a file goes through [`Index`].
//!
//! - [`open`]: from bytes to an index, checking all that later reads rely on
//! - [`searcher`]: asking it
//! - [`batch`]: asking it many things at once
//! - [`pairs`]: asking it about itself
//! - [`read_ahead`]: storage asked before its bytes are read
//! - [`verify`]: reading everything
//! - [`stats`]: what the file is made of
//! - [`inspect`]: blocks as they are, for tools

mod batch;
mod inspect;
mod open;
mod pairs;
mod read_ahead;
mod searcher;
mod stats;
mod verify;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;

pub use batch::{Batch, BatchOptions, Strategy};
pub use inspect::{Fingerprints, RawBlock};
pub use open::{Checksums, OpenOptions, width};
pub use pairs::{Pair, Pairs, Tuning, Way};
pub use searcher::{Match, Searcher};
pub use stats::{IdStats, Stats, TableStats};
pub use verify::Verified;

use crate::codec::Target;
use crate::design::{Design, Plan};
use crate::error::ReadError;
use crate::format::footer::Footer;
use crate::format::header::Header;
use crate::format::section::Section;
use crate::ids::Ids;
use crate::ids::reader::IdTable;
use crate::index::read_ahead::ReadAhead;
use crate::mapping::Mapping;
use crate::table::reader::Table;
use crate::table::scanner::{Located, Scanner};
use hamdex_fingerprint::Fingerprint;

/// An index of fingerprints of type `F` (`u64` or `u128`), over any bytes: a mapped file
/// ([`Index::open`]) or a byte string ([`Index::from_bytes`]).
///
/// It is `Send + Sync`; every thread asks through a [`Searcher`] of its own. Many queries at once are for
/// [`Index::batch`].
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
pub struct Index<F, D = Mapping> {
    data: D,
    read_ahead: ReadAhead<D>,
    header: Header,
    footer: Footer,
    design: Design<F>,
    tables: Vec<Table<F>>,
    ids: Option<IdTable>,
    metadata_section: Section,
    metadata: BTreeMap<String, Vec<u8>>,
    /// How to ask for each distance, worked out when first asked.
    plans: Box<[OnceLock<Plan<F>>]>,
}

impl<F: Fingerprint> Index<F> {
    /// Opens a file by mapping it, its checksums looked at on first touch.
    ///
    /// While it is open, the file must not be truncated or written to (see [`Mapping`]); replacing it
    /// by rename, as a rebuild does, is safe.
    ///
    /// # Errors
    /// When the file cannot be read, is not a whole hamdex file, or holds another width.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        OpenOptions::new().open(path)
    }
}

impl<F: Fingerprint, D: AsRef<[u8]>> Index<F, D> {
    /// Opens an index that lies in memory.
    ///
    /// # Errors
    /// As for [`Index::open`].
    pub fn from_bytes(data: D) -> Result<Self, ReadError> {
        OpenOptions::new().from_bytes(data)
    }

    /// The number of distinct fingerprints.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.footer.fingerprints
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The design.
    #[must_use]
    pub fn design(&self) -> &Design<F> {
        &self.design
    }

    /// The user's metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.metadata
    }

    /// Whether the index holds ids.
    #[must_use]
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// A searcher: the memory that queries use again and again. One for each thread.
    #[must_use]
    pub fn searcher(&self) -> Searcher<'_, F, D> {
        Searcher::new(self)
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that matters is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool, ReadError> {
        Ok(self.find(fingerprint, &mut Scanner::default())?.is_some())
    }

    /// The ids of a fingerprint, ascending: none if it is not stored, or the index holds no ids. For
    /// many in a row, [`Searcher::ids`] spares the memory.
    ///
    /// # Errors
    /// When a block or page that matters is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Ids<'_>, ReadError> {
        self.ids_with(fingerprint, &mut Scanner::default())
    }

    fn ids_with(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Ids<'_>, ReadError> {
        let Some(ids) = &self.ids else { return Ok(Ids::NONE) };
        match self.find(fingerprint, scanner)? {
            Some((block, entry)) => ids.of(self.data.as_ref(), block, entry),
            None => Ok(Ids::NONE),
        }
    }

    /// The block of table 0 and the number in it where a fingerprint is stored.
    fn find(&self, fingerprint: F, scanner: &mut Scanner<F>) -> Result<Option<(usize, usize)>, ReadError> {
        // Table 0 is in natural order, so the whole width serves as the prefix.
        let table = &self.tables[0];
        let target = Target { query: fingerprint, prefix_bits: F::BITS, radius: 0, distance: 0 };
        let block = table.keys.find(fingerprint);
        if block == table.keys.len() {
            return Ok(None);
        }
        let file = self.data.as_ref();
        let mut found = None;
        let at = Located { table: 0, block: block as u32, target: 0 };
        let _ = scanner.scan(&self.tables, file, &[at], &[target], |_, entry, _| {
            found = Some((block, entry));
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The probes for a distance.
    fn plan(&self, distance: u32) -> &Plan<F> {
        let distance = distance.min(F::BITS);
        self.plans[distance as usize].get_or_init(|| {
            let layout = self.footer.layout;
            self.design.plan(distance, self.len(), layout.codec, layout.block_bytes as u32)
        })
    }
}

impl<F: Fingerprint, D> fmt::Debug for Index<F, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("bits", &F::BITS)
            .field("design", &self.design.name())
            .field("distance", &self.design.distance())
            .field("fingerprints", &self.footer.fingerprints)
            .finish_non_exhaustive()
    }
}
