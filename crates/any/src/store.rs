//! A store that is open for reading, as a set.

use std::borrow::Cow;
use std::ops::ControlFlow;

use hamdex::set::{
    Description, EntryVisitor, MatchVisitor, PairVisitor, ShinglePart, ShingleVisitor, StoredId,
};
use hamdex::{
    BatchOptions, Fingerprint, FingerprintSet, PairsOptions, SetError, SetSearcher, Verified, VerifyOptions,
};
use hamdex_store::{Snapshot, StoreReader};

/// One snapshot of a store, and the reader that verifies the files of the store.
pub(crate) struct OpenStore<F: Fingerprint> {
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
