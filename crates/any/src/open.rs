//! From a path to a set; a store that is open for reading, as a set.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::for_width;
use crate::set::{AnySet, Kind};
use hamdex::set::{
    Description, EntryVisitor, MatchVisitor, PairVisitor, ShinglePart, ShingleVisitor, StoredId,
};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, OpenOptions, PairsOptions, SetError, SetSearcher, Verified,
    VerifyOptions,
};
use hamdex_shards::Shards;
use hamdex_store::{ReadOptions, Snapshot, StoreReader};

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
            Arc::new(OpenStore::of(StoreReader::<F>::open_with(path, options)?))
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

/// One snapshot of a store, and the reader that verifies the files of the store.
struct OpenStore<F: Fingerprint> {
    snapshot: Snapshot<F>,
    reader: StoreReader<F>,
}

impl<F: Fingerprint> OpenStore<F> {
    pub(crate) fn of(reader: StoreReader<F>) -> Self {
        Self { snapshot: reader.snapshot(), reader }
    }
}

impl<F: Fingerprint> FingerprintSet<F> for OpenStore<F> {
    fn describe(&self) -> Description {
        self.snapshot.describe()
    }

    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_> {
        self.snapshot.open_searcher()
    }

    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        self.snapshot.visit_batch(queries, distance, options, visit)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut PairVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        self.snapshot.visit_pairs(distance, options, visit)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        self.snapshot.count_pairs(distance, options)
    }

    fn visit_entries(&self, from: F, visit: &mut EntryVisitor<'_, F>) -> Result<ControlFlow<()>, SetError> {
        self.snapshot.visit_entries(from, visit)
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        self.snapshot.name_of(id)
    }

    fn shingle_parts(&self) -> Result<Option<Vec<ShinglePart>>, SetError> {
        self.snapshot.shingle_parts()
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        visit: &mut ShingleVisitor<'_>,
    ) -> Result<ControlFlow<()>, SetError> {
        self.snapshot.visit_shingles(part, visit)
    }

    fn check_files(&self) -> Result<(), SetError> {
        self.snapshot.check_files()
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        Ok(self.reader.verify(options)?)
    }
}
