//! Reading: snapshots and their queries. This file has the immutable snapshot of the set itself.
//!
//! - [`searcher`]: queries with reusable buffers, and a pool of them; documents similar to a set of shingles; many queries
//! - [`reader`]: reading a store that another process may write to, and how its view is refreshed
//! - [`pairs`]: all pairs in order; pairs by id, ids by name, names by id
//! - [`fingerprint_set`]: the interface that a snapshot shares with indexes and shards; the shingles of documents

mod fingerprint_set;
pub(crate) mod pairs;
pub(crate) mod reader;
pub(crate) mod searcher;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hamdex::multi::MemoryPart;
use hamdex::set::MatchIds;
use hamdex::{Fingerprint, MultiIndex, OpenOptions};

use crate::disk::Disk;
use crate::error::Error;
use crate::manifest::Schema;
use crate::memtable::Memtable;
use crate::segment::write_index;
use crate::view::View;

/// The path of an index of memtables in error messages.
const MEMORY: &str = "(memory)";

/// An immutable snapshot of the set. It is cheap to take and to clone. The files that it needs are kept as long as it
/// is held, even after they have been merged.
#[derive(Clone)]
pub struct Snapshot<F: Fingerprint> {
    view: Arc<View<F>>,
    schema: Arc<Schema>,
    /// The ids of the removed pairs of each segment, once they are needed.
    removed_ids: OnceLock<Arc<Vec<HashSet<u64>>>>,
    /// The store, if its files are verified with the snapshot.
    files: Option<Box<dyn Disk>>,
}

/// The exact counts of a snapshot: see [`Snapshot::count`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// Distinct fingerprints.
    pub fingerprints: u64,
    /// Pairs of fingerprint and id; as many as fingerprints in a store without ids.
    pub pairs: u64,
}

impl<F: Fingerprint> Snapshot<F> {
    pub(crate) fn new(view: Arc<View<F>>, schema: Arc<Schema>) -> Self {
        Self { view, schema, removed_ids: OnceLock::new(), files: None }
    }

    pub(crate) fn view(&self) -> &View<F> {
        &self.view
    }

    /// Returns the view, for a request. A writer that sends the request keeps the view until it has the reply: the last one
    /// to drop a view removes the files of its merged segments, which takes too long under the lock of the writer.
    pub(crate) fn shared_view(&self) -> Arc<View<F>> {
        Arc::clone(&self.view)
    }

    /// Returns the memtables, as a part of a set.
    fn memory(&self) -> Arc<dyn MemoryPart<F>> {
        Arc::clone(&self.view) as Arc<_>
    }

    /// Returns the segments and memtables, to be queried as one.
    fn parts(&self) -> MultiIndex<F> {
        self.view.with_segment_indexes(Vec::new()).memory(self.memory())
    }

    /// Whether a fingerprint is stored.
    ///
    /// # Errors
    /// When a block that has to be read is damaged.
    pub fn contains(&self, fingerprint: F) -> Result<bool, Error> {
        Ok(self.view.contains(fingerprint)?)
    }

    /// Returns the ids of a fingerprint, ascending; none if it is not stored, or the store has no ids.
    /// [`Snapshot::first_ids`] bounds them.
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn ids(&self, fingerprint: F) -> Result<Vec<u64>, Error> {
        Ok(self.first_ids(fingerprint, usize::MAX)?.map(|stored| stored.id).collect())
    }

    /// Returns the first `most` ids of a fingerprint, ascending, and the number of all; none if it is not stored, or the
    /// store has no ids.
    ///
    /// ```
    /// use hamdex_store::{CreateOptions, Store, StoreOptions};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let options = CreateOptions::new().ids(true);
    /// let store = Store::<u64>::create(directory.path().join("s"), &options, StoreOptions::new())?;
    /// for id in 0..1000 {
    ///     store.insert(0xff, id)?;
    /// }
    /// let ids = store.snapshot().first_ids(0xff, 2)?;
    /// assert_eq!(ids.all(), 1000);
    /// assert_eq!(ids.map(|stored| stored.id).collect::<Vec<_>>(), [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a block or page that has to be read is damaged.
    pub fn first_ids(&self, fingerprint: F, most: usize) -> Result<MatchIds<'static>, Error> {
        let identity = &self.schema.identity;
        if !identity.has_ids {
            return Ok(Vec::<u64>::new().into());
        }
        let (first, all) = self.view.first_ids(fingerprint, identity.has_names, most)?;
        Ok(MatchIds::first_of(first, all))
    }

    /// Counts fingerprints and pairs exactly. It reads the whole set, unless this is a single segment without removed
    /// pairs. [`StoreStats`](crate::inspect::StoreStats) has upper bounds for free.
    ///
    /// # Errors
    /// When a block or page is damaged.
    pub fn count(&self) -> Result<Count, Error> {
        let mut count = Count::default();
        if let [live] = &self.view.segments[..]
            && live.removed.is_empty()
            && self.view.memtables().all(|memtable| memtable.len() == 0)
        {
            return Ok(Count { fingerprints: live.index().len(), pairs: live.len() });
        }
        let mut last = None;
        for pair in self.pairs_in_order() {
            let (fingerprint, _) = pair?;
            count.pairs += 1;
            count.fingerprints += u64::from(last.replace(fingerprint) != Some(fingerprint));
        }
        Ok(count)
    }

    /// Returns all (fingerprint, id) pairs in order; in a store without ids, all ids are 0. Ends after the first error.
    pub fn pairs_in_order(&self) -> impl Iterator<Item = Result<(F, u64), Error>> + '_ {
        self.pairs_in_order_from(F::ZERO)
    }

    /// Returns the pairs whose fingerprints are at least `from`: see [`Snapshot::pairs_in_order`].
    pub fn pairs_in_order_from(&self, from: F) -> impl Iterator<Item = Result<(F, u64), Error>> + '_ {
        self.view.pairs_from(from).map(|pair| pair.map_err(Error::from))
    }

    /// Returns the snapshot as indexes that are queried as one, for the self-join for example. Memtables are converted
    /// to an index in memory.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn indexes(&self) -> Result<MultiIndex<F>, Error> {
        let view = self.view();
        let mut all = Vec::new();
        if view.memtables().any(|memtable| memtable.len() > 0) {
            // Several memtables may be in memory.
            let mut pairs: Vec<_> = view.memtables().flat_map(Memtable::to_sorted).collect();
            pairs.sort_unstable();
            let mut bytes = Vec::new();
            let options = self.schema.build_options()?.names(false);
            write_index(options, pairs.into_iter(), |_| Ok(()), &mut bytes)?;
            all.push(Arc::new(OpenOptions::new().from_mapping::<F>(bytes.into(), Path::new(MEMORY))?));
        }
        Ok(view.with_segment_indexes(all))
    }
}

impl<F: Fingerprint> fmt::Debug for Snapshot<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("sequence", &self.view.sequence).finish_non_exhaustive()
    }
}
