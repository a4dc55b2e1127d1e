//! An index as a set.

use std::borrow::Cow;
use std::ops::ControlFlow;

use hamdex_fingerprint::Fingerprint;

use crate::batch::BatchOptions;
use crate::error::SetError;
use crate::index::{Index, Match, MatchVisitor, Searcher};
use crate::join::PairsOptions;
use crate::progress::ProgressCallback;
use crate::set::{
    Description, EntryVisitor, FingerprintSet, MatchIds, PairVisitor, SetSearcher, ShinglePart,
    ShingleVisitor, StoredId,
};
use crate::verify::{Verified, VerifyOptions};

impl<F: Fingerprint> FingerprintSet<F> for Index<F> {
    fn describe(&self) -> Description {
        let mut description = Description::new(F::BITS, self.design().distance());
        description.design = Some(self.design().name().to_owned());
        description.codec = Some(self.codec());
        description.fingerprints = self.len();
        description.has_ids = self.has_ids();
        description.has_names = self.has_names();
        description.has_shingles = self.has_shingles();
        description.has_lookups = self.has_lookups();
        description.metadata.clone_from(self.metadata());
        description.file_id = Some(self.file_id());
        description
    }

    fn as_index(&self) -> Option<&Index<F>> {
        Some(self)
    }

    fn open_searcher(&self) -> Box<dyn SetSearcher<F> + Send + '_> {
        Box::new(self.searcher())
    }

    fn visit_batch(
        &self,
        queries: &[F],
        distance: u32,
        options: &BatchOptions,
        visit: &mut MatchVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(self.batch_with(queries, distance, options, visit)?)
    }

    fn visit_pairs(
        &self,
        distance: u32,
        options: &PairsOptions,
        visit: &mut PairVisitor<'_, F>,
    ) -> Result<ControlFlow<()>, SetError> {
        Ok(self.pairs(distance).options(options).for_each_batch(visit)?)
    }

    fn count_pairs(&self, distance: u32, options: &PairsOptions) -> Result<Vec<u64>, SetError> {
        Ok(self.pairs(distance).options(options).count_by_distance()?)
    }

    fn visit_entries(&self, from: F, visit: &mut EntryVisitor<'_, F>) -> Result<ControlFlow<()>, SetError> {
        for entry in self.entries().from(from) {
            let entry = entry?;
            if visit(entry.fingerprint, entry.ids.into()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn name_of(&self, id: StoredId) -> Result<Option<Cow<'_, [u8]>>, SetError> {
        let Some(names) = self.names()? else { return Ok(None) };
        Ok(Some(Cow::Borrowed(names.name_of(id.id)?)))
    }

    fn shingle_parts(&self) -> Result<Option<Vec<ShinglePart>>, SetError> {
        let Some(shingles) = self.shingles()? else { return Ok(None) };
        let parts = shingles.parts()?;
        Ok(Some(parts.into_iter().map(|documents| ShinglePart { file: 0, documents }).collect()))
    }

    fn visit_shingles(
        &self,
        part: &ShinglePart,
        visit: &mut ShingleVisitor<'_>,
    ) -> Result<ControlFlow<()>, SetError> {
        let Some(shingles) = self.shingles()? else { return Ok(ControlFlow::Continue(())) };
        let visit = |id, set: &[u64]| visit(StoredId { part: 0, id }, set);
        Ok(shingles.for_each_in(part.documents.clone(), visit)?)
    }

    fn check_files(&self) -> Result<(), SetError> {
        Ok(self.check_file()?)
    }

    fn verify_all(&self, options: &VerifyOptions) -> Result<Verified, SetError> {
        Ok(self.verify_with(options)?)
    }
}

impl<F: Fingerprint> SetSearcher<F> for Searcher<&Index<F>> {
    fn nearest_within(&mut self, query: F, count: usize, distance: u32) -> Result<&[Match<F>], SetError> {
        Ok(self.nearest_within(query, count, distance)?)
    }

    fn first(&mut self, query: F, distance: u32) -> Result<Option<Match<F>>, SetError> {
        Ok(self.first(query, distance)?)
    }

    fn ids_of(&mut self, matches: &[Match<F>], most: usize) -> Result<Vec<MatchIds<'_>>, SetError> {
        Ok(self.ids_of(matches)?.into_iter().map(|ids| MatchIds::from(ids).limit(most)).collect())
    }

    fn set_progress(&mut self, report: ProgressCallback) {
        self.report_to(report);
    }
}
